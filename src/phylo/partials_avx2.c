#define KERNELS partial_kernels_avx2
#include "phylo/partials_kernel.inc"
