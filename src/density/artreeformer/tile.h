/* tile.h: partial trees side by side, and what the network computed on them.
 *
 * Tree i of a tile has n leaves, the node rows tile_node(i) .. + 2n-3 in the order of
 * density/artreeformer/embedding.h, and the edge rows edge[i] .. + 2n-4. The forward pass fills the
 * rows, and they contain all that the backward pass needs. Rows are independent of each other in
 * all layers but the embedding and the attention, which see the rows of one tree; so several trees,
 * or parts of one, can pass through the layers together as suits caches and threads.
 *
 * d is the hidden size, H the number of heads. */
#ifndef ARTREEFORMER_TILE_H
#define ARTREEFORMER_TILE_H

#include "base/real.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tile {
    int d, heads;
    size_t room_trees, room_edges; /* nodes have room for edges + trees */
    int n_trees;
    size_t n_edges;

    int32_t *leaves; /* [trees]: n */
    size_t *edge;    /* [trees + 1]: first edge row; the first node row is edge[i] + i */
    real *z;         /* [trees][H][d]: attention */
    real *s;         /* [trees][d] */
    real *r;         /* [trees][d]: graph vector */
    real *shift;     /* [trees][2d]: its part of the first readout layer, with the step's */

    real *hidden; /* [nodes][d]: after the first layer and ELU */
    real *xhat;   /* [nodes][d]: normalised */
    real *rstd;   /* [nodes] */
    real *x;      /* [nodes][d]: node features */
    real *share;  /* [nodes][H]: attention weights */

    int32_t *owner;     /* [edges]: tree */
    int32_t (*ends)[2]; /* [edges]: rows within the tree */
    real *hat1;         /* [edges][2d]: normalised, of the two hidden layers of the readout */
    real *rstd1;        /* [edges] */
    real *hat2;         /* [edges][2d] */
    real *rstd2;        /* [edges] */
    real *logit;        /* [edges] */
} tile;

void tile_init(tile *t, int d, int heads);
void tile_free(tile *t); /* safe on a zeroed or freed one */

/* Makes room for this many trees and edges in total; never shrinks. The contents of the tile are
 * lost. */
int tile_reserve(tile *t, size_t trees, size_t edges);

/* Bytes that tile_reserve would hold. */
size_t tile_bytes(int d, int heads, size_t trees, size_t edges);

static inline void tile_clear(tile *t)
{
    t->n_trees = 0;
    t->n_edges = 0;
}

/* Takes the next rows for a tree with n leaves and returns its number. There must be room. */
int tile_place(tile *t, int n);

static inline size_t tile_node(const tile *t, int i)
{
    return t->edge[i] + (size_t)i;
}

#endif
