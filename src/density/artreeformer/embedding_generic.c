#define KERNELS embedding_kernels_generic
#include "density/artreeformer/embedding_kernel.inc"
