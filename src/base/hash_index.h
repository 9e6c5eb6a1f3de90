/* hash_index.h: finds numbered items by their content.
 *
 * The items stay where they are (names, columns, rows of a matrix) and are identified by their
 * numbers; the index holds the number and 32 bits of the hash of each item, and asks a callback
 * whether an item equals the key. All hash tables of the program use it.
 *
 *     hash_index x = {0};
 *     for (uint32_t i = 0; i < n; i++) {
 *         uint32_t first;
 *         status = hash_index_intern(&x, &first, i, hash_of(i), equal, items, key_of(i));
 *         if (first != i) ...                 item i is equal to the earlier item `first`
 *     }
 *     hash_index_free(&x);
 *
 * O(1) per operation, if the hash is good (base/hash.h). Results do not depend on the hash. */
#ifndef BASE_HASH_INDEX_H
#define BASE_HASH_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HASH_NONE = -1 };

/* Whether the item with that number equals the key. */
typedef bool hash_equal(const void *items, uint32_t item, const void *key);

typedef struct hash_slot {
    uint32_t item; /* number of the item + 1; 0 where the slot is free */
    uint32_t hash;
} hash_slot;

/* All zero is an empty index. */
typedef struct hash_index {
    hash_slot *slot; /* [slots], open addressing; owned */
    size_t slots;    /* a power of two, or 0; at most three quarters are in use */
    size_t count;
} hash_index;

void hash_index_free(hash_index *x); /* leaves an empty index; safe on a zeroed one */

/* Removes all items; keeps the memory. O(slots). */
void hash_index_clear(hash_index *x);

/* Makes room for this many items in total. ART_ERR_NOMEM, or ART_ERR_LIMIT beyond 2^32, leaves the
 * index as it was. */
int hash_index_reserve(hash_index *x, size_t count);

/* The number of the item equal to the key, HASH_NONE if there is none. hash is the hash of the
 * key. */
int64_t hash_index_find(const hash_index *x, uint64_t hash, hash_equal *equal, const void *items,
                        const void *key);

/* Adds an item that is not in the index; room must have been reserved. item < UINT32_MAX. */
void hash_index_insert(hash_index *x, uint32_t item, uint64_t hash);

/* Sets *found to the number of the item equal to the key; if there is none, adds `item` and sets
 * *found to it. ART_ERR_NOMEM. */
int hash_index_intern(hash_index *x, uint32_t *found, uint32_t item, uint64_t hash,
                      hash_equal *equal, const void *items, const void *key);

#endif
