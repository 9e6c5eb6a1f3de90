#define KERNELS dense_kernels_avx2
#define VECTOR  32
#include "nn/dense_kernel.inc"
