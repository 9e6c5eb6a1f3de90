#define FITCH fitch_avx2
#include "phylo/parsimony_kernel.inc"
