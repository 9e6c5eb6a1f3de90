/* stepwise.h: random starting trees by stepwise addition under parsimony: the taxa are added in
 * random order, each at the position with the lowest Fitch score, ties broken at random. Such trees
 * are good and differ from each other, as a search needs for its starting trees.
 *
 *     stepwise *s;
 *     status = stepwise_create(&s, &alignment, taxon);
 *     score = stepwise_tree(s, decision, rng_at(seed, RNG_START, step, index), NULL);
 *     stepwise_free(s);
 *
 * Gaps are missing data. With the sets of bases that Fitch's rule gives on both sides of every
 * branch, the cost of a taxon there is the number of sites at which its bases are not among those
 * of the merged sets; so one pass over the tree scores all positions. Sites are stored as bits. */
#ifndef PARS_STEPWISE_H
#define PARS_STEPWISE_H

#include "base/interrupt.h"
#include "base/rng.h"
#include "seq/alignment.h"

typedef struct stepwise stepwise;

/* Workspace of one thread. taxon[i] is the row of the alignment that is taxon i; NULL keeps the
 * order. The arguments are not referenced after the call. ART_ERR_USAGE for fewer than 3 taxa. */
int stepwise_create(stepwise **out, const alignment *a, const int *taxon);
void stepwise_free(stepwise *s); /* NULL is fine */

/* decision [N-3] of a random tree; returns its Fitch score. O(N^2 sites / 64). stop (may be NULL)
 * is looked at before every taxon; if it is due, ART_ERR_STOPPED, and decision is as it was. */
int64_t stepwise_tree(stepwise *s, int32_t *decision, rng stream, const interrupt *stop);

#endif
