#define KERNELS embedding_kernels_plain
#include "model/embedding_kernel.inc"
