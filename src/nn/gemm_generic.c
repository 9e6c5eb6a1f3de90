#define KERNEL gemm_at_generic
#define VECTOR 16
#include "nn/gemm_kernel.inc"
