/* fitch_tree.h: a tree under parsimony that is rearranged: its score, and what each of its
 * neighbours costs, without looking at the neighbour itself.
 *
 *     fitch_tree t;
 *     status = fitch_tree_init(&t, &bits);
 *     fitch_tree_grow(&t, stream);                      or fitch_tree_set(&t, decision);
 *     score = fitch_tree_climb(&t, FITCH_TBR, &stream, NULL);
 *     fitch_tree_decisions(&t, decision);
 *     fitch_tree_free(&t);
 *
 * A branch is cut, which leaves two trees. Fitch's rule gives the set of states at a root on each
 * of their branches, in one pass up and one down. A tree that joins branch e of one with branch f
 * of the other costs what both cost alone, and one change for every site at which the sets at e and
 * f have nothing in common. That is exact, so a neighbour takes one pass over the words of two
 * sets.
 *
 * FITCH_SPR: one of the two keeps the branch where it was cut, and the other is attached anywhere
 * (subtree pruning and regrafting). FITCH_TBR: any branch of one is joined with any of the other
 * (tree bisection and reconnection): about N / 5 times as many neighbours.
 *
 * Scores are those of the bits: what all trees have in common is not counted. A tree holds three
 * sets for each of its nodes. It is the workspace of one thread. */
#ifndef PARS_FITCH_TREE_H
#define PARS_FITCH_TREE_H

#include "base/interrupt.h"
#include "base/rng.h"
#include "pars/site_bits.h"
#include "pars/parsimony_kernel.h"
#include "tree/topology.h"

typedef enum fitch_moves { FITCH_SPR, FITCH_TBR } fitch_moves;

typedef struct fitch_tree {
    int32_t n_taxa;
    const site_bits *data; /* borrowed; one chunk */
    const fitch_kernels *kernel;
    topology tree;
    topology named; /* scratch */
    int64_t score;
    uint64_t *tip;    /* [N][set] those of the data, or with some columns dropped */
    uint64_t *down;   /* [2N-2][set] at each node, of what is below it */
    uint64_t *up;     /* [2N-2][set] at its parent, of all the rest; of the trees of the last cut */
    uint64_t *mid;    /* [2N-2][set] at a root on the branch above; the same */
    int32_t *list;    /* [2][2N-2] branches of the two trees of the cut, by their lower nodes */
    int32_t *cut;     /* [2N-2] scratch: branches in the order in which they are cut */
    int32_t *stack;   /* [2N-2] scratch */
    int32_t *scratch; /* [6N] */
} fitch_tree;

/* The columns have one chunk, or none. */
int fitch_tree_init(fitch_tree *t, const site_bits *data);
void fitch_tree_free(fitch_tree *t); /* safe on a zeroed, half-built or freed one */

/* Each column is left out of all later scores with the given probability; 0 brings all back. The
 * tree must be set again afterwards. */
void fitch_tree_drop(fitch_tree *t, double probability, rng *r);

/* Sets the tree to decision [N-3], and back. O(N) merges of sets; O(N). */
void fitch_tree_set(fitch_tree *t, const int32_t *decision);
void fitch_tree_decisions(fitch_tree *t, int32_t *decision);

/* Sets the tree to a random one by stepwise addition: taxa in random order, each at the position of
 * the least cost, ties broken at random. O(N^2) merges. */
void fitch_tree_grow(fitch_tree *t, rng *r);

/* Moves to better neighbours until there is none: the branches are cut in random order, and the
 * best way to join again is taken if it is better. Returns the score. stop (may be NULL) is looked
 * at before every cut; if it is due, the climb ends where it is. */
int64_t fitch_tree_climb(fitch_tree *t, fitch_moves moves, rng *r, const interrupt *stop);

/* Calls visit with the decisions [N-3] of every neighbour whose score is at most limit; a neighbour
 * is met as often as it can be made. The tree is as before afterwards. Returns the first status
 * that is not ART_OK. */
typedef int fitch_visit(void *context, const int32_t *decision, int64_t score);
int fitch_tree_neighbours(fitch_tree *t, fitch_moves moves, int64_t limit, fitch_visit *visit,
                          void *context);

/* length[v] for all nodes but taxon 0: the greatest number of changes that a most parsimonious
 * reconstruction can have on the branch above v, in columns with their powers. With D the set below
 * and U the set above the branch it is the number of sites at which D and U have nothing in common:
 * where they have, every most parsimonious reconstruction has the same state at both ends, and
 * where they have not, any state of D can stand below any of U. */
void fitch_tree_lengths(fitch_tree *t, int64_t *length);

#endif
