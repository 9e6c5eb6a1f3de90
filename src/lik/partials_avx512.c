#define KERNELS partial_kernels_avx512
#include "lik/partials_kernel.inc"
