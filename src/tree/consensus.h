/* consensus.h: consensus trees, with nodes of any degree.
 *
 *     consensus c;
 *     status = consensus_build(&c, &splits, CONSENSUS_MAJORITY);
 *     consensus_write_newick(&out, &c, &taxa);
 *     consensus_free(&c); */
#ifndef TREE_CONSENSUS_H
#define TREE_CONSENSUS_H

#include "base/buffer.h"
#include "base/interval.h"
#include "tree/rooting.h"
#include "tree/splits.h"
#include "tree/tree.h"
#include "tree/tree_sample.h"

/* STRICT has the splits found in all trees, MAJORITY those found in more than half of them.
 * EXTENDED then adds, in decreasing order of frequency, every split that is compatible with those
 * already included. */
typedef enum consensus_kind {
    CONSENSUS_STRICT,
    CONSENSUS_MAJORITY,
    CONSENSUS_EXTENDED
} consensus_kind;

typedef struct consensus_node {
    int32_t parent;   /* -1 for node 0 */
    int32_t taxon;    /* -1 for an inner node */
    double support;   /* frequency of the split of the branch above; NaN if unknown */
    double length;    /* mean length of that branch; NaN if unknown */
    double length_sd; /* NaN if unknown */
    interval range;   /* median and 95 % HPD interval of the length; NaN if unknown */
} consensus_node;

/* Node 0 is the internal node next to taxon 0, or the root. Parents come before children, subtrees
 * one after another by their smallest taxon: the order in which the tree is written. */
typedef struct consensus {
    int32_t n_taxa;
    int32_t count;
    bool is_rooted;       /* by consensus_root: node 0 has two children, the outgroup first */
    consensus_node *node; /* [count]; owned */
} consensus;

/* From a table with at least one tree. Splits with equal frequencies are taken in the order of
 * split_table_order. */
int consensus_build(consensus *c, const split_table *splits, consensus_kind kind);

/* From the text of a tree (tree_file_next_text): a consensus tree that was written before, or any
 * other tree with nodes of more than two children. Support is the annotation `prob`, or otherwise
 * the label of an internal node if it is a number. *c is always safe to free. */
int consensus_from_newick(consensus *c, const newick *n, const tree_labels *labels, const input *in,
                          diag *d);

/* From one topology, the decisions possibly with marks; length [2N-3] may be NULL. Supports are
 * unknown. *c is always safe to free. */
int consensus_from_topology(consensus *c, const topology *t, const int32_t *decision,
                            const double *length);

void consensus_free(consensus *c); /* safe on a zeroed or freed one */

/* Fills the ranges from trees that have lengths. Before consensus_root. ART_ERR_NOMEM. */
int consensus_add_ranges(consensus *c, const tree_rows *rows);

/* Roots the tree (tree/rooting.h), once; r may be NULL. Both branches at the root have the support
 * of the branch that they were. Without branch lengths there is no midpoint, and the tree stays as
 * it is. *is_clade, unless NULL, becomes false if the outgroup is not monophyletic in the tree.
 * ART_ERR_NOMEM. O(N). */
int consensus_root(consensus *c, const rooting *r, bool *is_clade);

/* Newick with names, supports (0 to 1) as labels of internal nodes, and branch lengths where
 * known. */
void consensus_write_newick(buffer *out, const consensus *c, const taxa *names);

/* The same without supports, with so many digits of lengths (0: as many as needed to read back
 * exactly); names NULL: the numbers 1..N of the taxa. */
void consensus_write_plain(buffer *out, const consensus *c, const taxa *names, int digits);

/* A NEXUS file in the form of MrBayes' .con.tre, for FigTree: TAXA block, TRANSLATE, and one tree,
 * called name, with the annotations prob, prob(percent), length_mean, length_sd and, where they are
 * known, length_median and length_95%HPD. */
void consensus_write_nexus(buffer *out, const consensus *c, const taxa *names, const char *name);

#endif
