/* vector.h: the few operations on vector registers that kernels use where plain loops are not fast
 * enough. For kernel files only: the includer defines VECTOR, the bytes of a register. */
#ifndef NN_VECTOR_H
#define NN_VECTOR_H

#include "base/real.h"

enum { LANES = VECTOR / sizeof(real) };

/* May be read from any address of a number. */
typedef real vector __attribute__((vector_size(VECTOR), aligned(sizeof(real)), may_alias));

static inline vector load(const real *x)
{
    return *(const vector *)x;
}

static inline void store(real *x, vector v)
{
    *(vector *)x = v;
}

/* The sum of the lanes, pairwise. */
static inline real vector_sum(vector v)
{
    real lane[LANES];
    store(lane, v);
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            lane[i] += lane[i + half];
    return lane[0];
}

#endif
