/* length_proposal.h: a normal distribution over a topology's branch lengths on the scale x of
 * length_scale.h: the proposal from which lengths are drawn, centred at the mode of their
 * posterior.
 *
 *     q(x) = (2 pi)^(-E/2) det(A)^(1/2) exp(-(x - mode)^T A (x - mode) / 2)
 *
 * The precision A is minus the Hessian of f (branch_posterior.h), or its diagonal. Where the
 * Hessian of a poor mode is not negative definite, the matrix of correlations of A is mixed with
 * the unit matrix, C -> (1 - shrink) C + shrink 1, with the least shrink of 0, 0.001, 0.01, 0.1,
 * 0.5, 1 that makes it positive definite. With 1 only the diagonal is left, which is always
 * positive definite.
 *
 * A draw with a negative x does not correspond to any lengths: it has weight 0, and the estimate
 * remains unbiased. */
#ifndef BRANCH_LENGTH_PROPOSAL_H
#define BRANCH_LENGTH_PROPOSAL_H

#include "base/rng.h"

typedef struct length_proposal {
    int n_edges;     /* E */
    int diagonal;    /* only the diagonal of factor is used */
    double *mode;    /* [E] */
    double *factor;  /* [E][E], lower triangle: A = factor factor^T */
    double log_peak; /* log q(mode) */
    double shrink;
} length_proposal;

int length_proposal_init(length_proposal *g, int n_edges);
void length_proposal_free(length_proposal *g); /* safe on a zeroed one */

/* A = diag(curvature), curvature [E] positive. O(E). */
void length_proposal_set_diagonal(length_proposal *g, const double *mode, const double *curvature);

/* A = -hessian [E][E], which is left unchanged; curvature [E], positive, replaces the entries of
 * its diagonal that are not positive. O(E^3 / 6). */
void length_proposal_set(length_proposal *g, const double *mode, const double *hessian,
                         const double *curvature);

/* Draws x [E] and returns log q(x). scratch [E]. O(E^2 / 2), diagonal O(E). */
double length_proposal_draw(double *x, const length_proposal *g, rng *r, double *scratch);

/* log q(x). O(E^2 / 2). */
double length_proposal_log_density(const length_proposal *g, const double *x);

/* v [E] becomes A^-1 v. O(E^2), diagonal O(E). */
void length_proposal_solve(double *v, const length_proposal *g);

#endif
