#define KERNELS gru_kernels_avx512
#include "nn/gru_kernel.inc"
