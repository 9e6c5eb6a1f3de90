/* key_table.h: distinct keys of one size, numbered in the order in which they are added.
 *
 *     key_table t;
 *     key_table_init(&t, size);
 *     size_t i;
 *     status = key_table_add(&t, key, &i);       for every key; equal keys get equal numbers
 *     int64_t j = key_table_find(&t, key);
 *     key_table_free(&t);
 *
 * Values that belong to the keys are stored by the caller, in arrays with room for t.room
 * entries. */
#ifndef BASE_KEY_TABLE_H
#define BASE_KEY_TABLE_H

#include "base/hash_index.h"

enum { KEY_NONE = HASH_NONE };

typedef struct key_table {
    size_t size;  /* bytes of a key; may be 0 */
    size_t count; /* keys */
    size_t room;
    unsigned char *key; /* [count][size], as aligned as malloc's memory; owned */
    hash_index index;
} key_table;

void key_table_init(key_table *t, size_t size);
void key_table_free(key_table *t); /* safe on a zeroed or freed one */

/* Removes all keys; keeps the memory. O(room). */
void key_table_clear(key_table *t);

/* Makes room for this many more keys. ART_ERR_NOMEM, ART_ERR_LIMIT beyond 2^31. */
int key_table_reserve(key_table *t, size_t more);

/* Sets *number to the number of the key, which is added if it is new. O(size). */
int key_table_add(key_table *t, const void *key, size_t *number);

/* The same if room for one more key has been reserved, so that it cannot fail. */
size_t key_table_put(key_table *t, const void *key);

/* The number of the key, KEY_NONE if it is not in the table. O(size). */
int64_t key_table_find(const key_table *t, const void *key);

/* Key order[i] becomes key i; order [count] is a permutation. */
int key_table_reorder(key_table *t, const size_t *order);

static inline const void *key_table_at(const key_table *t, size_t number)
{
    return t->key + number * t->size;
}

#endif
