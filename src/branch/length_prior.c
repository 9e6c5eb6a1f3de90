#include "branch/length_prior.h"

#include "tree/topology.h"

/* log db/dx at x is log db/dx at 1, plus 2 log x: the constants of all branches are taken together.
 */
double length_prior_log_joint(branch_prior prior, const double *x, int n, int top)
{
    switch (prior.kind) {
    case BRANCH_PRIOR_EXPONENTIAL: {
        double sum = n * log(length_scale_density(prior.rate, 1));
        for (int e = 0; e < n; e++)
            sum += 2 * log(x[e]) - length_scale_multiple(prior.rate, x[e]);
        return sum;
    }
    case BRANCH_PRIOR_GAMMA_DIRICHLET: {
        double sum = 0, total = 0;
        for (int e = 0; e < n; e++) {
            sum += length_prior_log_density(prior, x[e], branch_place_of(edge_is_external(e, top)));
            total += length_scale_length(x[e]);
        }
        return sum + branch_prior_total_log_density(prior, total, n);
    }
    }
    return (double)NAN;
}

void length_prior_draw(double *x, int n, int top, branch_prior prior, rng *stream)
{
    branch_prior_draw(x, n, top, prior, stream);
    for (int e = 0; e < n; e++)
        x[e] = length_scale_x(x[e]);
}

double length_total_determinant(branch_prior prior, length_total t, int n)
{
    const double bracket = 1 - branch_prior_total_second(prior, t.length, n) * t.spread;
    return log(fmax(bracket, LENGTH_BRACKET));
}
