/* rearrange.h: neighbours of a topology.
 *
 * Moves work on the arrays of a whole tree and keep the node numbers, so that the data of the
 * branch above a node (its length) move with the node. Afterwards the tree is in general not in the
 * canonical numbering: topology_decisions gives its decisions and, for every node, the canonical
 * edge above it. */
#ifndef TREE_REARRANGE_H
#define TREE_REARRANGE_H

#include "tree/topology.h"

/* The other child of v's parent, which is not taxon 0. */
static inline int32_t topology_sibling(const topology *t, int32_t v)
{
    int32_t above = t->parent[v];
    return t->child[above][t->child[above][0] == v];
}

/* Whether interchanges are possible across the branch above v. */
static inline int topology_has_nni(const topology *t, int32_t v)
{
    return v >= t->n_taxa && t->parent[v] != 0;
}

/* Nearest-neighbour interchange across the branch above v: exchanges child `which` (0 or 1) of v
 * with the sibling of v. Lengths stay with the nodes. There are N-3 such branches, and the 2(N-3)
 * neighbours are all different. The same call again undoes the interchange. O(1). */
void topology_nni(topology *t, int32_t v, int which);

/* Subtree pruning and regrafting. The branch above v is cut at one end and attached to the middle
 * of the branch above w:
 *   if w is not below v, the subtree below v moves to w (w is neither v, nor its parent, nor
 *     its sibling);
 *   if w is below v, all the rest of the tree moves to w (w is not a child of v).
 * In either case the two branches that the cut leaves behind become one, and that above w becomes
 * two halves; length [2N-2] by node follows. All 2(N-3)(2N-7) neighbours by unrooted subtree moves
 * are reached, some by several (v, w). O(depth of w). */
void topology_spr(topology *t, double *length, int32_t v, int32_t w);

/* Whether (v, w) is a move of topology_spr. O(depth of w). */
int topology_has_spr(const topology *t, int32_t v, int32_t w);

/* The tour around a tree, depth first, the child with the smaller number first: it goes along every
 * branch once down to its node *v (*up is 0) and once up from it (1), and then begins again. Each
 * of these 2(2N-3) directed branches has one next and one before it, whatever the numbering. O(1).
 */
void topology_tour_next(const topology *t, int32_t *v, int *up);

/* out, with room for as many taxa, becomes t with leaf i called taxon[i], a permutation of 0 ..
 * N-1; it is rooted at the new taxon 0. Internal nodes keep their numbers. O(N). */
void topology_relabel(topology *out, const topology *t, const int32_t *taxon);

#endif
