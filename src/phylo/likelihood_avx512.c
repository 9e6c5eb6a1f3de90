#define KERNELS likelihood_kernels_avx512
#include "phylo/likelihood_kernel.inc"
