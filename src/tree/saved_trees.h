/* saved_trees.h: topologies as fields of a saved state (io/saved_state.h). Loading refuses
 * decisions that do not describe a tree. */
#ifndef TREE_SAVED_TREES_H
#define TREE_SAVED_TREES_H

#include "io/saved_state.h"

/* decision [count][N-3], borrowed in the same way as arrays. */
void state_trees(saved_state *s, const char *name, int32_t *decision, size_t count, int n_taxa);

/* A table whose keys are decisions. When loading fails it is empty. */
void state_tree_keys(saved_state *s, const char *name, key_table *trees, int n_taxa);

#endif
