#include "train/importance_weights.h"

#include "train/objective.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FEWEST_WEIGHTS = 25, FEWEST_IN_TAIL = 5 };

double weights_ess(const double *log_weight, int n)
{
    double total = log_sum_exp(log_weight, n), squares = 0;
    for (int i = 0; i < n; i++) {
        double share = exp(log_weight[i] - total);
        squares += share * share;
    }
    return 1 / squares;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* For given theta = -k / sigma the likeliest k is the mean of log(1 - theta x). */
static double best_shape(const double *x, int n, double theta)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += log1p(-theta * x[i]);
    return sum / n;
}

/* Zhang and Stephens' quasi-Bayesian estimate: theta averaged over a grid with weights
 * proportional to the profile likelihood. x ascending, all > 0. */
static double pareto_shape(const double *x, int n)
{
    enum { MAX_GRID = 200 };
    int grid = 30 + (int)sqrt(n);
    if (grid > MAX_GRID)
        grid = MAX_GRID;
    double quartile = x[(int)(n / 4.0 + 0.5) - 1];
    double theta[MAX_GRID], profile[MAX_GRID] = {0};
    for (int j = 0; j < grid; j++) {
        theta[j] = 1 / x[n - 1] + (1 - sqrt(grid / (j + 0.5))) / (3 * quartile);
        double k = best_shape(x, n, theta[j]);
        profile[j] = n * (log(-theta[j] / k) - k - 1);
    }
    double total = log_sum_exp(profile, grid), mean = 0;
    for (int j = 0; j < grid; j++)
        mean += theta[j] * exp(profile[j] - total);
    double k = best_shape(x, n, mean);
    return (k * n + 5) / (n + 10); /* their prior: ten observations at k = 1/2 */
}

double weights_pareto_k(const double *log_weight, double *scratch, int n)
{
    if (n < FEWEST_WEIGHTS)
        return INFINITY;
    int tail = (int)ceil(fmin(0.2 * n, 3 * sqrt(n)));
    memcpy(scratch, log_weight, (size_t)n * sizeof *scratch);
    qsort(scratch, (size_t)n, sizeof *scratch, ascending);
    double top = scratch[n - 1], cut = exp(scratch[n - tail - 1] - top);
    double *x = scratch + n - tail;
    for (int i = 0; i < tail; i++)
        x[i] = exp(x[i] - top) - cut;
    int first = 0; /* an exceedance of zero says nothing about the tail */
    while (first < tail && x[first] <= 0)
        first++;
    if (tail - first < FEWEST_IN_TAIL)
        return -INFINITY;
    return pareto_shape(x + first, tail - first);
}
