/* hash_set.h: finds equal items among numbered ones.
 *
 * The items stay where they are (names, columns, rows of a matrix); the set only knows their
 * numbers and asks a callback whether two of them are equal.
 *
 *     hash_set s;
 *     hash_set_init(&s, equal, items);
 *     for (uint32_t i = 0; i < n; i++) {
 *         uint32_t first = hash_set_intern(&s, i, hash_of(items, i));
 *         if (first == HASH_SET_NOMEM) ...
 *         if (first != i) ...                 item i is equal to the earlier item `first`
 *     }
 *     hash_set_free(&s);
 *
 * O(1) each, if the hash is good. */
#ifndef BASE_HASH_SET_H
#define BASE_HASH_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASH_SET_NOMEM UINT32_MAX

typedef bool hash_set_equal(const void *items, uint32_t a, uint32_t b);

typedef struct hash_slot {
    uint32_t item; /* number of the item + 1; 0 where the slot is free */
    uint32_t hash;
} hash_slot;

typedef struct hash_set {
    hash_slot *slot; /* [slots], open addressing; owned */
    size_t slots;    /* a power of two, or 0 */
    size_t count;
    hash_set_equal *equal;
    const void *items; /* borrowed */
} hash_set;

void hash_set_init(hash_set *s, hash_set_equal *equal, const void *items);
void hash_set_free(hash_set *s); /* safe on a zeroed or freed one */

/* The item of the set that is equal to `item`; if there is none, `item` is added and returned.
 * HASH_SET_NOMEM when memory is short. item < HASH_SET_NOMEM - 1. */
uint32_t hash_set_intern(hash_set *s, uint32_t item, uint64_t hash);

#endif
