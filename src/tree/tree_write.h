/* tree_write.h: trees as Newick and NEXUS text.
 *
 * An unrooted tree is written with the trifurcation at the internal node next to taxon 0, taxon 0
 * last: (A,B,taxon 0). Equal topologies give equal texts; decisions with marks are written as the
 * tree with polytomies that they stand for. Names are quoted where they need it and
 * never changed.
 *
 *     buffer out;
 *     buffer_init(&out);
 *     tree_writer w;
 *     status = tree_writer_init(&w, &taxa);
 *     tree_write_newick(&out, &w, decision, length);       (((..;
 *     tree_write_begin(&out, &taxa);                       or a NEXUS file: TRANSLATE 1..N
 *     tree_write_tree(&out, &w, "tree_1", &weight, decision, length);
 *     tree_write_end(&out);
 *     tree_writer_free(&w);
 *     status = buffer_status(&out); */
#ifndef TREE_TREE_WRITE_H
#define TREE_TREE_WRITE_H

#include "base/buffer.h"
#include "tree/rooting.h"
#include "tree/taxa.h"
#include "tree/topology.h"

typedef struct tree_writer {
    const taxa *taxa; /* borrowed */
    topology topology;
    bool *is_contracted;    /* [2N-3] by edge; owned */
    const rooting *rooting; /* of the trees; NULL (initially): unrooted. Borrowed */
    size_t not_clades;      /* trees written so far in which the outgroup is not monophyletic */
    int digits; /* significant digits of lengths; 0 (initially): as many as needed to read back
                   exactly */
} tree_writer;

/* At least three taxa, otherwise ART_ERR_USAGE. */
int tree_writer_init(tree_writer *w, const taxa *names);
void tree_writer_free(tree_writer *w); /* safe on a zeroed or freed one */

/* The tree with names and its ';'. length [2N-3] may be NULL; NaN is left out. O(N). */
void tree_write_newick(buffer *out, tree_writer *w, const int32_t *decision, const double *length);

/* "#NEXUS", and a TREES block up to its TRANSLATE table of the numbers 1..N. */
void tree_write_begin(buffer *out, const taxa *names);

/* One line of the block, with numbers for the taxa: `tree NAME = [&U] ...;`, [&R] if it is rooted,
 * and
 * `[&W w]` with a weight if that is not NULL. */
void tree_write_tree(buffer *out, tree_writer *w, const char *name, const double *weight,
                     const int32_t *decision, const double *length);

/* One line as in MrBayes' .trprobs: the probability p of the tree and the sum P of those so
 * far, `tree tree_<number> [p = .., P = ..] = [&W w] ...;`. Small ones keep their digits: 1.2e-09.
 */
void tree_write_probability(buffer *out, tree_writer *w, size_t number, double p, double sum,
                            const int32_t *decision);

void tree_write_end(buffer *out);

#endif
