#define KERNELS layer_kernels_avx2
#define VECTOR  32
#include "nn/layers_kernel.inc"
