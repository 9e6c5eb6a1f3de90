#define KERNELS partial_kernels_generic
#include "lik/partials_kernel.inc"
