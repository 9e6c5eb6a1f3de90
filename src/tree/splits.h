/* splits.h: the splits (bipartitions) of trees as bit sets, distances between trees, and split
 * frequencies in samples of trees.
 *
 * A branch divides the taxa into two sets; the split is represented by the side without taxon 0,
 * one bit per taxon (bit i % 64 of word i / 64). If the tree is rooted at taxon 0, these are the
 * taxa below the branch. A split is trivial if one of its sides is a single taxon. */
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

/* The number of taxa on the side without taxon 0. */
int32_t split_size(const uint64_t *split, int32_t n_taxa);

bool split_is_trivial(const uint64_t *split, int32_t n_taxa);

/* Whether both splits can occur in the same tree: the sides without taxon 0 are nested or
 * disjoint. */
bool split_compatible(const uint64_t *a, const uint64_t *b, int32_t n_taxa);

/* All splits of a complete tree in canonical numbering (topology_build): split [2N-3][words] by
 * edge number. order has room for 2N-3 numbers. O(N * words). */
void splits_of(uint64_t *split, const topology *t, int32_t *order);

/* The Robinson-Foulds distance, the number of splits found in only one of the two trees, by Day's
 * algorithm: exact and O(N) per tree. */
typedef struct rf {
    int32_t n_taxa;
    int32_t inner;  /* nontrivial splits of the reference */
    int32_t *block; /* all the integers; owned */
    int32_t *rank;  /* [N] position of each taxon in the order of the reference tree */
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

/* The distance from the reference: even, 0 .. 2(N-3). */
int32_t rf_distance(rf *r, const topology *t);

/* The same for trees with polytomies, resolved, with the branches that they do not have: by edge
 * [2N-3] (topology_contracted). The distance may be odd. */
void rf_set_contracted(rf *r, const topology *reference, const bool *is_contracted);
int32_t rf_distance_contracted(rf *r, const topology *t, const bool *is_contracted);

/* The frequencies of splits in weighted trees, and the lengths of their branches.
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
    double total; /* total weight of the trees, and its variance */
    double doubt;
    key_table keys;   /* the bits of the splits */
    double *weight;   /* [count] of the trees that have the split */
    double *variance; /* [count] of that weight */
    double *known;    /* [count] of those where its branch has a length */
    double *mean;     /* [count] of the lengths; 0 where none is known */
    double *squares;  /* [count] weighted sum of squared deviations from the mean */
    double *common;   /* [count] variance of the frequency that is not one of single trees: what
                         trees have in common. 0 unless somebody sets it; not saved */
    size_t room;
    topology tree; /* of the tree that is added, with its splits */
    uint64_t *tree_bits;
    bool *is_contracted;
    int32_t *order;
} split_table;

int split_table_init(split_table *s, int32_t n_taxa);
void split_table_free(split_table *s); /* safe on a zeroed, half-built or freed one */

/* Adds all splits of a tree, including trivial ones; the decisions may have marks. length [2N-3]
 * may be NULL; NaN means unknown. A tree of weight 0 is ignored. ART_ERR_NOMEM, ART_ERR_LIMIT
 * beyond 2^31 splits. */
int split_table_add(split_table *s, const int32_t *decision, const double *length, double weight);

/* The same for a tree whose weight is known with a variance, independent of the others'. For
 * split_table_add that is the weight squared, as it is for independent weighted draws. */
int split_table_add_uncertain(split_table *s, const int32_t *decision, const double *length,
                              double weight, double variance);

/* The same for a tree that is not fully resolved: decision is one of its resolutions, of which the
 * branches with keeps [2N-3] are in the tree; those of single taxa must be. */
int split_table_add_collapsed(split_table *s, const int32_t *decision, const bool *keeps,
                              double weight);

/* Adds the distribution of another table on the same taxa, scaled to `weight` in all: frequencies
 * and lengths. What is known of its errors is not added: set `common`. */
int split_table_merge(split_table *s, const split_table *other, double weight);

/* The fields "splits.*" of a saved state. Loading replaces the contents of a table on the same
 * taxa; if it fails the table is empty. */
int split_table_fields(split_table *t, saved_state *s);

/* Clears all weights but keeps the lengths, so that frequencies can be computed from better
 * weights. */
void split_table_reset(split_table *s);

static inline const uint64_t *split_table_bits(const split_table *s, size_t i)
{
    return key_table_at(&s->keys, i);
}

/* The number of a split, KEY_NONE if it is not in the table. */
int64_t split_table_find(const split_table *s, const uint64_t *split);

/* Fraction of the trees that have the split; standard deviation of its branch length over the trees
 * that have one. */
double split_frequency(const split_table *s, size_t i);
double split_sd(const split_table *s, size_t i);

/* Standard error of the frequency P = W_i / W, computed from the variances of the weights of the
 * trees:
 *     sum over trees of variance * (has the split - P)^2 / W^2,
 * and from what trees have in common, which is added. */
double split_frequency_error(const split_table *s, size_t i);

/* Sets order [count] to the numbers of the splits in decreasing order of frequency; of equally
 * frequent splits larger ones come first, then the order is that of their bits, so that it does not
 * depend on the order of the trees. */
int split_table_order(size_t *order, const split_table *s);

/* Average (and largest, if not NULL) standard deviation of split frequencies between n >= 2
 * samples, as in MrBayes: over the nontrivial splits with a frequency of at least min_frequency in
 * one of the samples, with divisor n - 1. 0 if there is no such split. */
double split_deviation(double *largest, const split_table *const *sample, size_t n,
                       double min_frequency);

#endif
