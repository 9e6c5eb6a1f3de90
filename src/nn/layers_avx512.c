#define KERNELS layer_kernels_avx512
#include "nn/layers_kernel.inc"
