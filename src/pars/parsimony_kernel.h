/* parsimony_kernel.h: the inner loop of the Fitch score. */
#ifndef PARS_PARSIMONY_KERNEL_H
#define PARS_PARSIMONY_KERNEL_H

#include <stdint.h>

/* For each of n words (64 patterns each): with I = a & b in every plane (one per state) and
 * "empty" where I is 0 in all of them,
 *
 *     out = I where it is not empty, else a | b;   changes[word] += patterns that are empty
 *
 *   out, a, b [n_planes][n], n_planes 4 or 5; changes, empty [n], empty is scratch.
 * The arrays do not overlap. */
typedef void fitch_kernel(uint64_t *out, const uint64_t *a, const uint64_t *b, uint64_t *changes,
                          uint64_t *empty, int n_planes, int n);

fitch_kernel fitch_generic;
#if defined(__x86_64__)
fitch_kernel fitch_avx2;
fitch_kernel fitch_avx512;
#endif

#endif
