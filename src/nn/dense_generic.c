#define KERNELS dense_kernels_generic
#define VECTOR  16
#include "nn/dense_kernel.inc"
