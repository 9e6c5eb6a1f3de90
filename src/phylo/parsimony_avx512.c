#define FITCH fitch_avx512
#include "phylo/parsimony_kernel.inc"
