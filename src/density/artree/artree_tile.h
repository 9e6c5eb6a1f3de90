/* artree_tile.h: what ARTree's network computed on partial trees, side by side: all that the
 * backward pass needs besides the states.
 *
 * A tree with n leaves has 2n-2 node rows, 2n-3 edge rows and 4n-6 slot rows, two for each edge row
 * (density/edge_conv.h). Trees follow each other, so a tree whose edges begin with row e has its
 * slots from 2e on; its first node row is the caller's to know. */
#ifndef ARTREE_ARTREE_TILE_H
#define ARTREE_ARTREE_TILE_H

#include "density/edge_conv.h"

typedef struct artree_tile {
    int d;
    size_t room_nodes, room_edges;

    real *once[2]; /* [nodes][d]: of the two convolutions */
    real *x[2];    /* [nodes][d] */
    real *gate;    /* [nodes][3d]: r, z, n of the recurrence */
    real *c_n;     /* [nodes][d]: the product that the reset gate multiplies */
    real *hat1;    /* [nodes][d]: normalised, of the two layers of the pooling network */
    real *rstd1;   /* [nodes] */
    real *hat2;    /* [nodes][d] */
    real *rstd2;   /* [nodes] */
    real *y;       /* [nodes][d]: its output */

    real *xhat[2];            /* [slots][d] */
    real *rstd[2];            /* [slots] */
    real *sum[2];             /* [slots][d] */
    int32_t *other, *reverse; /* [slots]: rows and slots within the tree */

    int32_t (*ends)[2]; /* [edges]: rows within the tree */
    real *hat;          /* [edges][d]: normalised, of the readout */
    real *hat_rstd;     /* [edges] */
    real *logit;        /* [edges] */
} artree_tile;

void artree_tile_init(artree_tile *t, int d);
void artree_tile_free(artree_tile *t); /* safe on a zeroed or freed one */

/* Makes room for this many rows in total; never shrinks. The contents are lost. */
int artree_tile_reserve(artree_tile *t, size_t nodes, size_t edges);

/* Bytes that artree_tile_reserve would hold. */
size_t artree_tile_bytes(int d, size_t nodes, size_t edges);

/* The rows of a convolution of the tree that begins with these rows, without the pairs. */
edge_conv_rows artree_tile_conv(const artree_tile *t, int conv, size_t node, size_t edge);

static inline edge_slots artree_tile_slots(const artree_tile *t, size_t edge)
{
    return (edge_slots){t->other + 2 * edge, t->reverse + 2 * edge};
}

#endif
