#define KERNELS likelihood_kernels_avx2
#include "phylo/likelihood_kernel.inc"
