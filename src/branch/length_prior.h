/* length_prior.h: the prior of branch lengths (subst/branch_prior.h) as a density of x
 * (length_scale.h). The derivatives need no separate code: those of branch_prior.h are added to
 * those of the likelihood and converted by length_scale_first and length_scale_second. */
#ifndef BRANCH_LENGTH_PRIOR_H
#define BRANCH_LENGTH_PRIOR_H

#include "branch/length_scale.h"
#include "subst/branch_prior.h"

/* branch_prior_log_density + length_scale_log_jacobian of one branch, with one logarithm: it is
 * evaluated for every branch of every draw. */
static inline double length_prior_log_density(branch_prior prior, double x, branch_place place)
{
    switch (prior.kind) {
    case BRANCH_PRIOR_EXPONENTIAL:
        return log(length_scale_density(prior.rate, x)) - length_scale_multiple(prior.rate, x);
    case BRANCH_PRIOR_GAMMA_DIRICHLET:
        return length_scale_power_density(branch_prior_power(prior, place), x);
    }
    return (double)NAN;
}

/* The log density of the x [n] of all branches of a tree, whose top edge is given. */
double length_prior_log_joint(branch_prior prior, const double *x, int n, int top);

/* Draws the x [n] of all lengths of a tree. */
void length_prior_draw(double *x, int n, int top, branch_prior prior, rng *stream);

/* What a prior that couples the branches needs to know of all of them. With precision D_e of the
 * branches by themselves, without the part of g(T), the precision of all is D - g''(T) d d^T with
 * d = db/dx: a matrix of rank one more, of the sign that takes precision away if the tree length
 * has a smaller shape than the branches together. Its determinant is
 *
 *     prod D_e (1 - g''(T) sum d_e^2 / D_e)
 *
 * All 0 for priors of independent branches. */
typedef struct length_total {
    double length; /* T */
    double spread; /* sum d_e^2 / D_e: the variance of T under independent branches */
} length_total;

/* Adds a branch, or takes one away (sign -1). */
static inline void length_total_add(length_total *t, double x, double precision, double sign)
{
    t->length += sign * length_scale_length(x);
    t->spread += sign * length_scale_slope_square(x) / precision;
}

/* The logarithm of the bracket; 0 for independent branches. A bracket below LENGTH_BRACKET counts
 * as that: where the data say so little, no Laplace approximation is good, but this one stays
 * finite and varies little between trees. */
#define LENGTH_BRACKET 0.1
double length_total_determinant(branch_prior prior, length_total t, int n);

#endif
