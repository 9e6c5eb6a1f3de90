#define KERNELS layer_kernels_plain
#define VECTOR  16
#include "nn/layers_kernel.inc"
