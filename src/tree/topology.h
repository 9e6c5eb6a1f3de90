/* topology.h: an unrooted bifurcating tree on N labelled taxa, as index arrays, and the bijection
 * between topologies and decisions.
 *
 * A tree is built from the only tree on taxa 0, 1, 2 by attaching taxon n = 3, 4, .., N-1 to one of
 * the 2n-3 edges of the tree so far. The edge chosen for taxon n is the decision decision[n-3].
 * Topologies and decisions are in bijection, so with the taxon order fixed the decisions are the
 * canonical key of a topology: equal topologies have equal arrays.
 *
 * Nodes: taxon i is node i; the internal node added together with taxon n >= 2 is node N + n - 2.
 * The arrays describe the tree as rooted at taxon 0: every other node has a parent, and an edge is
 * the edge above its lower node. Edges keep their number while the tree grows:
 *
 *     edge 0        above taxon 1
 *     edge 2n - 3   above taxon n             (n >= 2)
 *     edge 2n - 2   above inner node N + n-2  (n >= 2)
 *
 * Attaching taxon n to edge e with lower node v puts the new inner node between v and its parent: v
 * keeps the edge number e, the new node has edge 2n-2 and the taxon edge 2n-3. The new node's
 * children are the taxon and v, in this order (as in MrBayes' tree files). A tree whose internal
 * nodes are numbered differently is converted to this numbering through its decisions.
 *
 * A tree with polytomies is one of its resolutions, with the branches marked that the tree does not
 * have. An inner branch has the number 2n-2 of a taxon n >= 3, or is edge 2 (then another such
 * number is that of the branch of taxon 0, and free): so there is one decision for every inner
 * branch, and a marked one is ~edge instead of edge. tree_build (tree/tree.h) always chooses the
 * same resolution, so these are keys too. Only what says so accepts them. */
#ifndef TREE_TOPOLOGY_H
#define TREE_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TOPOLOGY_MAX_TAXA = 1 << 28 }; /* so that node and edge numbers, times 3, fit */

/* The entries of nodes that are not yet attached are undefined. */
typedef struct topology {
    int32_t n_taxa;      /* N, the room in the arrays; N >= 3 */
    int32_t n_leaves;    /* taxa attached so far: 0 .. n_leaves-1 */
    int32_t *parent;     /* [2N-2]; -1 for taxon 0 */
    int32_t (*child)[2]; /* [2N-2]; taxon 0 has one child, in [0]; -1 where there is none */
} topology;

static inline int32_t topology_nodes(int32_t n_taxa)
{
    return 2 * n_taxa - 2;
}

static inline int32_t topology_edges(int32_t n_taxa)
{
    return 2 * n_taxa - 3;
}

/* The lower node of an edge, and the edge above a node other than taxon 0. */
static inline int32_t edge_node(int32_t edge, int32_t n_taxa)
{
    return edge == 0 ? 1 : edge % 2 ? (edge + 3) / 2 : n_taxa + (edge - 2) / 2;
}

static inline int32_t node_edge(int32_t node, int32_t n_taxa)
{
    return node == 1 ? 0 : node < n_taxa ? 2 * node - 3 : 2 * (node - n_taxa) + 2;
}

/* The top edge is the one to taxon 0, above the child of taxon 0. An edge that leads to a taxon is
 * external. */
static inline bool edge_is_external(int32_t edge, int32_t top)
{
    return edge % 2 || edge == 0 || edge == top;
}

/* The top edge of the tree with the given decisions [N-3]. O(N). */
int32_t decisions_top_edge(const int32_t *decision, int32_t n_taxa);

/* Whether the edge above a node other than taxon 0 is external, for any numbering of the inner
 * nodes. */
static inline bool topology_is_external(const topology *t, int32_t node)
{
    return node < t->n_taxa || t->parent[node] == 0;
}

/* The tree on taxa 0, 1, 2, with room for N. ART_ERR_USAGE for N < 3, ART_ERR_LIMIT beyond
 * TOPOLOGY_MAX_TAXA. */
int topology_init(topology *t, int32_t n_taxa);
void topology_free(topology *t); /* safe on a zeroed or freed one */

/* to, with room for as many taxa, becomes from. */
void topology_copy(topology *to, const topology *from);

/* Back to the tree on taxa 0, 1, 2. O(1). */
void topology_reset(topology *t);

/* Attaches the next taxon; the edge is below 2*n_leaves - 3. O(1). */
void topology_attach(topology *t, int32_t edge);

/* The complete tree with the given decisions [N-3], in the canonical numbering; of a tree with
 * polytomies the resolution. O(N). */
void topology_build(topology *t, const int32_t *decision);

/* The decisions [N-3] of a complete tree, for any numbering of its internal nodes and any order of
 * its children. scratch has room for 6N numbers. t is left unchanged. If edge_of is not NULL,
 * edge_of[node] is set to the canonical edge number above each node of t (-1 for taxon 0). O(N). */
void topology_decisions(int32_t *decision, int32_t *edge_of, const topology *t, int32_t *scratch);

/* The edge that a decision names, marked or not. */
static inline int32_t decision_edge(int32_t decision)
{
    return decision < 0 ? ~decision : decision;
}

/* The number of the decision that is marked if the inner branch `edge` is contracted, in a tree
 * where taxon 0 is below edge `top`. */
static inline int32_t decision_of_edge(int32_t edge, int32_t top)
{
    return (edge == 2 ? top : edge) / 2 - 2;
}

/* Sets is_contracted [2N-3], by edge, from the marks of the decisions of t (topology_build), and
 * returns the number of contracted branches: 0 for a bifurcating tree. O(N). */
int32_t topology_contracted(bool *is_contracted, const topology *t, const int32_t *decision);

/* Whether all of the decisions [count][N-3] describe trees. */
bool decisions_are_trees(const int32_t *decision, size_t count, int32_t n_taxa);

/* All nodes except taxon 0, children before parents (depth first, child[0] before child[1]), as a
 * list [2 n_leaves - 3]. O(n_leaves). */
void topology_postorder(int32_t *order, const topology *t);

#endif
