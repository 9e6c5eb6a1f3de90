/* artree_group.h: ARTree's network on a few partial trees of the same size together, forward and
 * backward.
 *
 *     x      = two edge convolutions of the node embeddings
 *     h'     = GRU(x, h)                          h: the states of the parent entry
 *     y_u    = P(h'_u + b_t)
 *     logit  = Q(max(y_u, y_v) + b_t)             for the edge (u, v)
 *
 * (docs/artree.md.) The trees of a group are entries of a trie whose numbers follow each other, all
 * with n leaves, so their rows in the tile and their states in the trie follow each other too. No
 * number of the forward pass depends on which trees are in a group. */
#ifndef ARTREE_ARTREE_GROUP_H
#define ARTREE_ARTREE_GROUP_H

#include "density/artree/artree_tile.h"
#include "density/artree/artree_weights.h"
#include "density/artreeformer/trie.h"

/* Workspace of one thread. */
typedef struct artree_scratch {
    topology tree;
    embedding_plan plan;
    int32_t *path; /* [N] */
    real *pair;    /* [nodes][2d], also its gradient */
    real *h;       /* [nodes][d]: states before the step */
    real *product; /* [nodes][3d], also a gradient */
    real *dgate;   /* [nodes][3d] */
    real *a, *b;   /* [nodes][d] */
    real *dnext;   /* [nodes][d]: gradient of the states after the step */
    real *dslot;   /* [slots of one tree][d] */
    real *dlogit;  /* [nodes] */
    real *block;
} artree_scratch;

/* Room for groups of this many node rows. */
int artree_scratch_init(artree_scratch *s, const artree_weights *w, size_t nodes);
void artree_scratch_free(artree_scratch *s); /* safe on a zeroed or freed one */

typedef struct artree_group {
    trie *trie;
    int32_t first; /* entry */
    int count;     /* of entries */
    artree_tile *tile;
    size_t node, edge; /* rows of the first entry in the tile */
} artree_group;

/* Fills the rows of the tile, and sets states and distributions of the entries. The parents have
 * their states. */
void artree_group_forward(const artree_group *g, const artree_weights *w, artree_scratch *s);

/* After the forward pass into this tile: given s->dlogit [edges of the group] and s->dnext, the
 * gradient of the states by way of the children, adds to the sheet and sets dstate [2n-2 rows per
 * entry][d], the gradient of the states before the step. Its last two rows of each entry belong to
 * new nodes, whose states are not the parent's. */
void artree_group_backward(real *dstate, real *sheet, const artree_group *g,
                           const artree_weights *w, artree_scratch *s);

#endif
