#define KERNELS embedding_kernels_avx2
#include "density/artreeformer/embedding_kernel.inc"
