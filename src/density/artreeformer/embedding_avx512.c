#define KERNELS embedding_kernels_avx512
#include "density/artreeformer/embedding_kernel.inc"
