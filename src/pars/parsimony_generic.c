#define FITCH fitch_plain
#include "pars/parsimony_kernel.inc"
