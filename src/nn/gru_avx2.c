#define KERNELS gru_kernels_avx2
#include "nn/gru_kernel.inc"
