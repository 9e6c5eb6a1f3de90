#define KERNELS embedding_kernels_avx2
#include "model/embedding_kernel.inc"
