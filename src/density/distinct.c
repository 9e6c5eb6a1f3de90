#include "density/distinct.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void distinct_free(distinct *d)
{
    key_table_free(&d->keys);
    free(d->of);
    memset(d, 0, sizeof *d);
}

int distinct_reserve(distinct *d, int k, int n_taxa)
{
    if (d->of && k <= d->room)
        return ART_OK;
    distinct_free(d);
    key_table_init(&d->keys, ((size_t)n_taxa - 3) * sizeof *d->decision);
    d->of = mem_zeros((size_t)k, sizeof *d->of);
    if (!d->of || key_table_reserve(&d->keys, (size_t)k) != ART_OK) {
        distinct_free(d);
        return ART_ERR_NOMEM;
    }
    d->decision = key_table_at(&d->keys, 0);
    d->n_taxa = n_taxa;
    d->room = k;
    return ART_OK;
}

void distinct_set(distinct *d, const int32_t *decision, int k)
{
    const size_t n = (size_t)d->n_taxa - 3;
    key_table_clear(&d->keys);
    for (int i = 0; i < k; i++)
        d->of[i] = (int32_t)key_table_put(&d->keys, decision + (size_t)i * n);
    d->count = (int)d->keys.count;
}
