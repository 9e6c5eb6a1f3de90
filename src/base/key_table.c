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
    hash_index_free(&t->index);
    memset(t, 0, sizeof *t);
}

static uint64_t hash_of(const key_table *t, const void *key)
{
    return hash_bytes(key, t->size);
}

static bool is_key(const void *items, uint32_t item, const void *key)
{
    const key_table *t = items;
    return memcmp(key_table_at(t, item), key, t->size) == 0;
}

void key_table_clear(key_table *t)
{
    t->count = 0;
    hash_index_clear(&t->index);
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
    int status = hash_index_reserve(&t->index, room);
    if (!status)
        t->room = room;
    return status;
}

size_t key_table_put(key_table *t, const void *key)
{
    const uint64_t hash = hash_of(t, key);
    const int64_t found = hash_index_find(&t->index, hash, is_key, t, key);
    if (found >= 0)
        return (size_t)found;
    memmove(t->key + t->count * t->size, key, t->size);
    hash_index_insert(&t->index, (uint32_t)t->count, hash);
    return t->count++;
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
    return hash_index_find(&t->index, hash_of(t, key), is_key, t, key);
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
    hash_index_clear(&t->index);
    for (size_t i = 0; i < t->count; i++)
        hash_index_insert(&t->index, (uint32_t)i, hash_of(t, key_table_at(t, i)));
    return ART_OK;
}
