#define FITCH fitch_avx2
#include "pars/parsimony_kernel.inc"
