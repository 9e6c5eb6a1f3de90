/* fit_targets.h: a subset of trees that represents the whole table, used to fit the network and to
 * compare it with the table.
 *
 * A table of a million trees may have half of its weight in trees that are individually negligible.
 * So trees with large weights are all included, and the others are sampled systematically: in
 * decreasing order of weight, one tree in each of equal intervals of their cumulative weight
 * represents the weight of the interval. (Optimal resampling, Fearnhead and Clifford 2003, J. R.
 * Stat. Soc. B 65:887, but with the middle of the intervals instead of a random point, so the
 * choice depends only on the table.) */
#ifndef COLLAPSED_FIT_TARGETS_H
#define COLLAPSED_FIT_TARGETS_H

#include "collapsed/tree_table.h"
#include "density/topology_model.h"

typedef struct fit_targets {
    size_t count;
    int32_t *decision; /* [count][N-3] */
    double *weight;    /* [count], decreasing; their sum is 1 */
    double *log_p;     /* [count] the table's own log-probabilities */
} fit_targets;

/* At most `most` trees. O(trees log trees) time, 16 bytes per tree in addition to the result. */
int fit_targets_choose(fit_targets *f, const tree_table *t, size_t most);
void fit_targets_free(fit_targets *f); /* safe on a zeroed one */

/* KL(table || q), estimated with at most `most` of the trees. */
int fit_targets_gap(double *gap, const fit_targets *f, topology_model *q, size_t most);

/* For trees with decreasing weights, those that represent all: their numbers, in order, and the
 * weights that they represent. Returns how many: count if that is not more than `most`, else
 * `most`, or one less because of rounding. */
size_t fit_targets_thin(size_t *kept, double *stands_for, const double *weight, size_t count,
                        size_t most);

#endif
