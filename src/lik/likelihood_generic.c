#define KERNELS likelihood_kernels_generic
#include "lik/likelihood_kernel.inc"
