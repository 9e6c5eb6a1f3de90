#include "train/best_trees.h"

#include "artreeformer.h"
#include "tree/saved_trees.h"

#include <math.h>
#include <string.h>

int best_trees_init(best_trees *b, int n_taxa)
{
    memset(b, 0, sizeof *b);
    b->n_decisions = n_taxa - 3;
    b->value = -INFINITY;
    key_table_init(&b->trees, (size_t)b->n_decisions * sizeof(int32_t));
    return key_table_reserve(&b->trees, BEST_TREES_KEPT);
}

void best_trees_free(best_trees *b)
{
    key_table_free(&b->trees);
    memset(b, 0, sizeof *b);
}

void best_trees_add(best_trees *b, double value, const int32_t *decision)
{
    if (!(value >= b->value))
        return;
    if (value > b->value) {
        b->value = value;
        key_table_clear(&b->trees);
    }
    if (b->trees.count < BEST_TREES_KEPT)
        key_table_put(&b->trees, decision);
}

int best_trees_fields(best_trees *b, saved_state *s)
{
    static const char TREES[] = "best.trees";
    const size_t count = state_rows(s, TREES, b->trees.count, (size_t)b->n_decisions);
    if (count > BEST_TREES_KEPT)
        state_refuse(s, "%zu best trees, more than are kept", count);
    state_f64(s, "best.value", &b->value);
    state_tree_keys(s, TREES, &b->trees, b->n_decisions + 3);
    return s->status;
}
