/* splits.h: the splits of trees as bit sets, how far two trees are apart, and how often splits
 * occur in samples of trees.
 *
 * A branch splits the taxa in two; it is written as the side without taxon 0, one bit per taxon
 * (bit i % 64 of word i / 64). With the tree hanging from taxon 0 that is what is below the
 * branch. A split is trivial if one of its sides is a single taxon. */
#ifndef TREE_SPLITS_H
#define TREE_SPLITS_H

#include "base/key_table.h"
#include "io/saved_state.h"
#include "tree/topology.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 64-bit words of one split. */
static inline size_t split_words(int32_t n_taxa)
{
    return ((size_t)n_taxa + 63) / 64;
}

static inline bool split_has(const uint64_t *split, int32_t taxon)
{
    return split[taxon / 64] >> (taxon % 64) & 1;
}

/* How many taxa are on the side without taxon 0. */
int32_t split_size(const uint64_t *split, int32_t n_taxa);

bool split_is_trivial(const uint64_t *split, int32_t n_taxa);

/* Can both be in one tree? The sides without taxon 0 are nested or disjoint. */
bool split_compatible(const uint64_t *a, const uint64_t *b, int32_t n_taxa);

/* All the splits of a whole tree in canonical numbering (topology_build): split [2N-3][words]
 * by edge number. order has room for 2N-3 numbers. O(N * words). */
void splits_of(uint64_t *split, const topology *t, int32_t *order);

/* The Robinson-Foulds distance, the number of splits that are in one tree only, by Day's
 * algorithm: exact and O(N) per tree. */
typedef struct rf {
    int32_t n_taxa;
    int32_t *block; /* all the integers; owned */
    int32_t *rank;  /* [N] place of each taxon in the order of the reference tree */
    int32_t *upto;  /* [2N] clusters of the reference as intervals of ranks: one entry at its */
    int32_t *from;  /* [2N] first or at its last rank, -1 where there is none */
    int32_t *order; /* [2N] */
    int32_t *low;   /* [2N] per node: lowest and highest rank below it, and how many */
    int32_t *high;
    int32_t *size;
} rf;

int rf_init(rf *r, int32_t n_taxa);
void rf_free(rf *r); /* safe on a zeroed or freed one */

/* The tree that the next ones are compared with. */
void rf_set(rf *r, const topology *reference);

/* Its distance from the reference: even, 0 .. 2(N-3). */
int32_t rf_distance(rf *r, const topology *t);

/* How often splits occur in weighted trees, and how long their branches are.
 *
 *     split_table s;
 *     status = split_table_init(&s, n_taxa);
 *     status = split_table_add(&s, decision, length, weight);      for every tree
 *     for (size_t i = 0; i < s.count; i++)
 *         use(split_table_bits(&s, i), split_frequency(&s, i), s.mean[i], split_sd(&s, i));
 *     split_table_free(&s); */
typedef struct split_table {
    int32_t n_taxa;
    size_t words;
    size_t count;
    double total; /* weight of all the trees, and the variance of that */
    double doubt;
    key_table keys;   /* the bits of the splits */
    double *weight;   /* [count] of the trees that have the split */
    double *variance; /* [count] of that weight */
    double *known;    /* [count] of those where its branch has a length */
    double *mean;     /* [count] of the lengths; 0 where none is known */
    double *squares;  /* [count] weighted sum of squared deviations from the mean */
    size_t room;
    topology tree; /* of the tree that is added, with its splits */
    uint64_t *tree_bits;
    int32_t *order;
} split_table;

int split_table_init(split_table *s, int32_t n_taxa);
void split_table_free(split_table *s); /* safe on a zeroed, half-built or freed one */

/* Adds all the splits of a tree, trivial ones too. length [2N-3] may be NULL; NaN is unknown.
 * A weight of 0 is no tree. ART_ERR_NOMEM, ART_ERR_LIMIT beyond 2^31 splits. */
int split_table_add(split_table *s, const int32_t *decision, const double *length, double weight);

/* The same for a tree whose weight is known with a variance, independent of the others'. For
 * split_table_add that is the weight squared, as it is for independent weighted draws. */
int split_table_add_uncertain(split_table *s, const int32_t *decision, const double *length,
                              double weight, double variance);

/* The fields "splits.*" of a saved state. Loading replaces the contents of a table on the same
 * taxa; if it fails the table is empty. */
int split_table_fields(split_table *t, saved_state *s);

/* Forgets all weights, not the lengths: frequencies may then come from better weights. */
void split_table_reset(split_table *s);

static inline const uint64_t *split_table_bits(const split_table *s, size_t i)
{
    return key_table_at(&s->keys, i);
}

/* The number of a split, KEY_NONE if it is not there. */
int64_t split_table_find(const split_table *s, const uint64_t *split);

/* Share of the trees that have the split; standard deviation of its length over the trees
 * that have one. */
double split_frequency(const split_table *s, size_t i);
double split_sd(const split_table *s, size_t i);

/* Standard error of the frequency P = W_i / W, by the variances of the trees' weights:
 *     sum over trees of variance * (has the split - P)^2 / W^2. */
double split_frequency_error(const split_table *s, size_t i);

/* order [count] becomes the numbers of the splits by falling frequency; among equals larger
 * splits first, then by their bits, so that the order does not depend on that of the trees. */
int split_table_order(size_t *order, const split_table *s);

/* Average (and largest, if not NULL) standard deviation of split frequencies between n >= 2
 * samples, as MrBayes has it: over the nontrivial splits with at least min_frequency in one of
 * them, the deviation with divisor n - 1. 0 if there is no such split. */
double split_deviation(double *largest, const split_table *const *sample, size_t n,
                       double min_frequency);

#endif
