/* length_prior.h: the prior of branch lengths (subst/branch_prior.h) as a density of x
 * (length_scale.h). The derivatives need no separate code: those of branch_prior.h are added to
 * those of the likelihood and converted by length_scale_first and length_scale_second. */
#ifndef BRANCH_LENGTH_PRIOR_H
#define BRANCH_LENGTH_PRIOR_H

#include "branch/length_scale.h"
#include "subst/branch_prior.h"

/* branch_prior_log_density + length_scale_log_jacobian of one branch, with one logarithm: it is
 * evaluated for every branch of every draw. */
static inline double length_prior_log_density(branch_prior prior, double x)
{
    switch (prior.kind) {
    case BRANCH_PRIOR_EXPONENTIAL:
        return log(length_scale_density(prior.rate, x)) - length_scale_multiple(prior.rate, x);
    }
    return (double)NAN;
}

/* The same for all branches of a tree, x [n]. */
double length_prior_log_joint(branch_prior prior, const double *x, int n);

/* Draws the x [n] of all lengths of a tree. */
void length_prior_draw(double *x, int n, branch_prior prior, rng *stream);

#endif
