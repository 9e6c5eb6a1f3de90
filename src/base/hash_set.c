#include "base/hash_set.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void hash_set_init(hash_set *s, hash_set_equal *equal, const void *items)
{
    *s = (hash_set){.equal = equal, .items = items};
}

void hash_set_free(hash_set *s)
{
    free(s->slot);
    memset(s, 0, sizeof *s);
}

/* Keeps the table at most half full. */
static bool make_room(hash_set *s)
{
    if (2 * (s->count + 1) <= s->slots)
        return true;
    size_t slots = s->slots ? 2 * s->slots : 64;
    hash_slot *grown = mem_zeros(slots, sizeof *grown);
    if (!grown)
        return false;
    for (size_t i = 0; i < s->slots; i++) {
        if (s->slot[i].item == 0)
            continue;
        size_t at = s->slot[i].hash & (slots - 1);
        while (grown[at].item != 0)
            at = (at + 1) & (slots - 1);
        grown[at] = s->slot[i];
    }
    free(s->slot);
    s->slot = grown;
    s->slots = slots;
    return true;
}

uint32_t hash_set_intern(hash_set *s, uint32_t item, uint64_t hash)
{
    if (!make_room(s))
        return HASH_SET_NOMEM;
    uint32_t tag = (uint32_t)(hash ^ hash >> 32);
    size_t at = tag & (s->slots - 1);
    for (; s->slot[at].item != 0; at = (at + 1) & (s->slots - 1))
        if (s->slot[at].hash == tag && s->equal(s->items, s->slot[at].item - 1, item))
            return s->slot[at].item - 1;
    s->slot[at] = (hash_slot){item + 1, tag};
    s->count++;
    return item;
}
