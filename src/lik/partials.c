#include "lik/partials.h"

extern const partial_kernels partial_kernels_generic[2];
#if defined(__x86_64__)
extern const partial_kernels partial_kernels_avx2[2], partial_kernels_avx512[2];
#endif

const partial_kernels *partial_kernels_at(cpu_level level, int is_jc)
{
    const partial_kernels *table = NULL;
    switch (level) {
    case CPU_GENERIC:
        table = partial_kernels_generic;
        break;
#if defined(__x86_64__)
    case CPU_AVX2:
        table = partial_kernels_avx2;
        break;
    case CPU_AVX512:
        table = partial_kernels_avx512;
        break;
#endif
    default:
        break;
    }
    return table ? &table[is_jc ? 1 : 0] : NULL;
}
