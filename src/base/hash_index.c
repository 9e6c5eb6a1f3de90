#include "base/hash_index.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 64 };

void hash_index_free(hash_index *x)
{
    free(x->slot);
    *x = (hash_index){0};
}

void hash_index_clear(hash_index *x)
{
    if (x->slots)
        memset(x->slot, 0, x->slots * sizeof *x->slot);
    x->count = 0;
}

static uint32_t fold(uint64_t hash)
{
    return (uint32_t)(hash ^ hash >> 32);
}

/* The first free slot for a hash. */
static size_t free_slot(const hash_slot *slot, size_t slots, uint32_t hash)
{
    size_t at = hash & (slots - 1);
    while (slot[at].item != 0)
        at = (at + 1) & (slots - 1);
    return at;
}

int hash_index_reserve(hash_index *x, size_t count)
{
    size_t slots = x->slots ? x->slots : FIRST_SLOTS;
    if (count >= UINT32_MAX)
        return ART_ERR_LIMIT;
    while (slots / 4 * 3 < count)
        slots *= 2;
    if (slots == x->slots)
        return ART_OK;
    hash_slot *grown = mem_zeros(slots, sizeof *grown);
    if (!grown)
        return ART_ERR_NOMEM;
    for (size_t i = 0; i < x->slots; i++)
        if (x->slot[i].item != 0)
            grown[free_slot(grown, slots, x->slot[i].hash)] = x->slot[i];
    free(x->slot);
    x->slot = grown;
    x->slots = slots;
    return ART_OK;
}

int64_t hash_index_find(const hash_index *x, uint64_t hash, hash_equal *equal, const void *items,
                        const void *key)
{
    if (x->slots == 0)
        return HASH_NONE;
    const uint32_t wanted = fold(hash);
    size_t at = wanted & (x->slots - 1);
    for (; x->slot[at].item != 0; at = (at + 1) & (x->slots - 1))
        if (x->slot[at].hash == wanted && equal(items, x->slot[at].item - 1, key))
            return x->slot[at].item - 1;
    return HASH_NONE;
}

void hash_index_insert(hash_index *x, uint32_t item, uint64_t hash)
{
    x->slot[free_slot(x->slot, x->slots, fold(hash))] = (hash_slot){item + 1, fold(hash)};
    x->count++;
}

int hash_index_intern(hash_index *x, uint32_t *found, uint32_t item, uint64_t hash,
                      hash_equal *equal, const void *items, const void *key)
{
    const int64_t at = hash_index_find(x, hash, equal, items, key);
    *found = at < 0 ? item : (uint32_t)at;
    if (at >= 0)
        return ART_OK;
    int status = hash_index_reserve(x, x->count + 1);
    if (!status)
        hash_index_insert(x, item, hash);
    return status;
}
