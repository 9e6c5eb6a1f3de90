#define KERNELS partial_kernels_plain
#include "lik/partials_kernel.inc"
