/* rooting.h: where a tree is rooted when it is written or drawn. Trees themselves are unrooted.
 *
 *     rooting r;
 *     status = rooting_outgroup(&r, &taxa, "Tarsius,Lemur", d);     or
 *     rooting_midpoint(&r);
 *     status = consensus_root(&c, &r, &is_clade);                   (tree/consensus.h)
 *     rooting_free(&r);
 *
 * With an outgroup, the root is in the middle of the branch that separates it from the other taxa;
 * in a tree without such a branch (the outgroup is not monophyletic), in the middle of the branch
 * of the taxon that was named first. The midpoint is the middle of the longest path between two
 * taxa. */
#ifndef TREE_ROOTING_H
#define TREE_ROOTING_H

#include "base/buffer.h"
#include "tree/splits.h"
#include "tree/taxa.h"

typedef enum rooting_kind { ROOT_NOWHERE, ROOT_OUTGROUP, ROOT_MIDPOINT } rooting_kind;

/* All zero: trees stay unrooted. */
typedef struct rooting {
    rooting_kind kind;
    int32_t n_taxa;
    int32_t count;  /* taxa of the outgroup */
    int32_t *taxon; /* [count] in the order in which they were named; owned */
} rooting;

/* list: names separated by commas, or @FILE with one name per line. ART_ERR_USAGE for a name that
 * is not among the taxa or is given twice, for an empty list, and for all of the taxa. *r is always
 * safe to free. */
int rooting_outgroup(rooting *r, const taxa *names, const char *list, diag *d);
void rooting_midpoint(rooting *r);
void rooting_free(rooting *r); /* safe on a zeroed or freed one */

/* Fraction of the trees in which the outgroup is monophyletic; 1 for a single taxon, NaN if there
 * is no outgroup. */
double rooting_support(const rooting *r, const split_table *splits);

/* What the figures say: "rooted with the outgroup A, B (posterior probability 0.93)", "rooted at
 * the midpoint", "unrooted". */
void rooting_describe(buffer *out, const rooting *r, const taxa *names, const split_table *splits);

#endif
