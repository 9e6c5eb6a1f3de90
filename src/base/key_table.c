#include "base/key_table.h"

#include "artreeformer.h"
#include "base/hash.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static const size_t MOST = (size_t)1 << 31;

void key_table_init(key_table *t, size_t size)
{
    *t = (key_table){.size = size};
}

void key_table_free(key_table *t)
{
    free(t->key);
    free(t->slot);
    memset(t, 0, sizeof *t);
}

/* The slot of the key, or the empty one where it would go. */
static size_t slot_of(const key_table *t, const void *key)
{
    size_t at = (size_t)hash_bytes(key, t->size) & (t->slots - 1);
    while (t->slot[at] && memcmp(key_table_at(t, t->slot[at] - 1), key, t->size) != 0)
        at = (at + 1) & (t->slots - 1);
    return at;
}

static void fill_slots(key_table *t)
{
    memset(t->slot, 0, t->slots * sizeof *t->slot);
    for (size_t i = 0; i < t->count; i++)
        t->slot[slot_of(t, key_table_at(t, i))] = (uint32_t)(i + 1);
}

void key_table_clear(key_table *t)
{
    t->count = 0;
    if (t->slots)
        fill_slots(t);
}

int key_table_reserve(key_table *t, size_t more)
{
    if (more <= t->room - t->count)
        return ART_OK;
    if (more > MOST - t->count)
        return ART_ERR_LIMIT;
    size_t room = t->room ? t->room : 64;
    while (room < t->count + more)
        room *= 2;
    unsigned char *key = mem_resize(t->key, room, t->size);
    if (!key)
        return ART_ERR_NOMEM;
    t->key = key;
    uint32_t *slot = mem_resize(t->slot, 2 * room, sizeof *slot); /* at most half full */
    if (!slot)
        return ART_ERR_NOMEM;
    t->slot = slot;
    t->slots = 2 * room;
    t->room = room;
    fill_slots(t);
    return ART_OK;
}

size_t key_table_put(key_table *t, const void *key)
{
    size_t at = slot_of(t, key);
    if (t->slot[at] == 0) {
        memmove(t->key + t->count * t->size, key, t->size);
        t->slot[at] = (uint32_t)++t->count;
    }
    return t->slot[at] - 1;
}

int key_table_add(key_table *t, const void *key, size_t *number)
{
    int status = key_table_reserve(t, 1);
    if (status == ART_OK)
        *number = key_table_put(t, key);
    return status;
}

int64_t key_table_find(const key_table *t, const void *key)
{
    return t->slots ? (int64_t)t->slot[slot_of(t, key)] - 1 : KEY_NONE;
}

int key_table_reorder(key_table *t, const size_t *order)
{
    unsigned char *key = mem_resize(NULL, t->room, t->size);
    if (!key)
        return ART_ERR_NOMEM;
    for (size_t i = 0; i < t->count; i++)
        memcpy(key + i * t->size, key_table_at(t, order[i]), t->size);
    free(t->key);
    t->key = key;
    if (t->slots)
        fill_slots(t);
    return ART_OK;
}
