#define KERNELS likelihood_kernels_avx512
#include "lik/likelihood_kernel.inc"
