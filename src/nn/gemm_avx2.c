#define KERNEL gemm_at_avx2
#define VECTOR 32
#include "nn/gemm_kernel.inc"
