/* log_mean.h: the running mean of positive numbers given by their logarithms, such as importance
 * weights, with its standard error and the effective sample size.
 *
 *     log_mean m = {0};
 *     log_mean_add(&m, log_weight);               -INFINITY is a weight of 0
 *     double estimate = log_mean_value(&m);
 *
 * A plain value, nothing to free. Adding in the same order gives the same bits. */
#ifndef BASE_LOG_MEAN_H
#define BASE_LOG_MEAN_H

#include <stdbool.h>
#include <stdint.h>

typedef struct log_mean {
    int64_t count;
    double top;     /* the largest logarithm so far, if sum > 0 */
    double sum;     /* of exp(logarithm - top) */
    double squares; /* of exp(2 (logarithm - top)) */
} log_mean;

void log_mean_add(log_mean *m, double logarithm);

/* Adds everything that was added to other. */
void log_mean_merge(log_mean *m, const log_mean *other);

/* log of the mean; -inf if all were 0 or none was added. */
double log_mean_value(const log_mean *m);

/* Standard error of that logarithm: the standard deviation of the numbers over their mean and over
 * sqrt(count), which is the error of the mean carried over to its logarithm. +inf with fewer than
 * two numbers or a mean of 0. */
double log_mean_error(const log_mean *m);

/* (sum w)^2 / sum w^2; 0 if all were 0. */
double log_mean_ess(const log_mean *m);

#endif
