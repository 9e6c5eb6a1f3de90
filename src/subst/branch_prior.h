/* branch_prior.h: the prior distribution of branch lengths: log density, derivatives, draws.
 *
 * A branch_prior is a plain value: copy it freely, there is nothing to free. There are two kinds:
 *
 *     branch_prior_exponential(10)                    independent, mean 1 / 10
 *     branch_prior_gamma_dirichlet(1, 0.1, 1, 1)      the compound Dirichlet prior of Rannala, Zhu
 *                                                     and Yang 2012: GammaDir(a_T, b_T, a, c)
 *
 * Under the second the length T of the tree has a gamma distribution with shape a_T and rate b_T,
 * and the shares of the branches in it are Dirichlet distributed, with a for external branches and
 * a c for internal ones, so that c is the ratio of the mean lengths of internal and external
 * branches. GammaDir(E, rate, 1, 1) of a tree with E branches is the same as Exp(rate).
 *
 *     branch_prior_draw(length, n, top, prior, &stream);
 *     value = branch_prior_log_joint(prior, length, n, top);        all branches of a tree
 *
 * The log density of the n lengths of a tree is
 *
 *     log p(b_1 .. b_n) = sum_e h(b_e) + g(T),    T = sum_e b_e
 *
 * with log_density, first and second for h, h' and h'', which take the place of the branch, and
 * total_log_density, total_first and total_second for g, g' and g''. Independent kinds have g = 0
 * (branch_prior_is_coupled is false, and nobody needs to know T). The derivative by a length is
 * h'(b_e) + g'(T); the matrix of second derivatives has g''(T) in every entry and h''(b_e) on the
 * diagonal. Code that needs the density of a whole tree calls branch_prior_log_joint.
 *
 * n = 2N - 3 is the number of branches of a tree of N taxa. top is the edge to taxon 0
 * (tree/topology.h), which tells with the numbers of the edges which of them are external. */
#ifndef SUBST_BRANCH_PRIOR_H
#define SUBST_BRANCH_PRIOR_H

#include "base/rng.h"

#include <math.h>
#include <stdbool.h>

typedef enum branch_prior_kind {
    BRANCH_PRIOR_EXPONENTIAL,     /* p(b) = rate exp(-rate b) */
    BRANCH_PRIOR_GAMMA_DIRICHLET, /* GammaDir(shape, rate, alpha, ratio) */
} branch_prior_kind;

typedef struct branch_prior {
    branch_prior_kind kind;
    double rate; /* 1 / mean of a branch; b_T, of the tree length */
    /* Gamma-Dirichlet. */
    double shape; /* a_T */
    double alpha; /* a */
    double ratio; /* c */
} branch_prior;

typedef enum branch_place { BRANCH_EXTERNAL, BRANCH_INTERNAL } branch_place;

static inline branch_place branch_place_of(bool is_external)
{
    return is_external ? BRANCH_EXTERNAL : BRANCH_INTERNAL;
}

static inline branch_prior branch_prior_exponential(double rate)
{
    return (branch_prior){.kind = BRANCH_PRIOR_EXPONENTIAL, .rate = rate};
}

static inline branch_prior branch_prior_gamma_dirichlet(double shape, double rate, double alpha,
                                                        double ratio)
{
    return (branch_prior){BRANCH_PRIOR_GAMMA_DIRICHLET, rate, shape, alpha, ratio};
}

/* Whether the parameters are valid: finite and above 0. Of the gamma-Dirichlet, a and a c are above
 * 1/3, because the density of the cube root of a length has no maximum otherwise
 * (branch/length_scale.h), and a_T is at least 0.1, because a tree drawn with a smaller one may
 * have a length that is 0 in double precision. */
bool branch_prior_is_valid(branch_prior prior);

/* Whether the lengths depend on each other: g is not 0. */
static inline bool branch_prior_is_coupled(branch_prior prior)
{
    return prior.kind != BRANCH_PRIOR_EXPONENTIAL;
}

/* The mean length of a branch of a tree with n, over all of them. */
double branch_prior_mean(branch_prior prior, int n);

/* alpha - 1 of h(b) = (alpha - 1) log b, for the gamma-Dirichlet. */
static inline double branch_prior_power(branch_prior prior, branch_place place)
{
    return (place == BRANCH_EXTERNAL ? prior.alpha : prior.alpha * prior.ratio) - 1;
}

/* h(b), b >= 0. */
double branch_prior_log_density(branch_prior prior, double b, branch_place place);

/* h'(b) and h''(b). */
static inline double branch_prior_first(branch_prior prior, double b, branch_place place)
{
    switch (prior.kind) {
    case BRANCH_PRIOR_EXPONENTIAL:
        return -prior.rate;
    case BRANCH_PRIOR_GAMMA_DIRICHLET:
        return branch_prior_power(prior, place) / b;
    }
    return (double)NAN;
}

static inline double branch_prior_second(branch_prior prior, double b, branch_place place)
{
    switch (prior.kind) {
    case BRANCH_PRIOR_EXPONENTIAL:
        return 0;
    case BRANCH_PRIOR_GAMMA_DIRICHLET:
        return -branch_prior_power(prior, place) / (b * b);
    }
    return (double)NAN;
}

/* g(T), g'(T) and g''(T) of a tree with n branches. */
double branch_prior_total_log_density(branch_prior prior, double total, int n);
double branch_prior_total_first(branch_prior prior, double total, int n);
double branch_prior_total_second(branch_prior prior, double total, int n);

/* The log density of all lengths of a tree, length [n]. O(n). */
double branch_prior_log_joint(branch_prior prior, const double *length, int n, int top);

/* Draws all lengths of a tree, length [n]. */
void branch_prior_draw(double *length, int n, int top, branch_prior prior, rng *stream);

#endif
