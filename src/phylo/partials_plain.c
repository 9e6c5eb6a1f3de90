#define KERNELS partial_kernels_plain
#include "phylo/partials_kernel.inc"
