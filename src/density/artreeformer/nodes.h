/* nodes.h: from partial trees to their node features and graph vectors, and back.
 *
 *     x_u   = LayerNorm(mlp.2 ELU(mlp.0 f(u)))      f(u): the node's embedding
 *     r     = attention of the step's query over the x_u
 *     shift = W_r r + moment of the step            the part common to all edges of the tree
 *
 * mlp.0 f(u) is the harmonic extension of the columns of mlp.0, bias included, because the numbers
 * of f(u) sum to 1 (density/artreeformer/embedding.h).
 *
 *     for every tree i of a group:  make s->tree;  nodes_embed(t, i, ..)
 *     nodes_forward(t, first, count, ..)
 *
 *     fill s->drow and s->dshift (density/artreeformer/readout.h)
 *     nodes_backward(g, t, first, count, ..)
 *     for every tree i of the group:  make s->tree;  nodes_embed_backward(g, t, first, i, ..) */
#ifndef ARTREEFORMER_NODES_H
#define ARTREEFORMER_NODES_H

#include "density/artreeformer/panels.h"
#include "density/artreeformer/sums.h"
#include "density/artreeformer/tile.h"

/* Workspace of one thread for a group of trees. */
typedef struct nodes_scratch {
    topology tree;
    embedding_plan plan;
    real *row;         /* [nodes][d] */
    real *drow;        /* [nodes][d]: gradient of the node features by way of the edges */
    real *dshift;      /* [trees][2d] */
    real *dr;          /* [trees][d] */
    real *ds;          /* [trees][d] */
    real *dz;          /* [trees][H][d] */
    real *pool;        /* attention_scratch */
    double *embedding; /* matrix and work of the methods other than projected, else NULL */
} nodes_scratch;

/* Makes room for groups of this many trees and edges in total. */
int nodes_scratch_init(nodes_scratch *s, const panels *w, size_t trees, size_t edges);
void nodes_scratch_free(nodes_scratch *s); /* safe on a zeroed or freed one */

/* Makes room for embedding_matrix, if the method of w needs it. */
int nodes_scratch_method(nodes_scratch *s, const panels *w);

/* Tree i of the tile is s->tree: its ends, and the hidden layer of its nodes. */
void nodes_embed(tile *t, int i, const panels *w, nodes_scratch *s);

/* The remaining layers of count trees. */
void nodes_forward(tile *t, int first, int count, const panels *w, nodes_scratch *s);

/* Back to the first layer: s->row [nodes][d] becomes the gradient of mlp.0 f(u). s->drow is
 * overwritten. */
void nodes_backward(sums *g, const tile *t, int first, int count, const panels *w,
                    nodes_scratch *s);

/* Back to the leaves of tree i, which is s->tree, in the group that begins with tree first. */
void nodes_embed_backward(sums *g, const tile *t, int first, int i, const panels *w,
                          nodes_scratch *s);

#endif
