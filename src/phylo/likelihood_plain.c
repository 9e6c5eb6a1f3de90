#define KERNELS likelihood_kernels_plain
#include "phylo/likelihood_kernel.inc"
