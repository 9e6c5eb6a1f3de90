/* hash_index.h: finds numbered items by what they are.
 *
 * The items stay where they are (names, columns, rows of a matrix) and are known by their numbers;
 * the index holds for each its number and 32 bits of its hash, and asks a callback whether an item
 * is the one that is looked for. Every hash table of the program is one of these.
 *
 *     hash_index x = {0};
 *     for (uint32_t i = 0; i < n; i++) {
 *         uint32_t first;
 *         status = hash_index_intern(&x, &first, i, hash_of(i), equal, items, key_of(i));
 *         if (first != i) ...                 item i is equal to the earlier item `first`
 *     }
 *     hash_index_free(&x);
 *
 * O(1) each, if the hash is good (base/hash.h). What is found does not depend on the hash. */
#ifndef BASE_HASH_INDEX_H
#define BASE_HASH_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HASH_NONE = -1 };

/* Whether the item of that number is the key. */
typedef bool hash_equal(const void *items, uint32_t item, const void *key);

typedef struct hash_slot {
    uint32_t item; /* number of the item + 1; 0 where the slot is free */
    uint32_t hash;
} hash_slot;

/* All zero is an empty index. */
typedef struct hash_index {
    hash_slot *slot; /* [slots], open addressing; owned */
    size_t slots;    /* a power of two, or 0; at most three quarters are taken */
    size_t count;
} hash_index;

void hash_index_free(hash_index *x); /* leaves an empty one; safe on a zeroed one */

/* No items, the memory kept. O(slots). */
void hash_index_clear(hash_index *x);

/* Room for so many items in all. ART_ERR_NOMEM, or ART_ERR_LIMIT beyond 2^32, leaves the index as
 * it was. */
int hash_index_reserve(hash_index *x, size_t count);

/* The number of the item that is equal to the key, HASH_NONE if there is none. hash is that of the
 * key. */
int64_t hash_index_find(const hash_index *x, uint64_t hash, hash_equal *equal, const void *items,
                        const void *key);

/* Adds an item that is not there, for which there is room. item < UINT32_MAX. */
void hash_index_insert(hash_index *x, uint32_t item, uint64_t hash);

/* *found becomes the number of the item that is equal to the key; if there is none, `item`, which
 * is added. ART_ERR_NOMEM. */
int hash_index_intern(hash_index *x, uint32_t *found, uint32_t item, uint64_t hash,
                      hash_equal *equal, const void *items, const void *key);

#endif
