/* length_proposal.h: the proposal from which a topology's branch lengths are drawn, on the scale x
 * of length_scale.h: a normal distribution at the mode of their posterior, or one that is moved to
 * where their mean is and skewed as they are.
 *
 *     q(x) = (2 pi)^(-E/2) det(A)^(1/2) exp(-(x - mode)^T A (x - mode) / 2)
 *
 * The precision A is minus the Hessian of f (branch_posterior.h), or its diagonal. Where the
 * Hessian of a poor mode is not negative definite, the matrix of correlations of A is mixed with
 * the unit matrix, C -> (1 - shrink) C + shrink 1, with the least shrink of 0, 0.001, 0.01, 0.1,
 * 0.5, 1 that makes it positive definite. With 1 only the diagonal is left, which is always
 * positive definite.
 *
 * Skewed (length_proposal_skew; docs/collapsed.md, "Hundreds of branches"), with y normal of
 * precision A around 0, and V_e the variance of y_e,
 *
 *     x_e = centre_e + (exp(k_e y_e - k_e^2 V_e / 2) - 1) / k_e
 *
 * which has the mean centre_e, and to first order in k_e a density with the third derivative
 * 3 k_e A_ee along the branch.
 *
 * A draw with a negative x does not correspond to any lengths: it has weight 0, and the estimate
 * remains unbiased. */
#ifndef BRANCH_LENGTH_PROPOSAL_H
#define BRANCH_LENGTH_PROPOSAL_H

#include "base/rng.h"

typedef struct length_proposal {
    int n_edges;     /* E */
    int diagonal;    /* only the diagonal of factor is used */
    double *centre;  /* [E] mode, or mean where it is skewed */
    double *skew;    /* [E] k; 0: none */
    double *offset;  /* [E] k^2 V / 2 */
    double *factor;  /* [E][E], lower triangle: A = factor factor^T */
    double *scratch; /* [E] */
    double log_peak; /* log of the normal density at its peak */
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

/* Moves the centre by shift [E] and skews every branch by skew [E], within LENGTH_MOST_SHIFT and
 * LENGTH_MOST_SKEW (settings.h). Once after it was set. O(E^3 / 2), diagonal O(E). */
void length_proposal_skew(length_proposal *g, const double *shift, const double *skew);

/* Draws x [E] and returns log q(x). O(E^2 / 2), diagonal O(E). */
double length_proposal_draw(double *x, const length_proposal *g, rng *r);

/* log q(x). O(E^2 / 2). */
double length_proposal_log_density(const length_proposal *g, const double *x);

/* v [E] becomes factor^-T v: with v standard normal a normal variable of precision A. O(E^2 / 2),
 * diagonal O(E). */
void length_proposal_spread(double *v, const length_proposal *g);

/* v [E] becomes A^-1 v. O(E^2), diagonal O(E). */
void length_proposal_solve(double *v, const length_proposal *g);

#endif
