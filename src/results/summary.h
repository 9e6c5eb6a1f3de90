/* summary.h: the files that summarize a sample of trees, the same for `summarize` and `infer`.
 *
 *     <prefix>.trprobs      distinct topologies, most probable first, as in MrBayes;
 *                           the first 100,000, and the probability not listed; if they are a
 *                           selection (tree_set.share), a comment says which share they have
 *     <prefix>.contree      consensus, Newick, supports from 0 to 1
 *     <prefix>.con.tre      the same with annotations as MrBayes has them, NEXUS, for FigTree
 *     <prefix>.map.nwk      the most probable topology
 *     <prefix>.splits.tsv   splits with frequency, mean and deviation of the length, and members;
 *                           with the standard error of the frequency if it is meaningful
 *
 * Branch lengths are means over the trees that have the branch, in the MAP tree too. */
#ifndef RESULTS_SUMMARY_H
#define RESULTS_SUMMARY_H

#include "tree/consensus.h"
#include "tree/tree_set.h"

/* The suffixes above, NULL at the end. */
extern const char *const SUMMARY_SUFFIXES[];

typedef struct summary_options {
    consensus_kind kind;
    bool errors; /* the weights have variances (splits.h), as for independent draws; the weights of
                    trees from files do not */
    const rooting *rooting; /* of all trees in the files; NULL: unrooted */
    const tree_rows *rows;  /* a sample for medians and intervals of branch lengths; may be NULL */
} summary_options;

/* Writes them all. trees is normalised (tree_set_normalise); splits holds the splits of the same
 * trees with the same weights. */
int summary_write(const char *prefix, const tree_set *trees, const split_table *splits,
                  const summary_options *o, diag *d);

/* Sets length [2N-3] to the mean length of each branch of a topology, NaN if unknown. */
int summary_lengths(double *length, const int32_t *decision, const split_table *splits);

/* The names of the smaller side of a split, separated by commas, quoted as in Newick text; if both
 * sides have the same size, the one without taxon 0. */
void summary_members(buffer *out, const uint64_t *split, const taxa *names);

#endif
