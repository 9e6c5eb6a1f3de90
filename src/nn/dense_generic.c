#define KERNELS dense_kernels_plain
#define VECTOR  16
#include "nn/dense_kernel.inc"
