/* interval.h: median and highest posterior density interval of a sample.
 *
 *     interval i;
 *     status = interval_of(&i, value, NULL, n, 0.95); */
#ifndef BASE_INTERVAL_H
#define BASE_INTERVAL_H

#include <stddef.h>

typedef struct interval {
    double mean, median;
    double low, high; /* the shortest interval with at least the share of the weight that was asked
                         for: the HPD interval, if the density has one peak */
} interval;

/* Of value [n] with weight [n], both unchanged; weight NULL: all equal. All are NaN without values
 * or weight. The median is the mean of two values where the weight divides between them.
 * ART_ERR_NOMEM. O(n log n). */
int interval_of(interval *out, const double *value, const double *weight, size_t n, double share);

#endif
