#include "branch/length_prior.h"

/* log db/dx at x is log db/dx at 1, plus 2 log x: the constants of all branches are taken together.
 */
double length_prior_log_joint(branch_prior prior, const double *x, int n)
{
    switch (prior.kind) {
    case BRANCH_PRIOR_EXPONENTIAL: {
        double sum = n * log(length_scale_density(prior.rate, 1));
        for (int e = 0; e < n; e++)
            sum += 2 * log(x[e]) - length_scale_multiple(prior.rate, x[e]);
        return sum;
    }
    }
    return (double)NAN;
}

void length_prior_draw(double *x, int n, branch_prior prior, rng *stream)
{
    branch_prior_draw(x, n, prior, stream);
    for (int e = 0; e < n; e++)
        x[e] = length_scale_x(x[e]);
}
