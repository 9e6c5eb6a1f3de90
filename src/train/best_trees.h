/* best_trees.h: all distinct topologies that reach the best value seen so far. */
#ifndef TRAIN_BEST_TREES_H
#define TRAIN_BEST_TREES_H

#include "base/key_table.h"
#include "io/saved_state.h"

#include <stdint.h>

enum { BEST_TREES_KEPT = 10000 };

typedef struct best_trees {
    int n_decisions; /* per tree, N - 3 */
    double value;    /* -inf before the first tree */
    key_table trees; /* their decisions, in order of discovery; no more than this are kept */
} best_trees;

int best_trees_init(best_trees *b, int n_taxa);
void best_trees_free(best_trees *b); /* safe on a zeroed one */

/* A better value empties the list; an equal one adds the tree unless it is already listed or the
 * list is full. O(N). */
void best_trees_add(best_trees *b, double value, const int32_t *decision);

/* The fields "best.*" of a saved state. */
int best_trees_fields(best_trees *b, saved_state *s);

#endif
