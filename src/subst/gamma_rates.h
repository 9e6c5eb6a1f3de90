/* gamma_rates.h: the discrete gamma distribution of rates among sites (Yang 1994).
 *
 * Rates are gamma distributed with shape alpha and mean 1; the distribution is divided at its
 * quantiles into n categories of equal probability, and the rate of each category is the mean
 * within it, as IQ-TREE and MrBayes do. */
#ifndef SUBST_GAMMA_RATES_H
#define SUBST_GAMMA_RATES_H

/* log Gamma(a), a > 0; lgamma itself writes a global. */
double log_gamma(double a);

/* d log Gamma(a) / d a, a > 0. Error below 1e-14 (1 + |value|). */
double digamma(double a);

/* P(a, x) = 1/Gamma(a) * integral from 0 to x of s^(a-1) e^-s ds, for a > 0, x >= 0.
 * Relative error below 1e-13 for a <= 1000. */
double gamma_below(double a, double x);

/* The x with P(a, x) = p, for 0 < p < 1; 0 if it is below the smallest double. */
double gamma_quantile(double a, double p);

/* rate[0 .. n-1], ascending, their mean 1. */
void gamma_rates(double *rate, int n, double alpha);

/* slope[0 .. n-1] = d rate / d alpha, for 1e-3 <= alpha <= 1e3. Their error is below 1e-9 of the
 * largest of them. */
void gamma_rate_slopes(double *slope, int n, double alpha);

#endif
