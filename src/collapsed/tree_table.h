/* tree_table.h: the topologies that were visited, with the data of each: the mode of its branch
 * lengths and its evidence g with the lengths integrated out.
 *
 *     tree_table t;
 *     status = tree_table_init(&t, n_taxa, capacity);
 *     int64_t i = tree_table_find(&t, decision);
 *     if (i < 0)
 *         status = tree_table_add(&t, &i, &entry);
 *     tree_table_free(&t);
 *
 * The key is the decisions (tree/topology.h). The table holds at most `capacity` trees: when it
 * is full, those with the least laplace go, one in set.evicted_part of all, and from then on
 * nothing at or below them is taken. Entries keep their order; their numbers change only when trees
 * go (the count of `evicted` tells). What it holds depends on what was added in which order and on
 * nothing else. */
#ifndef COLLAPSED_TREE_TABLE_H
#define COLLAPSED_TREE_TABLE_H

#include "base/hash_index.h"
#include "collapsed/settings.h"
#include "io/saved_state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bits of `mark`; not used by the table itself. */
enum {
    TREE_EXPANDED = 1,  /* its nearest neighbours were examined */
    TREE_WIDENED = 2,   /* its neighbours by subtree moves too */
    TREE_PEAK = 4,      /* a climb ended here, or shaking of another peak */
    TREE_DRAWN = 8,     /* it was given from outside, not found as a neighbour */
    TREE_UNFITTED = 16, /* laplace is an approximate score; the lengths are not yet the mode */
    TREE_SHAKEN = 32,   /* peaks around it were looked for */
};

typedef struct tree_table {
    int n_taxa;
    size_t n_decisions; /* per tree, N - 3 */
    size_t n_edges;     /* 2N - 3 */
    table_settings set; /* the defaults, but for the capacity */
    size_t count;
    int32_t *decision; /* [count][N-3] */
    float *length;     /* [count][E] the mode */
    double *laplace;   /* [count] diagonal Laplace approximation: the same measure for all */
    double
        *log_evidence; /* [count] the best estimate; laplace + offset until there is a better one */
    float *error;      /* [count] standard error of g; -1 if it is laplace + offset */
    double offset;     /* the mean error of laplace: tree_table_set_offset */
    uint8_t *mark;     /* [count] */
    double floor;      /* trees that were evicted had at most this; -inf while there are none */
    int64_t evicted;   /* trees that had to go */
    int64_t refused;   /* trees that were not added because of floor */
    size_t room;       /* of the arrays */
    hash_index index;  /* of the decisions */
} tree_table;

/* One tree, for tree_table_add. */
typedef struct tree_entry {
    const int32_t *decision; /* [N-3] */
    const double *length;    /* [E] */
    double laplace;
    uint8_t mark;
} tree_entry;

/* capacity is at least 8 and below 2^31. */
int tree_table_init(tree_table *t, int n_taxa, size_t capacity);
void tree_table_free(tree_table *t); /* safe on a zeroed one */

/* Removes all trees and gives their memory back. */
void tree_table_clear(tree_table *t);

/* Bytes per tree. */
size_t tree_table_bytes(int n_taxa);

/* Number of trees that fit into this many bytes, at least 1000. */
size_t tree_table_capacity(int n_taxa, double bytes);

/* -1 if it is not there. */
int64_t tree_table_find(const tree_table *t, const int32_t *decision);

/* Adds a tree that is not yet in the table; *at becomes its number, or -1 if it was refused or
 * evicted immediately. ART_ERR_NOMEM leaves the table as it was. Amortised O(N). */
int tree_table_add(tree_table *t, int64_t *at, const tree_entry *e);

static inline const int32_t *tree_table_decision(const tree_table *t, size_t i)
{
    return t->decision + i * t->n_decisions;
}

/* Replaces lengths [E] and laplace of tree i, and g if it was no better than laplace. */
void tree_table_update(tree_table *t, size_t i, const double *length, double laplace);

/* Sets what is added to laplace for all trees without a better estimate. O(count). */
void tree_table_set_offset(tree_table *t, double offset);

/* The lengths [E] of tree i in double. */
void tree_table_lengths(double *length, const tree_table *t, size_t i);

/* Frees the memory of the lengths, more than half of the total. Afterwards lengths must not be
 * requested and trees must not be added. */
void tree_table_forget_lengths(tree_table *t);

/* log sum exp g over the trees that have all the bits `with` and none of `without`; -inf if there
 * are none. With 0, 0: the evidence of the table, without the prior of a topology. O(count). */
double tree_table_log_sum(const tree_table *t, uint8_t with, uint8_t without);

/* The number of the tree with the greatest g; -1 if there is none. O(count). */
int64_t tree_table_best(const tree_table *t);

/* The whole table as fields "table.*" of a saved state. Loading replaces the contents; if it fails
 * the table is empty. */
int tree_table_fields(tree_table *t, saved_state *s);

#endif
