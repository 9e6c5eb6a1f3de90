/* tree.h: one unrooted tree on known taxa, with its branch lengths.
 *
 * Converts the tree read from a text (tree/newick.h), and refuses nodes with a single child, taxa
 * that are unknown, missing or duplicated, and, unless they are allowed, polytomies and negative
 * branch lengths. The result does not depend on the position of the root or the order of the
 * subtrees in the text.
 *
 *     tree_labels labels;                      the meaning of the labels in the text
 *     tree_labels_init(&labels, &taxa, "the alignment");
 *     tree_builder b;                          working memory, reused for every tree
 *     status = tree_builder_init(&b, taxa.count);
 *     tree t;
 *     status = tree_init(&t, taxa.count);
 *     status = tree_build(&t, &b, &newick, &labels, &rules, &in, d);         for every tree */
#ifndef TREE_TREE_H
#define TREE_TREE_H

#include "tree/newick.h"
#include "tree/taxa.h"
#include "tree/topology.h"

typedef struct tree {
    int32_t n_taxa;    /* N */
    int32_t *decision; /* [N-3], the key of the topology, with marks if it has polytomies; owned */
    double *length;    /* [2N-3] by edge number; NaN where the text has none; owned */
    int32_t n_contracted; /* branches of the resolution that the tree does not have; their length is
                             0 if all others are known. 0 for a bifurcating tree */
    bool has_lengths;     /* none is NaN */
    bool was_rooted;      /* the text had a root with two children */
    bool has_negative;    /* lengths below 0, which were not used */
    bool has_weight;
    double weight; /* 1 if none was given */
} tree;

int tree_init(tree *t, int32_t n_taxa);
void tree_free(tree *t); /* safe on a zeroed, half-built or freed one */

/* The meaning of leaf labels: a token of a TRANSLATE table if there is such a token, otherwise the
 * name of a taxon. */
typedef struct tree_labels {
    const taxa *taxa;   /* borrowed */
    const char *from;   /* where the taxa come from, for messages: "the alignment"; borrowed */
    const taxa *listed; /* what tokens stand for, if that is not taxa itself; NULL or borrowed */
    int32_t *place;     /* [listed->count] the taxon of each of them, -1 if it is none; owned */
    taxa token;
    int32_t *meaning; /* [room] the number of each token in listed, or in taxa; owned */
    int32_t room;
    bool may_prune; /* messages about taxa that differ offer to use those in common */
} tree_labels;

void tree_labels_init(tree_labels *l, const taxa *names, const char *from);
void tree_labels_free(tree_labels *l); /* safe on a zeroed or freed one */

/* Defines the token as the taxon. ART_ERR_INPUT if the token is already defined. */
int tree_labels_add(tree_labels *l, const char *token, size_t length, int32_t taxon);

/* The taxon of a label, -1 if it is unknown. */
int32_t tree_labels_find(const tree_labels *l, const char *label, size_t length);

/* The name of the taxon that a label stands for, known or not: the label itself, or what its token
 * stands for. Its length is set. */
const char *tree_labels_name(const tree_labels *l, const char *label, size_t *length);

typedef struct tree_builder {
    topology topology; /* the last tree built, internal nodes in the order of the text */
    int32_t *block;    /* all the integers below; owned */
    int32_t *leaf;     /* [N] node of the text that is the taxon, -1 if not seen */
    int32_t *up;       /* [2N] parent of each node when the tree is rooted at taxon 0 */
    int32_t *id;       /* [2N] node of the text -> node of the topology */
    int32_t *edge;     /* [2N] node of the topology -> canonical edge */
    int32_t *scratch;  /* [6N] */
    double *length;    /* [2N] of the edge above each node of the text; owned */
} tree_builder;

int tree_builder_init(tree_builder *b, int32_t n_taxa);
void tree_builder_free(tree_builder *b); /* safe on a zeroed, half-built or freed one */

/* TREE_TOPOLOGY: the lengths are not used. TREE_LENGTHS: negative lengths are an error.
 * TREE_LENGTHS_KNOWN: negative lengths count as not known, for averages over trees. */
typedef enum tree_use { TREE_TOPOLOGY, TREE_LENGTHS, TREE_LENGTHS_KNOWN } tree_use;

typedef struct tree_rules {
    tree_use use;
    bool polytomies; /* are accepted: the decisions may have marks (tree/topology.h) */
} tree_rules;

/* Fills t from the text. A root with two children is removed and its two branches are joined.
 * Reports every unknown, repeated and missing taxon (ART_ERR_MISMATCH); ART_ERR_INPUT for other
 * errors. in is the text from which n was read. O(N). */
int tree_build(tree *t, tree_builder *b, const newick *n, const tree_labels *labels,
               const tree_rules *rules, const input *in, diag *d);

/* Sets leaf[taxon] to the node of the text for every taxon. Reports every unknown, repeated and
 * missing taxon (ART_ERR_MISMATCH). tree_build does this too. */
int tree_match_leaves(int32_t *leaf, const newick *n, const tree_labels *labels, const input *in,
                      diag *d);

/* Adds the names of the leaves to *names, in the order of the text, without duplicates.
 * ART_ERR_INPUT for one that is not UTF-8 or, if the labels have a list, not in it. */
int tree_collect_names(taxa *names, const newick *n, const tree_labels *labels, const input *in,
                       diag *d);

#endif
