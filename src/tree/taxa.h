/* taxa.h: an ordered set of taxon names. The index of a name is the number of the taxon in
 * topologies, so the order is part of what a model or a key means.
 *
 *     taxa t;
 *     taxa_init(&t);
 *     status = taxa_add(&t, name, strlen(name));    for every name
 *     status = taxa_sort(&t, NULL);                 the default order; or leave it as given
 *     int32_t i = taxa_find(&t, name, length);
 *     taxa_free(&t);
 *
 * Names are compared byte by byte: nothing is folded, trimmed or renamed. */
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

/* Adds a copy of a name at the end. ART_ERR_INPUT if it is there already or holds a NUL; the
 * set is then unchanged. O(length). */
int taxa_add(taxa *t, const char *name, size_t length);

/* The index of a name, -1 if it is not there. O(length). */
int32_t taxa_find(const taxa *t, const char *name, size_t length);

/* Brings the names into the lexicographic order of their bytes. If moved is not NULL,
 * moved[old index] becomes the new index. O(n log n). */
int taxa_sort(taxa *t, int32_t *moved);

/* Makes *copy (not initialised) the same set in the same order. */
int taxa_copy(taxa *copy, const taxa *t);

/* The same names in the same order. */
bool taxa_equal(const taxa *a, const taxa *b);

/* index[i] becomes the number in `to` of name i of `from`, -1 where it is not there. Returns
 * how many of the names of `from` are there. */
int32_t taxa_map(int32_t *index, const taxa *from, const taxa *to);

/* The first two names that differ only in spaces and underscores, which tree files take for the
 * same; -1 if there are none. ART_ERR_NOMEM. */
int taxa_similar(int32_t pair[2], const taxa *t);

/* ART_OK if `found` and `expected` hold the same names, in whatever order; otherwise
 * ART_ERR_MISMATCH, with one error for every name that only one of them has. The two are
 * called found_in and expected_in in the messages, for example "the tree", "the alignment". */
int taxa_compare(const taxa *found, const char *found_in, const taxa *expected,
                 const char *expected_in, diag_place place, diag *d);

#endif
