#define KERNELS embedding_kernels_plain
#include "density/artreeformer/embedding_kernel.inc"
