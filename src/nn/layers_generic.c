#define KERNELS layer_kernels_generic
#define VECTOR  16
#include "nn/layers_kernel.inc"
