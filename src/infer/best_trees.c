#include "infer/best_trees.h"

#include "artreeformer.h"
#include "base/hash.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 32768 }; /* a power of two above three times BEST_TREES_KEPT */

int best_trees_init(best_trees *b, int n_taxa)
{
    memset(b, 0, sizeof *b);
    b->n_decisions = n_taxa - 3;
    b->value = -INFINITY;
    b->decision = mem_zeros((size_t)BEST_TREES_KEPT * (size_t)b->n_decisions, sizeof *b->decision);
    b->slot = mem_zeros(SLOTS, sizeof *b->slot);
    return b->decision && b->slot ? ART_OK : ART_ERR_NOMEM;
}

void best_trees_free(best_trees *b)
{
    free(b->decision);
    free(b->slot);
    memset(b, 0, sizeof *b);
}

void best_trees_add(best_trees *b, double value, const int32_t *decision)
{
    if (!(value >= b->value))
        return;
    if (value > b->value) {
        b->value = value;
        b->count = 0;
        memset(b->slot, 0, SLOTS * sizeof *b->slot);
    }
    size_t bytes = (size_t)b->n_decisions * sizeof *decision;
    size_t at = hash_bytes(decision, bytes) % SLOTS;
    for (; b->slot[at]; at = (at + 1) % SLOTS)
        if (!memcmp(b->decision + (size_t)(b->slot[at] - 1) * (size_t)b->n_decisions, decision,
                    bytes))
            return;
    if (b->count == BEST_TREES_KEPT)
        return;
    memcpy(b->decision + (size_t)b->count * (size_t)b->n_decisions, decision, bytes);
    b->slot[at] = (int32_t)++b->count;
}

int best_trees_save(best_trees *b, safetensors *s)
{
    if (b->count == 0)
        return ART_OK;
    b->saved[0] = b->value;
    int status = safetensors_add(s, "best.value", TENSOR_F64, 1, (size_t[]){1}, b->saved);
    if (status)
        return status;
    size_t shape[2] = {(size_t)b->count, (size_t)b->n_decisions};
    return safetensors_add(s, "best.trees", TENSOR_I32, 2, shape, b->decision);
}

int best_trees_load(best_trees *b, safetensors *s, const char *file, diag *d)
{
    const tensor *value = safetensors_use(s, "best.value");
    const tensor *trees = safetensors_use(s, "best.trees");
    b->value = -INFINITY;
    b->count = 0;
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
