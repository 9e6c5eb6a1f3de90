#include "train/best_trees.h"

#include "artreeformer.h"
#include "io/key_table_file.h"
#include "io/tensor_parts.h"
#include "train/checkpoint.h"

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

static const char TREES[] = "best.trees";

static tensor_part value_part(best_trees *b)
{
    return (tensor_part){"best.value", TENSOR_F64, 1, 1, &b->value};
}

int best_trees_save(best_trees *b, safetensors *s)
{
    const tensor_part part = value_part(b);
    if (b->trees.count == 0)
        return ART_OK;
    int status = tensor_parts_save(s, &part, 1);
    return status ? status : key_table_save(&b->trees, TREES, TENSOR_I32, s);
}

int best_trees_load(best_trees *b, safetensors *s, const char *file, diag *d)
{
    const tensor_part part = value_part(b);
    b->value = -INFINITY;
    key_table_clear(&b->trees);
    if (!safetensors_find(s, TREES))
        return ART_OK;
    if (tensor_rows(s, TREES) > BEST_TREES_KEPT)
        return tensor_parts_error(d, file, "more best trees than are kept");
    int status = tensor_parts_load(&part, 1, s, file, d);
    if (!status)
        status = key_table_load(&b->trees, TREES, TENSOR_I32, s, file, d);
    return status ? status
                  : checkpoint_trees(key_table_at(&b->trees, 0), b->trees.count, b->n_decisions + 3,
                                     file, d);
}
