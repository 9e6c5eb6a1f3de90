#define KERNELS layer_kernels_avx2
#include "nn/layers_kernel.inc"
