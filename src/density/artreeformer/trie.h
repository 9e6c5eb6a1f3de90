/* trie.h: partial trees by the decisions that lead to them.
 *
 * An entry is a partial tree: its parent entry plus one decision. The trees of a batch that begin
 * with the same decisions share entries, and the distribution over the next decision is kept once
 * per entry. With weights that do not change, entries may be kept from batch to batch as a cache.
 *
 *     trie_clear(&t);                             the root: the tree on three taxa
 *     child = trie_child(&t, TRIE_ROOT, edge);    NONE if there is none
 *     child = trie_add(&t, TRIE_ROOT, edge);      room must be reserved
 *     trie_set(&t, child, logit);                 its distribution
 *     edge = trie_choose(&t, child, u);
 *
 * The number of an entry is valid until trie_clear or trie_evict. Parents come before their
 * children. */
#ifndef ARTREEFORMER_TRIE_H
#define ARTREEFORMER_TRIE_H

#include "base/real.h"
#include "tree/topology.h"

#include <math.h>
#include <stddef.h>

enum { TRIE_NONE = -1, TRIE_ROOT = 0 };

typedef struct trie_entry {
    int32_t parent;
    int32_t decision; /* edge of the parent's tree to which the last taxon was attached */
    int32_t leaves;   /* n; the distribution is over 2n-3 edges */
    int32_t slot;     /* for use by the caller: initially TRIE_NONE */
    int32_t mark;     /* the same */
    uint32_t hits;    /* number of trie_choose and trie_log_prob calls for this entry */
    size_t first;     /* of its edges in the arrays below */
    double log_total; /* log of the sum of exp(logit); NaN before trie_set */
} trie_entry;

typedef struct trie {
    int n_taxa;
    size_t n_entries, room_entries;
    size_t n_edges, room_edges;
    trie_entry *entry; /* [entries] */
    int32_t *child;    /* [edges]: the child entry of an edge, or TRIE_NONE */
    real *logit;       /* [edges] */
    double *sum;       /* [edges]: sum of exp(logit - largest) up to and including this edge */
    real power;        /* of the probabilities: logits are multiplied with it on their way in */
    int width;         /* of the state of a node, 0 if nodes have none */
    real *state;       /* [edges + entries][width]: for use by the caller; see trie_state */
} trie;

/* width: how many numbers every node of a partial tree carries to the next step; 0 for none. */
void trie_init(trie *t, int n_taxa, int width);
void trie_free(trie *t); /* safe on a zeroed or freed one */

/* Makes room for this many entries and edges in total, keeping the contents; never shrinks. */
int trie_reserve(trie *t, size_t entries, size_t edges);
size_t trie_bytes(size_t entries, size_t edges, int width);

/* The maximum that one complete tree adds. */
static inline size_t trie_tree_entries(int n_taxa)
{
    return (size_t)(n_taxa - 3);
}

static inline size_t trie_tree_edges(int n_taxa)
{
    return (size_t)(n_taxa - 3) * (size_t)(n_taxa - 1);
}

/* Only the root, without distribution. There must be room for it. */
void trie_clear(trie *t);

/* Keeps the most frequently used entries, at most `edges` edges and `entries` entries, and their
 * ancestors, which were used at least as often. Halves all counts. */
void trie_evict(trie *t, size_t entries, size_t edges);

static inline int32_t trie_child(const trie *t, int32_t entry, int32_t edge)
{
    return t->child[t->entry[entry].first + (size_t)edge];
}

/* Adds the child entry of an edge that has none. */
int32_t trie_add(trie *t, int32_t entry, int32_t edge);

/* The row of an entry's first node, of 2n-2, in arrays that have rows for the nodes of all entries;
 * and its state in the trie, [2n-2][width], which stays with the entry. Entries with numbers that
 * follow each other have rows that follow each other. */
static inline size_t trie_row(const trie *t, int32_t entry)
{
    return t->entry[entry].first + (size_t)entry;
}

static inline real *trie_state(const trie *t, int32_t entry)
{
    return t->state + trie_row(t, entry) * (size_t)t->width;
}

/* Sets the distribution of an entry from logits [2n-3], raised to the trie's power; needed before
 * the two below. */
void trie_set(trie *t, int32_t entry, const real *logit);

static inline int trie_is_set(const trie *t, int32_t entry)
{
    return !isnan(t->entry[entry].log_total);
}

/* The edge at which the cumulative distribution, in the order of the edges, passes u in
 * (0, 1): the first e with p_0 + .. + p_e > u. Never an edge of probability 0. O(log n). */
int32_t trie_choose(trie *t, int32_t entry, double u);

static inline double trie_log_prob(trie *t, int32_t entry, int32_t edge)
{
    trie_entry *e = &t->entry[entry];
    e->hits += e->hits < UINT32_MAX;
    return (double)t->logit[e->first + (size_t)edge] - e->log_total;
}

/* dlogit [2n-3]: the gradient of sum_e weight_e log p_e, which is weight_e - p_e sum(weight). */
void trie_gradient(real *dlogit, const trie *t, int32_t entry, const double *weight);

/* Builds the partial tree of an entry. path has room for N numbers. O(n). */
void trie_tree(topology *tree, const trie *t, int32_t entry, int32_t *path);

/* Adds the missing entries of a tree, decisions [N-3]; room must be reserved. */
void trie_insert(trie *t, const int32_t *decision);

#endif
