/* objective.h: the multi-sample bound and the coefficients of its gradient.
 *
 * With K particles of log weight
 *
 *     w_i = log p(data, tree_i, b_i) - log q(tree_i) - log q(b_i | tree_i),
 *     bound = log (1/K) sum_i exp(w_i),     s_i = softmax(w)_i = d bound / d w_i.
 *
 * Training minimises -E[bound]. Branch lengths are reparametrised, so their gradient is that of
 * -bound itself. The gradient over the trees' parameters needs a score function:
 *
 *     VIMCO   d loss / d log q(tree_i) = s_i - (bound - control_i)
 *     RWS     d loss / d log q(tree_i) = -s_i
 *
 * control_i is the bound with particle i replaced by an estimate from the others: their geometric
 * mean (in log space, the mean of the other w), or left out, which is equivalent to replacing it by
 * their arithmetic mean. */
#ifndef TRAIN_OBJECTIVE_H
#define TRAIN_OBJECTIVE_H

typedef enum estimator {
    ESTIMATOR_VIMCO_GEOMETRIC,
    ESTIMATOR_VIMCO_ARITHMETIC,
    ESTIMATOR_RWS
} estimator;

/* log sum_i exp(x[i]); -inf for n = 0 or when all are -inf. */
double log_sum_exp(const double *x, int n);

/* bound of k >= 1 log weights. */
double objective_bound(const double *log_weight, int k);

/* Returns the bound and writes, for k particles (k >= 2 for VIMCO, k >= 1 for RWS),
 *   share[i]       = s_i; the derivative of -bound by w_i is -share[i],
 *   dloss_dlogq[i] as above.
 * k = 1 with VIMCO is refused: returns NaN. */
double objective_gradient(double *share, double *dloss_dlogq, const double *log_weight, int k,
                          estimator kind);

#endif
