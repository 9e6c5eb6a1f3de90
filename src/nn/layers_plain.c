#define KERNELS layer_kernels_plain
#include "nn/layers_kernel.inc"
