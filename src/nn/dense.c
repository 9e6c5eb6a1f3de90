#include "nn/dense.h"

extern const dense_kernels dense_kernels_generic;
#if defined(__x86_64__)
extern const dense_kernels dense_kernels_avx2, dense_kernels_avx512;
#endif

const dense_kernels *dense_kernels_at(cpu_level level)
{
    switch (level) {
    case CPU_GENERIC:
        return &dense_kernels_generic;
#if defined(__x86_64__)
    case CPU_AVX2:
        return &dense_kernels_avx2;
    case CPU_AVX512:
        return &dense_kernels_avx512;
#endif
    default:
        return NULL;
    }
}
