/* readout.h: from node features to the logits of edges, and back.
 *
 *     p   = max(x_u, x_v)                       for the edge (u, v)
 *     y_1 = ELU(LayerNorm(W_p p + shift))       shift: of the edge's tree (model/nodes.h)
 *     y_2 = ELU(LayerNorm(readout.3 y_1))
 *     logit = readout.6 y_2
 *
 * Edge rows are independent; they are taken through all layers a few at a time, so that they
 * stay in the cache. Only the normalised values are kept; y_1 and y_2 are made again from them
 * on the way back. */
#ifndef MODEL_READOUT_H
#define MODEL_READOUT_H

#include "model/panels.h"
#include "model/sums.h"
#include "model/tile.h"

enum { READOUT_ROWS = 96 };

/* What one thread needs besides. */
typedef struct readout_scratch {
    real *p;  /* [READOUT_ROWS][d] */
    real *dp; /* [READOUT_ROWS][d] */
    real *a;  /* [READOUT_ROWS][2d] */
    real *b;  /* [READOUT_ROWS][2d] */
    real *c;  /* [READOUT_ROWS][2d] */
} readout_scratch;

int readout_scratch_init(readout_scratch *s, const panels *w);
void readout_scratch_free(readout_scratch *s); /* safe on a zeroed or freed one */

/* Fills edge rows first .. first + count - 1; the nodes of their trees are done. */
void readout_forward(tile *t, size_t first, int count, const panels *w, readout_scratch *s);

/* Back from dlogit [edges] for all edges of the trees first .. first + count - 1: adds to the
 * sums, to dx [nodes][d] (the gradient of the node features) and to dshift [trees][2d]. */
void readout_backward(sums *g, real *dx, real *dshift, const real *dlogit, const tile *t, int first,
                      int count, const panels *w, readout_scratch *s);

#endif
