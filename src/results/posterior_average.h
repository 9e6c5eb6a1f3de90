/* posterior_average.h: the posterior averaged over substitution models, each with its posterior
 * probability: trees, splits, rows of the sample and parameters.
 *
 *     posterior_part part[] = {{&first, &hky, 0.7, 0.02, 1}, {&second, &gtr, 0.3, 0.03, 2}};
 *     status = posterior_average(&all, part, 2, 1000, seed);
 *     posterior_free(&all);
 *
 * Rows are those of the models, as many of each as its probability says, in random order. The
 * errors of splits also have the errors of the models' probabilities.
 *
 * A parameter is averaged over all models for which it has a value, estimated or not: equal
 * frequencies are 1/4, pinvar is 0 without +I, exchange rates sum to 1, and kappa is 1 where all
 * rates are equal. What is missing in some models, alpha without +G and kappa where rates are not
 * those of HKY, is given the others (posterior_column_share). Only what one of the models estimates
 * is a column; exchange rates only if one has more of them than kappa. */
#ifndef RESULTS_POSTERIOR_AVERAGE_H
#define RESULTS_POSTERIOR_AVERAGE_H

#include "results/posterior.h"

/* One model; all borrowed. */
typedef struct posterior_part {
    const posterior *posterior; /* finished, with branch lengths */
    const free_model *model;
    double weight; /* its probability; they sum to 1 */
    double error;  /* standard error of its log evidence; NaN counts as 0 */
    int number;    /* by which rows name it */
} posterior_part;

/* part [n], n >= 1, on the same taxa; rows of the sample. *out is finished, and safe to free in any
 * case. */
int posterior_average(posterior *out, const posterior_part *part, int n, int rows, uint64_t seed);

#endif
