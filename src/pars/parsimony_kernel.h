/* parsimony_kernel.h: the inner loops of Fitch scores, on sets of states as bits
 * (pars/site_bits.h).
 *
 * For each of n words (64 patterns each), with I = a & b in every plane (one per state) and "empty"
 * where I is 0 in all of them: */
#ifndef PARS_PARSIMONY_KERNEL_H
#define PARS_PARSIMONY_KERNEL_H

#include "base/cpu.h"

#include <stdint.h>

/*     out = I where it is not empty, else a | b;   changes[word] += patterns that are empty
 *
 *   out, a, b [n_planes][n], n_planes 4 or 5; changes, empty [n], empty is scratch.
 * The arrays do not overlap. */
typedef void fitch_kernel(uint64_t *out, const uint64_t *a, const uint64_t *b, uint64_t *changes,
                          uint64_t *empty, int n_planes, int n);

/* The same without counting; n is a multiple of SITE_WORDS. */
typedef void merge_kernel(uint64_t *out, const uint64_t *a, const uint64_t *b, int n_planes, int n);

/* The sum over words of power[word] * patterns that are empty: what it costs to join two trees with
 * these sets at their roots. Once the sum is above limit, the rest may be left out. n is a multiple
 * of SITE_WORDS. a and b may be the same. */
typedef int64_t join_kernel(const uint64_t *a, const uint64_t *b, const int64_t *power,
                            int64_t limit, int n_planes, int n);

typedef struct fitch_kernels {
    fitch_kernel *fitch;
    merge_kernel *merge;
    join_kernel *join;
} fitch_kernels;

extern const fitch_kernels fitch_generic;
#if defined(__x86_64__)
extern const fitch_kernels fitch_avx2;
extern const fitch_kernels fitch_avx512;
#endif

/* Those of a level that the machine has. */
const fitch_kernels *fitch_kernels_of(cpu_level level);

#endif
