#define KERNELS edge_conv_kernels_generic
#include "density/edge_conv_kernel.inc"
