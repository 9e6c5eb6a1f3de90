#define KERNELS edge_conv_kernels_avx512
#include "density/edge_conv_kernel.inc"
