#define FITCH fitch_plain
#include "phylo/parsimony_kernel.inc"
