/* optimal_trees.h: the trees of the best score that a search under parsimony has met.
 *
 * Two fully resolved trees that differ only at branches without any change say the same about the
 * data. So a branch inside the tree is collapsed if its greatest length is 0: if no most
 * parsimonious reconstruction of any site has a change on it (fitch_tree_lengths; PAUP* calls this
 * rule "collapse = MaxBrlen", its default). The trees are counted in both ways: *resolved* are the
 * distinct fully resolved trees, *collapsed* the distinct trees that remain of them.
 *
 *     optimal_trees o;
 *     status = optimal_trees_init(&o, n_taxa, most);
 *     collapsed_key(key, decision, all, length);
 *     status = optimal_trees_add(&o, &number, decision, key);         any number of times
 *     optimal_trees_connect(&o, a, b);                neighbours: they are on the same island
 *     optimal_trees_free(&o);
 *
 * An island is a set of collapsed trees that rearrangements connect without leaving the score. */
#ifndef PARS_OPTIMAL_TREES_H
#define PARS_OPTIMAL_TREES_H

#include "base/key_table.h"
#include "io/saved_state.h"
#include "pars/fitch_tree.h"

enum { RESOLVED_MOST = 100 }; /* resolved trees that are kept of one collapsed tree */

typedef struct optimal_trees {
    int32_t n_taxa;
    size_t most;           /* resolved trees that are kept */
    key_table resolved;    /* decisions [N-3] */
    int32_t *collapsed_of; /* [resolved] the number of its collapsed tree; owned */
    key_table collapsed;   /* collapsed_key [2N-3] */
    int32_t *first;        /* [collapsed] its first resolved tree; owned */
    int32_t *count;        /* [collapsed] its resolved trees; owned */
    int32_t *starts;       /* [collapsed] of the first tree of an island: starts of the search that
                              ended on the island; owned */
    int32_t *link;         /* [collapsed] to a tree of the same island with a lower number, or to
                              itself; owned */
    bool is_full;          /* there were more resolved trees than are kept in all .. */
    bool is_partial;       /* .. or of one collapsed tree */
} optimal_trees;

int optimal_trees_init(optimal_trees *o, int32_t n_taxa, size_t most);
void optimal_trees_free(optimal_trees *o); /* safe on a zeroed, half-built or freed one */

/* Forgets all trees. */
void optimal_trees_clear(optimal_trees *o);

/* Adds a tree with its collapsed_key. *number is that of its collapsed tree; -1 if it is a new one
 * for which there is no room. */
int optimal_trees_add(optimal_trees *o, int32_t *number, const int32_t *decision,
                      const int32_t *key);

/* Two collapsed trees are on one island. */
void optimal_trees_connect(optimal_trees *o, int32_t a, int32_t b);

/* The island of a collapsed tree, as the lowest number of its trees. */
int32_t optimal_trees_island(const optimal_trees *o, int32_t number);

/* A start of the search has ended with a collapsed tree. */
void optimal_trees_end_start(optimal_trees *o, int32_t number);

/* The number of islands, and how many of them fewer than two starts have ended on. */
int32_t optimal_trees_islands(const optimal_trees *o, int32_t *rare);

static inline const int32_t *optimal_tree(const optimal_trees *o, size_t resolved)
{
    return key_table_at(&o->resolved, resolved);
}

/* The fields "optimal.*" of a saved state. */
int optimal_trees_fields(optimal_trees *o, saved_state *s);

/* The collapsed form of a tree as a key [2N-3], equal for equal forms: inner nodes are numbered in
 * the order in which the ways from taxa 1, 2, .. to taxon 0 meet them; the key holds the numbers
 * of the parents of taxa 1 .. N-1 and of the inner nodes in this order, -1 for the one next to
 * taxon 0, and -2 at the end where branches were collapsed. all is a tree on the sites of all
 * patterns, also of those that cost the same on every tree: where such a change is, depends on the
 * tree. length [2N-2] is set to the greatest lengths. */
void collapsed_key(int32_t *key, const int32_t *decision, fitch_tree *all, int64_t *length);

#endif
