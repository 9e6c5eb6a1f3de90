#define KERNELS edge_conv_kernels_avx2
#include "density/edge_conv_kernel.inc"
