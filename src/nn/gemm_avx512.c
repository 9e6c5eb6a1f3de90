#define KERNEL gemm_at_avx512
#define VECTOR 64
#include "nn/gemm_kernel.inc"
