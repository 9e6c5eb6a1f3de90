/* importance_weights.h: diagnostics of the reliability of importance weights. */
#ifndef TRAIN_IMPORTANCE_WEIGHTS_H
#define TRAIN_IMPORTANCE_WEIGHTS_H

/* Effective sample size (sum w)^2 / sum w^2 of n log weights; between 1 and n. */
double weights_ess(const double *log_weight, int n);

/* Shape k of a generalised Pareto distribution fitted to the largest weights (Vehtari, Simpson,
 * Gelman, Yao and Gabry: Pareto smoothed importance sampling; the fit is that of Zhang and Stephens
 * 2009 with their weak prior on k). Below 0.7 the mean of the weights is reliable; at 1 and above
 * it is meaningless. The tail is the min(n/5, 3 sqrt(n)) largest. Too few weights (n < 25) give
 * +inf, a tail without spread gives -inf. scratch [n] is overwritten. O(n log n). */
double weights_pareto_k(const double *log_weight, double *scratch, int n);

#endif
