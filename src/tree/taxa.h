/* taxa.h: an ordered set of taxon names. The index of a name is the number of the taxon in
 * topologies, so the order is part of the meaning of a model or a key.
 *
 *     taxa t;
 *     taxa_init(&t);
 *     status = taxa_add(&t, name, strlen(name));    for every name
 *     status = taxa_sort(&t, NULL);                 the default order; or leave it as given
 *     int32_t i = taxa_find(&t, name, length);
 *     taxa_free(&t);
 *
 * Names are compared by the rule of io/taxon_name.h: underscore and blank are the same, every other
 * byte counts. They keep the spelling with which they were added. */
#ifndef TREE_TAXA_H
#define TREE_TAXA_H

#include "base/diag.h"
#include "base/hash_index.h"

typedef struct taxa {
    int32_t count;
    char **name; /* [count], owned */
    int32_t room;
    hash_index index; /* of the names */
} taxa;

void taxa_init(taxa *t);
void taxa_free(taxa *t); /* safe on a zeroed, half-built or freed one */

/* Adds a copy of a name at the end. ART_ERR_INPUT if it is already in the set, perhaps in
 * another spelling, or contains a NUL;
 * the set is then unchanged. O(length). */
int taxa_add(taxa *t, const char *name, size_t length);

/* The index of a name, -1 if it is not in the set. O(length). */
int32_t taxa_find(const taxa *t, const char *name, size_t length);

/* Sorts the names lexicographically by their bytes. If moved is not NULL, moved[old index] is set
 * to the new index. O(n log n). */
int taxa_sort(taxa *t, int32_t *moved);

/* Makes *copy (not initialised) the same set in the same order. */
int taxa_copy(taxa *copy, const taxa *t);

/* Whether both have the same names in the same order. */
bool taxa_equal(const taxa *a, const taxa *b);

/* Sets index[i] to the number in `to` of name i of `from`, or -1 if it is not there. Returns how
 * many names of `from` were found. */
int32_t taxa_map(int32_t *index, const taxa *from, const taxa *to);

/* ART_OK if `found` and `expected` hold the same names, in any order; otherwise ART_ERR_MISMATCH,
 * with one error for every name that occurs in only one of them. The two are called found_in and
 * expected_in in the messages, for example "the tree", "the alignment". */
int taxa_compare(const taxa *found, const char *found_in, const taxa *expected,
                 const char *expected_in, diag_place place, diag *d);

#endif
