#include "train/objective.h"

#include <math.h>

double log_sum_exp(const double *x, int n)
{
    double top = -INFINITY, sum = 0;
    for (int i = 0; i < n; i++)
        top = fmax(top, x[i]);
    if (isinf(top) && top < 0)
        return top;
    for (int i = 0; i < n; i++)
        sum += exp(x[i] - top);
    return top + log(sum);
}

double objective_bound(const double *log_weight, int k)
{
    return log_sum_exp(log_weight, k) - log(k);
}

/* The sum over the others is taken anew for each particle: subtracting the particle's own
 * weight from the whole sum would cancel when it dominates. */
static double control(const double *w, int k, int own, estimator kind)
{
    double top = -INFINITY, sum = 0, mean = 0;
    for (int j = 0; j < k; j++)
        if (j != own) {
            top = fmax(top, w[j]);
            mean += w[j] / (k - 1);
        }
    for (int j = 0; j < k; j++)
        if (j != own)
            sum += exp(w[j] - top);
    if (kind == ESTIMATOR_VIMCO_ARITHMETIC)
        return top + log(sum) - log(k - 1);
    return top + log(sum + exp(mean - top)) - log(k);
}

double objective_gradient(double *share, double *dloss_dlogq, const double *log_weight, int k,
                          estimator kind)
{
    if (k < 1 || (k < 2 && kind != ESTIMATOR_RWS))
        return NAN;
    double total = log_sum_exp(log_weight, k), bound = total - log(k);
    for (int i = 0; i < k; i++) {
        share[i] = exp(log_weight[i] - total);
        dloss_dlogq[i] = kind == ESTIMATOR_RWS
                             ? -share[i]
                             : share[i] - (bound - control(log_weight, k, i, kind));
    }
    return bound;
}
