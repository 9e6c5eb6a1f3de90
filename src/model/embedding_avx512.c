#define KERNELS embedding_kernels_avx512
#include "model/embedding_kernel.inc"
