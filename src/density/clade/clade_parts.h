/* clade_parts.h: the inside of a density of clades, shared by the files of this folder:
 *
 *     clade_density.c  the counts: clades, their splits, their splits beside sisters
 *     clade_expand.c   splits into clades that were seen, but not together
 *     clade_fit.c      probabilities from counts
 *     clade_tree.c     log q of a tree and draws
 *     clade_summary.c  passes over the graph
 *     clade_best.c     the k best trees
 *     clade_rogue.c    what the entropy would be without a taxon
 *     clade_file.c     the counts in a model file */
#ifndef DENSITY_CLADE_CLADE_PARTS_H
#define DENSITY_CLADE_CLADE_PARTS_H

#include "base/key_table.h"
#include "density/clade/clade_density.h"
#include "density/clade/clade_key.h"

#include <math.h>
#include <stdbool.h>

typedef struct clade {
    int32_t size;   /* taxa */
    int32_t low;    /* the first of them */
    uint32_t split; /* the first one seen; means nothing for a single taxon */
    double weight;  /* of the trees that have it */
} clade;

typedef struct clade_split {
    uint32_t clade;
    uint32_t part[2]; /* clades, the lesser number first */
    double weight;    /* 0 where the two parts were not seen together */
} clade_split;

/* A clade beside its sister is one side of the split above it: the context 2 * split + side. */
typedef struct clade_pair {
    uint32_t context;
    uint32_t split;
} clade_pair;

/* A clade that is to be split when a tree is drawn. Its taxa have places first .. first + size - 1
 * of scratch.taxa, and are there where it was not seen. */
typedef struct clade_item {
    int64_t clade;   /* KEY_NONE where it was not seen */
    int64_t context; /* KEY_NONE where there is none */
    int32_t first, size;
    int32_t parent, side; /* where it hangs in scratch.tree */
} clade_item;

struct clade_density {
    int32_t n_taxa;
    clade_kind kind;
    double total;         /* weight of the trees .. */
    double squares;       /* .. and sum of the squares */
    clade_key *taxon_key; /* [N] */
    double *log_rooted;   /* [N+1] log (2m-3)!!, the rooted trees of m taxa */

    key_table clade_keys; /* clade_key */
    clade *clade;         /* [clade_room] */
    size_t clade_room;
    key_table split_keys; /* uint32_t [2]: the clade and its lesser part */
    clade_split *split;   /* [split_room] */
    size_t split_room;
    key_table pair_keys; /* clade_pair; CCD2, clades of three and more taxa */
    double *pair_weight; /* [pair_room] */
    size_t pair_room;
    clade_scratch scratch; /* of the tree that is added */

    /* What fit makes of it. */
    bool fitted;
    clade_smoothing used;
    size_t *split_begin;  /* [clades+1]: of clade c, split_list[split_begin[c] ..] */
    uint32_t *split_list; /* [splits] */
    double *split_sum;    /* [splits] by place: sum of p over the splits of the clade up to here */
    double *p;            /* [splits] by split: that it is seen, or of the first share of p0 .. */
    double *beyond;     /* [clades] .. and b(C), so that their sum is 1 - b (share[1] + share[2]) */
    uint32_t *by_size;  /* [clades] small ones first */
    size_t *pair_begin; /* [2 splits + 1]: of a context */
    uint32_t *pair_list; /* [pairs] */
    double *pair_sum;    /* [pairs] by place */
    double *pair_p;      /* [pairs] by pair: the part of p(s | C, S) that is its own .. */
    double *backoff;     /* [2 splits] .. and b(C, S) */
};

static inline clade_key clade_key_at(const clade_density *d, int64_t c)
{
    return ((const clade_key *)(const void *)d->clade_keys.key)[c];
}

/* The number of the split of clade c that has part a of its two parts a, b; KEY_NONE also where one
 * of them is none. */
static inline int64_t split_find(const clade_density *d, int64_t c, int64_t a, int64_t b)
{
    if (c < 0 || a < 0 || b < 0)
        return KEY_NONE;
    uint32_t key[2] = {(uint32_t)c, (uint32_t)(a < b ? a : b)};
    return key_table_find(&d->split_keys, key);
}

/* The context of clade a, whose parent is split as s; KEY_NONE where there is none. */
static inline int64_t context_of(const clade_density *d, int64_t s, int64_t a)
{
    return s < 0 || a < 0 || d->kind != CLADE_CCD2 ? KEY_NONE
                                                   : 2 * s + (d->split[s].part[0] != (uint32_t)a);
}

/* log of the probability of a split into parts of a and b taxa in a uniformly drawn tree. */
static inline double log_any(const clade_density *d, int32_t a, int32_t b)
{
    return d->log_rooted[a] + d->log_rooted[b] - d->log_rooted[a + b];
}

/* log (exp a + exp b); either may be that of 0. */
static inline double log_add(double a, double b)
{
    double most = fmax(a, b);
    return isinf(most) ? most : most + log1p(exp(fmin(a, b) - most));
}

/* What the core has of p(. | C). */
static inline double core_mass(const clade_density *d, int64_t c)
{
    return 1 - d->beyond[c] * (d->used.share[1] + d->used.share[2]);
}

/* What the core has of p(. | C, S). */
static inline double core_mass_beside(const clade_density *d, int64_t context, int64_t c)
{
    return 1 - d->backoff[context] * (1 - core_mass(d, c));
}

/* The probability that an interchange at clade c makes {x, {y1, y2}} of it: from {{x, y1}, y2} or
 * {{x, y2}, y1}, two steps in the core of clades without sisters, a choice of the part that is
 * split and one of two ways to join. */
double interchange_probability(const clade_density *d, int64_t c, int64_t x, int64_t y1,
                               int64_t y2);

/* Room for so many more clades, splits and pairs. */
int clade_density_reserve(clade_density *d, size_t clades, size_t splits, size_t pairs);

/* The number of the clade, which is added with weight 0 if it is new; room is reserved. */
size_t clade_put(clade_density *d, clade_key key, int32_t size, int32_t low);

/* The number of the split, which is added with weight 0 if it is new; room is reserved. */
size_t clade_split_put(clade_density *d, size_t c, size_t a, size_t b);

/* Adds the splits whose parts were seen apart. */
int clade_expand(clade_density *d);

/* The taxa of clade c, as a list [size]. O(size). */
void clade_taxa(int32_t *taxa, const clade_density *d, size_t c);

/* By what the two parts of a clade are chosen to be split again: a part of one taxon is not. */
static inline double part_chance(int32_t size, int32_t other)
{
    return size < 2 ? 0 : other < 2 ? 1 : 0.5;
}

#endif
