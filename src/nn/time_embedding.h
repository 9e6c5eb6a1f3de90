/* time_embedding.h: a learned vector for each step: sinusoids, Linear, ELU, Linear.
 *
 *     wave(t) = [sin(c_i t)]_i [cos(c_i t)]_i,   c_i = (i / d) ln 10000, i = 0..d-1
 *     b(t)    = W_2 ELU(W_0 wave(t) + bias_0) + bias_2
 *
 * for the times t = first, first + 1, .., all at once: they depend on the weights only.
 * Width w = 2d; weights [w][w], biases [w]. */
#ifndef NN_TIME_EMBEDDING_H
#define NN_TIME_EMBEDDING_H

#include "base/real.h"

typedef struct time_embedding {
    int width, steps;
    real *wave;   /* [steps][w], fixed */
    real *hidden; /* [steps][w], after the ELU */
    real *out;    /* [steps][w]: b(first + l) is row l */
    real *scratch;
} time_embedding;

int time_embedding_init(time_embedding *e, int d, int first, int steps);
void time_embedding_free(time_embedding *e); /* safe on a zeroed or freed one */

/* Fills out. O(steps w^2). */
void time_embedding_forward(time_embedding *e, const real *w0, const real *b0, const real *w2,
                            const real *b2);

/* Given dout [steps][w], adds the gradients of the weights. */
void time_embedding_backward(real *dw0, real *db0, real *dw2, real *db2, const real *dout,
                             const time_embedding *e, const real *w0, const real *w2);

#endif
