/* newick.h: one tree as written in Newick text: rooted or not, with nodes of any degree.
 *
 *     newick t;
 *     newick_init(&t);
 *     nexus words;
 *     nexus_init(&words, &in, NEWICK_PUNCTUATION, d);
 *     status = newick_read(&t, &words);          reads up to and including the ';'
 *     newick_free(&t);
 *
 * The reader uses no stack other than the nodes themselves, so nesting is limited only by memory.
 * Labels and annotations point into the text that was read and live as long as it does. Whether the
 * tree can be used by the program is checked later (tree/tree.h). */
#ifndef TREE_NEWICK_H
#define TREE_NEWICK_H

#include "io/nexus.h"

#include <stdbool.h>
#include <stdint.h>

enum { NEWICK_MAX_LABEL = 1 << 16 }; /* bytes; longer labels are refused */
#define NEWICK_MAX_WEIGHT 1e100      /* so that sums of weights stay finite */

typedef struct newick_node {
    int32_t parent;        /* -1 for the root */
    int32_t n_children;    /* 0 for a leaf */
    const char *from;      /* where the node begins, for messages */
    const char *label;     /* as in the text, NULL if there is none */
    uint32_t label_length; /* '' in a quoted label counts as two bytes, a line break as one */
    bool quoted;
    bool has_length;
    double length;
    const char *note; /* after the [& of the annotation before the length; NULL if none */
} newick_node;

typedef enum newick_rooting { NEWICK_UNSAID, NEWICK_ROOTED, NEWICK_UNROOTED } newick_rooting;

typedef struct newick {
    newick_node *node; /* [count]; parents before children, node 0 is the root */
    int32_t count;
    int32_t room;
    char *plain;    /* [NEWICK_MAX_LABEL + 1] a label without its quotes; NULL until needed */
    int32_t joined; /* a node whose bare label goes on in the next line; -1 if none does */
    newick_rooting rooting; /* [&R], [&U] */
    bool has_weight;        /* [&W 0.25] or [&W 1/4] before the tree */
    double weight;          /* 0 .. NEWICK_MAX_WEIGHT; 1 if none is given */
} newick;

void newick_init(newick *t);
void newick_free(newick *t); /* safe on a zeroed, half-built or freed one */

/* Reads only what precedes a tree: [&U], [&W w] and other comments; n is then at the tree itself.
 * newick_read does this too. */
int newick_read_head(newick *t, nexus *n);

/* Reads one tree, reusing the memory of the previous one. ART_ERR_INPUT if the text is not Newick,
 * ART_ERR_NOMEM, ART_ERR_LIMIT; the message goes to the diag of n. Linear in the text. */
int newick_read(newick *t, nexus *n);

/* Removes the leaves i with drop[i] [count] and what is left without leaves; of a node that keeps a
 * single child the two branches become one. The order stays; nothing is left if all are dropped.
 * ART_ERR_NOMEM. O(count). */
int newick_prune(newick *t, const bool *drop);

/* The label as plain text, '' turned into ', without line breaks, and its length. The text does not
 * end with a NUL, and may change with the next call. */
const char *newick_label(const newick *t, const newick_node *node, size_t *length);

/* The number after `key=` in the annotation; false if there is none. */
bool newick_annotation(double *value, const newick_node *node, const char *key);

#endif
