#define FITCH fitch_avx512
#include "pars/parsimony_kernel.inc"
