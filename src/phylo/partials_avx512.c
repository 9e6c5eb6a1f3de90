#define KERNELS partial_kernels_avx512
#include "phylo/partials_kernel.inc"
