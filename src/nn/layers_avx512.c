#define KERNELS layer_kernels_avx512
#define VECTOR  64
#include "nn/layers_kernel.inc"
