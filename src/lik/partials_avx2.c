#define KERNELS partial_kernels_avx2
#include "lik/partials_kernel.inc"
