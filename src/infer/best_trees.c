#include "infer/best_trees.h"

#include "artreeformer.h"

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

int best_trees_save(best_trees *b, safetensors *s)
{
    if (b->trees.count == 0)
        return ART_OK;
    b->saved[0] = b->value;
    int status = safetensors_add(s, "best.value", TENSOR_F64, 1, (size_t[]){1}, b->saved);
    if (status)
        return status;
    size_t shape[2] = {b->trees.count, (size_t)b->n_decisions};
    return safetensors_add(s, "best.trees", TENSOR_I32, 2, shape, key_table_at(&b->trees, 0));
}

int best_trees_load(best_trees *b, safetensors *s, const char *file, diag *d)
{
    const tensor *value = safetensors_use(s, "best.value");
    const tensor *trees = safetensors_use(s, "best.trees");
    b->value = -INFINITY;
    key_table_clear(&b->trees);
    if (!value && !trees)
        return ART_OK;
    if (!value || !trees || value->dtype != TENSOR_F64 || value->count != 1 ||
        trees->dtype != TENSOR_I32 || trees->rank != 2 || trees->shape[0] > BEST_TREES_KEPT ||
        trees->shape[1] != (size_t)b->n_decisions)
        return diag_error(d, ART_ERR_MISMATCH, (diag_place){.file = file},
                          "the list of best trees does not fit the data -- start anew with --redo");
    for (size_t i = 0; i < trees->shape[0]; i++)
        best_trees_add(b, *(const double *)value->data,
                       (const int32_t *)trees->data + i * (size_t)b->n_decisions);
    return ART_OK;
}
