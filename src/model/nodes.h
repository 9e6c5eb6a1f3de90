/* nodes.h: from a partial tree to its node features and graph vector, and back.
 *
 *     x_u   = LayerNorm(mlp.2 ELU(mlp.0 f(u)))      f(u): the node's embedding
 *     r     = attention of the step's query over the x_u
 *     shift = W_r r + moment of the step            what all edges of the tree have in common
 *
 * mlp.0 f(u) is the harmonic extension of the columns of mlp.0, bias included, because the
 * numbers of f(u) sum to 1 (model/embedding.h). */
#ifndef MODEL_NODES_H
#define MODEL_NODES_H

#include "model/panels.h"
#include "model/sums.h"
#include "model/tile.h"

/* What one thread needs besides. */
typedef struct nodes_scratch {
    topology tree;
    embedding_plan plan;
    real *row;         /* [2N-2][d] */
    real *drow;        /* [2N-2][d] */
    real *attention;   /* attention_scratch */
    real *dgraph;      /* [d] */
    double *embedding; /* matrix and work of the methods other than projected, else NULL */
} nodes_scratch;

int nodes_scratch_init(nodes_scratch *s, const panels *w);
void nodes_scratch_free(nodes_scratch *s); /* safe on a zeroed or freed one */

/* Room for embedding_matrix, if the method of w needs it. */
int nodes_scratch_method(nodes_scratch *s, const panels *w);

/* Tree i of the tile is s->tree: fills its node rows, its ends, r and shift. */
void nodes_forward(tile *t, int i, const panels *w, nodes_scratch *s);

/* Given s->drow, the gradient of the node features by way of the edges, and dshift [2d], adds
 * to the sums. s->tree as in nodes_forward; drow is overwritten. */
void nodes_backward(sums *g, const real *dshift, const tile *t, int i, const panels *w,
                    nodes_scratch *s);

#endif
