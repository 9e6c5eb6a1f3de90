#define FITCH fitch_generic
#include "pars/parsimony_kernel.inc"
