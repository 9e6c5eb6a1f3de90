/* cpu.h: which instruction set the kernels use on this machine. */
#ifndef BASE_CPU_H
#define BASE_CPU_H

typedef enum cpu_level { CPU_GENERIC, CPU_AVX2, CPU_AVX512 } cpu_level;

/* The best level supported by both this machine and this build. */
cpu_level cpu_best(void);

/* "plain", "AVX2", "AVX-512" */
const char *cpu_level_name(cpu_level level);

#endif
