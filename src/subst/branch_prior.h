/* branch_prior.h: the prior distribution of branch lengths: log density, derivatives, draws.
 *
 * A branch_prior is a plain value: copy it freely, there is nothing to free. There is one kind so
 * far, independent exponential lengths:
 *
 *     branch_prior prior = branch_prior_exponential(10);          mean 1 / 10
 *     branch_prior_draw(length, n_edges, prior, &stream);
 *     value = branch_prior_log_joint(prior, length, n_edges);     all branches of a tree
 *     slope = branch_prior_first(prior, length[e]);               one branch
 *
 * The log density of the n lengths of a tree is a sum of parts of one branch each,
 *
 *     log p(b_1 .. b_n) = sum_e h(b_e)
 *
 * and log_density, first and second are h, h' and h''. Code that needs the prior of a whole tree
 * calls branch_prior_log_joint and branch_prior_draw and never sums over branches itself, because
 * future kinds are not products over branches. The compound Dirichlet priors (Rannala, Zhu and Yang
 * 2012; "gamma-Dirichlet") have the form
 *
 *     log p(b_1 .. b_n) = sum_e h(b_e) + g(T),    T = sum_e b_e
 *
 * with h(b) = (alpha - 1) log b and g a function of the tree length T alone. To add one:
 *   1. add the kind and its parameters here; every switch over the kind is then a warning until
 *      it has the case;
 *   2. add g, g' and g'' as branch_prior_total_log_density, _first and _second of (prior, T, n),
 *      0 for independent kinds, and g to branch_prior_log_joint;
 *   3. where first and second are added to derivatives of the log-likelihood, add g'(T) to every
 *      entry of the gradient and g''(T) to every entry of the Hessian by the lengths. The places
 *      are branch_edge_inspect (which holds the other branches fixed: the solver keeps T),
 *      branch_hessian.c and the variational task;
 *   4. draw T and then the proportions in branch_prior_draw.
 * If alpha differs between external and internal branches, h also takes the kind of branch. */
#ifndef SUBST_BRANCH_PRIOR_H
#define SUBST_BRANCH_PRIOR_H

#include "base/rng.h"

#include <math.h>
#include <stdbool.h>

typedef enum branch_prior_kind {
    BRANCH_PRIOR_EXPONENTIAL, /* independent, p(b) = rate exp(-rate b) */
} branch_prior_kind;

typedef struct branch_prior {
    branch_prior_kind kind;
    double rate; /* 1 / mean */
} branch_prior;

static inline branch_prior branch_prior_exponential(double rate)
{
    return (branch_prior){BRANCH_PRIOR_EXPONENTIAL, rate};
}

/* Whether the parameters are valid: a finite rate above 0. */
bool branch_prior_is_valid(branch_prior prior);

/* The mean length of a branch. */
double branch_prior_mean(branch_prior prior);

/* h(b), b >= 0. */
double branch_prior_log_density(branch_prior prior, double b);

/* h'(b) and h''(b). */
static inline double branch_prior_first(branch_prior prior, double b)
{
    (void)b;
    switch (prior.kind) {
    case BRANCH_PRIOR_EXPONENTIAL:
        return -prior.rate;
    }
    return (double)NAN;
}

static inline double branch_prior_second(branch_prior prior, double b)
{
    (void)b;
    switch (prior.kind) {
    case BRANCH_PRIOR_EXPONENTIAL:
        return 0;
    }
    return (double)NAN;
}

/* The log density of all lengths of a tree, length [n]. O(n). */
double branch_prior_log_joint(branch_prior prior, const double *length, int n);

/* Draws all lengths of a tree, length [n]. */
void branch_prior_draw(double *length, int n, branch_prior prior, rng *stream);

#endif
