#include "base/cpu.h"

cpu_level cpu_best(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return CPU_GENERIC;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        return CPU_AVX512;
    return CPU_AVX2;
#else
    return CPU_GENERIC;
#endif
}

const char *cpu_level_name(cpu_level level)
{
    static const char *const name[] = {"plain", "AVX2", "AVX-512"};
    return name[level];
}
