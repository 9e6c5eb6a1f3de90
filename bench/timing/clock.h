/* clock.h: the middle and the spread of repeated measurements. */
#ifndef TIMING_CLOCK_H
#define TIMING_CLOCK_H

typedef struct spread {
    double lower, median, upper; /* quartiles */
} spread;

/* Sorts value [n], n >= 1. */
spread spread_of(double *value, int n);

/* The exponent b of the power law a x^b that fits best in logarithms; n >= 2 different x. */
double power_law(const double *x, const double *y, int n);

#endif
