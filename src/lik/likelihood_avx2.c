#define KERNELS likelihood_kernels_avx2
#include "lik/likelihood_kernel.inc"
