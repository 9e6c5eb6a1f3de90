/* sums.h: the gradient of the network's weights while it is summed over partial trees.
 *
 * The trees of a batch are divided into chunks, each with separate sums; the chunks are added in
 * their order at the end, so the result does not depend on which thread did which chunk. The sums
 * are of what the kernels produce: gradients of panels, of leaf vectors, of what depends on the
 * step. sums_finish goes from there to the gradients of the parameters. */
#ifndef ARTREEFORMER_SUMS_H
#define ARTREEFORMER_SUMS_H

#include "density/artreeformer/panels.h"

/* Matrices have rows of dense_round(columns) numbers. */
typedef struct sums {
    real *leaf; /* [N][d] */
    real *mlp2; /* [d][d] */
    real *mlp2_bias;
    real *mlp3; /* [d]: norm of the node features */
    real *mlp3_bias;
    real *edge;   /* [2d][d]: W_p */
    real *graph;  /* [2d][d]: W_r */
    real *moment; /* [steps][2d] */
    real *read1;  /* [2d] */
    real *read1_bias;
    real *read3; /* [2d][2d] */
    real *read3_bias;
    real *read4;
    real *read4_bias;
    real *read6;      /* [2d] */
    real *read6_bias; /* [1] */
    attention_grad attention;
} sums;

/* Numbers in one block of sums. */
size_t sums_size(const panels *w);

/* Views of a block [sums_size]. */
sums sums_of(real *block, const panels *w);

/* Adds the gradient of the parameters, given the sum over all chunks; scratch
 * [sums_scratch]. Serial. */
void sums_finish(params *p, const sums *s, const panels *w, real *scratch);
size_t sums_scratch(const panels *w);

#endif
