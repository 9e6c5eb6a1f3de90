#define KERNELS gru_kernels_generic
#include "nn/gru_kernel.inc"
