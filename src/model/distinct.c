#include "model/distinct.h"

#include "artreeformer.h"
#include "base/hash.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void distinct_free(distinct *d)
{
    free(d->decision);
    free(d->of);
    free(d->slot);
    memset(d, 0, sizeof *d);
}

int distinct_reserve(distinct *d, int k, int n_taxa)
{
    if (d->slot && k <= d->room)
        return ART_OK;
    const size_t trees = (size_t)k;
    distinct_free(d);
    d->n_taxa = n_taxa;
    d->slots = 4;
    while (d->slots < 2 * trees)
        d->slots *= 2;
    d->decision = mem_zeros(trees * ((size_t)n_taxa - 3), sizeof *d->decision);
    d->of = mem_zeros(trees, sizeof *d->of);
    d->slot = mem_zeros(d->slots, sizeof *d->slot);
    if (!d->decision || !d->of || !d->slot) {
        distinct_free(d);
        return ART_ERR_NOMEM;
    }
    d->room = k;
    return ART_OK;
}

void distinct_set(distinct *d, const int32_t *decision, int k)
{
    const size_t n = (size_t)d->n_taxa - 3, bytes = n * sizeof *decision;
    memset(d->slot, 0, d->slots * sizeof *d->slot);
    d->count = 0;
    for (int i = 0; i < k; i++) {
        const int32_t *tree = decision + (size_t)i * n;
        size_t at = hash_bytes(tree, bytes) & (d->slots - 1);
        while (d->slot[at] && memcmp(d->decision + (size_t)(d->slot[at] - 1) * n, tree, bytes) != 0)
            at = (at + 1) & (d->slots - 1);
        if (!d->slot[at]) {
            memcpy(d->decision + (size_t)d->count * n, tree, bytes);
            d->slot[at] = ++d->count;
        }
        d->of[i] = d->slot[at] - 1;
    }
}
