#include "nn/gru.h"

#include <stddef.h>

extern const gru_kernels gru_kernels_generic;
#if defined(__x86_64__)
extern const gru_kernels gru_kernels_avx2, gru_kernels_avx512;
#endif

const gru_kernels *gru_kernels_at(cpu_level level)
{
    switch (level) {
    case CPU_GENERIC:
        return &gru_kernels_generic;
#if defined(__x86_64__)
    case CPU_AVX2:
        return &gru_kernels_avx2;
    case CPU_AVX512:
        return &gru_kernels_avx512;
#endif
    default:
        return NULL;
    }
}
