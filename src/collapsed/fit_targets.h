/* fit_targets.h: a number of trees that stand for the whole table, for the network to be fitted
 * to and compared with.
 *
 * A table of a million trees may have half of its weight in trees of which none matters alone.
 * So the heavy trees stand for themselves, and of the others, by falling weight, one in each of
 * equal steps of their sum stands for the weight of the step. (Optimal resampling, Fearnhead and
 * Clifford 2003, J. R. Stat. Soc. B 65:887, but with the middle of the steps instead of a random
 * place: the choice is the table's alone.) */
#ifndef COLLAPSED_FIT_TARGETS_H
#define COLLAPSED_FIT_TARGETS_H

#include "collapsed/tree_table.h"
#include "density/topology_model.h"

typedef struct fit_targets {
    size_t count;
    int32_t *decision; /* [count][N-3] */
    double *weight;    /* [count], falling; their sum is 1 */
    double *log_p;     /* [count] the table's own log-probabilities */
} fit_targets;

/* At most `most` trees. O(trees log trees) time, 16 bytes a tree besides the result. */
int fit_targets_choose(fit_targets *f, const tree_table *t, size_t most);
void fit_targets_free(fit_targets *f); /* safe on a zeroed one */

/* KL(table || q), estimated with at most `most` of the trees. */
int fit_targets_gap(double *gap, const fit_targets *f, topology_model *q, size_t most);

/* Of trees with falling weights, those that stand for all: their numbers, in order, and what they
 * stand for. Returns how many: count if that is not more than `most`, else `most`, or one
 * less where rounding makes it so. */
size_t fit_targets_thin(size_t *kept, double *stands_for, const double *weight, size_t count,
                        size_t most);

#endif
