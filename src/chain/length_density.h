/* length_density.h: the posterior density h of the length of one branch, as its cube root x, with
 * everything else of the tree held; and the normal distribution near it from which x is proposed.
 *
 *     length_density h;
 *     status = branch_edge_init(&h.edge, &problem);
 *     length_density_fit(&h, below, above, BRANCH_INTERNAL, rest);
 *     x = h.mode + h.deviation * rng_normal(&r);
 *     log_ratio = length_density_ratio(&h, x);
 *     branch_edge_free(&h.edge); */
#ifndef CHAIN_LENGTH_DENSITY_H
#define CHAIN_LENGTH_DENSITY_H

#include "branch/branch_edge.h"

typedef struct length_density {
    branch_edge edge;
    branch_place place;
    double rest; /* the lengths of the others together, if the prior asks */
    double mode, deviation;
    double log_weight; /* log of the integral of h, about */
} length_density;

/* h of a branch between two partials. The normal distribution is a function of these alone, so that
 * a move and its reverse have the same. */
void length_density_fit(length_density *h, const partial *below, const partial *above,
                        branch_place place, double rest);

/* log h, less the log-likelihood. */
double length_density_prior(const length_density *h, double x);

/* log of the density from which x is proposed. */
double length_density_proposal(const length_density *h, double x);

/* log h(x), less that. */
double length_density_ratio(length_density *h, double x);

#endif
