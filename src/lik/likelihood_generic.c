#define KERNELS likelihood_kernels_plain
#include "lik/likelihood_kernel.inc"
