#define KERNEL gemm_at_plain
#define VECTOR 16
#include "nn/gemm_kernel.inc"
