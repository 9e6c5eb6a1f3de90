#include "tree/saved_trees.h"

#include "tree/topology.h"

static void check_trees(saved_state *s, const char *name, const int32_t *decision, size_t count,
                        int n_taxa)
{
    if (state_loaded(s) && !decisions_are_trees(decision, count, n_taxa))
        state_refuse(s, "%s%s has decisions that do not describe a tree", s->group, name);
}

void state_trees(saved_state *s, const char *name, int32_t *decision, size_t count, int n_taxa)
{
    state_i32_array(s, name, decision, count, (size_t)n_taxa - 3);
    check_trees(s, name, decision, count, n_taxa);
}

void state_tree_keys(saved_state *s, const char *name, key_table *trees, int n_taxa)
{
    state_keys(s, name, trees, TENSOR_I32);
    check_trees(s, name, key_table_at(trees, 0), trees->count, n_taxa);
    if (s->is_loading && s->status)
        key_table_clear(trees);
}
