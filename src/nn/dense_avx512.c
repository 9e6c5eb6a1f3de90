#define KERNELS dense_kernels_avx512
#define VECTOR  64
#include "nn/dense_kernel.inc"
