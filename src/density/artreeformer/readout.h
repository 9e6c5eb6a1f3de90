/* readout.h: from node features to the logits of edges, and back.
 *
 *     p   = max(x_u, x_v)                       for the edge (u, v)
 *     y_1 = ELU(LayerNorm(W_p p + shift))       shift: of the edge's tree
 * (density/artreeformer/nodes.h) y_2 = ELU(LayerNorm(readout.3 y_1)) logit = readout.6 y_2
 *
 * Edge rows are independent; they pass through all layers a few at a time, so that they stay in the
 * cache. Only the normalised values are kept; y_1 and y_2 are recomputed from them in the backward
 * pass. */
#ifndef ARTREEFORMER_READOUT_H
#define ARTREEFORMER_READOUT_H

#include "density/artreeformer/panels.h"
#include "density/artreeformer/sums.h"
#include "density/artreeformer/tile.h"

enum { READOUT_ROWS = 96 };

/* Workspace of one thread. */
typedef struct readout_scratch {
    real *p;     /* [READOUT_ROWS][d] */
    real *dp;    /* [READOUT_ROWS][d] */
    real *a;     /* [READOUT_ROWS][2d] */
    real *b;     /* [READOUT_ROWS][2d] */
    real *c;     /* [READOUT_ROWS][2d] */
    real *hat1;  /* [READOUT_ROWS][2d]: rows that do not follow each other, side by side */
    real *hat2;  /* [READOUT_ROWS][2d] */
    real *rstd1; /* [READOUT_ROWS] */
    real *rstd2; /* [READOUT_ROWS] */
} readout_scratch;

int readout_scratch_init(readout_scratch *s, const panels *w);
void readout_scratch_free(readout_scratch *s); /* safe on a zeroed or freed one */

/* Fills edge rows first .. first + count - 1; the nodes of their trees are done. */
void readout_forward(tile *t, size_t first, int count, const panels *w, readout_scratch *s);

/* Back from dlogit [count] at some edge rows of the trees from `base` on, row [count],
 * ascending: adds to the sums, to dx [nodes][d] (the gradient of the node features) and to
 * dshift [trees][2d], which both begin with tree base. */
void readout_backward(sums *g, real *dx, real *dshift, const real *dlogit, const size_t *row,
                      int count, const tile *t, int base, const panels *w, readout_scratch *s);

#endif
