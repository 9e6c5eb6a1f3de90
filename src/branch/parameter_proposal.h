/* parameter_proposal.h: the distribution from which the free parameters z of a topology are drawn,
 * and how its branch lengths follow them.
 *
 * At the joint mode of f(x, z) (branch_posterior.h) the posterior is nearly normal in both. With
 * the precision A of x given z (length_proposal.h), H the second derivatives of f by x and z,
 *
 *     z ~ centre + noise of covariance S,    S^-1 = -(H_zz + H_zx B),   B = A^-1 H_xz
 *     x | z ~ the proposal of the lengths, its mode moved by B (z - mode)
 *
 * The noise is normal, and for a share of the draws multivariate t with few degrees of freedom:
 * parameters about which the data say little have longer tails than a normal distribution.
 *
 *     parameter_proposal p;
 *     status = parameter_proposal_init(&p, n_edges, n_free);
 *     parameter_proposal_set(&p, z, h_xz, h_zz, &lengths, spread);
 *     log_q = parameter_proposal_draw(z, &p, &stream);
 *     parameter_proposal_shift(shift, &p, z);              what the mode of x moves by
 *     parameter_proposal_free(&p); */
#ifndef BRANCH_PARAMETER_PROPOSAL_H
#define BRANCH_PARAMETER_PROPOSAL_H

#include "branch/length_proposal.h"

typedef struct parameter_proposal {
    int n_edges, n_free;
    double *mode;    /* [p] */
    double *centre;  /* [p] of the noise: the mode, or the mean */
    double *factor;  /* [p][p], S^-1 = factor factor^T */
    double *follow;  /* [p][E] B, by parameter */
    double *scratch; /* [p][p] */
    double log_peak; /* log of the normal density at the mode */
    int is_common;   /* S is that of all topologies: wanted, or not positive definite of its own */
} parameter_proposal;

int parameter_proposal_init(parameter_proposal *p, int n_edges, int n_free);
void parameter_proposal_free(parameter_proposal *p); /* safe on a zeroed one */

/* At the mode z [p]: mixed [p][E] = H_xz by parameter, own [p][p] = H_zz; `lengths` is set for the
 * same mode. spread [p][p] is the covariance that is used if S is not positive definite. */
void parameter_proposal_set(parameter_proposal *p, const double *z, const double *mixed,
                            const double *own, const length_proposal *lengths,
                            const double *spread);

/* The same with the covariance `spread` [p][p], positive definite, for S: that of all topologies.
 * mixed may be of another one (parameter_reference.h). */
void parameter_proposal_set_common(parameter_proposal *p, const double *z, const double *mixed,
                                   const length_proposal *lengths, const double *spread);

/* Moves the centre from the mode to the mean, if that is where f has the slopes by_z [p] and by_x
 * [E] on average over the proposal: by S (by_z + B^T by_x), LENGTH_MOST_SHIFT standard deviations
 * at most (settings.h). */
void parameter_proposal_move(parameter_proposal *p, const double *by_z, const double *by_x);

/* z [p], in standard deviations from the mode, becomes that place: mode + factor^-T z. */
void parameter_proposal_place(double *z, const parameter_proposal *p);

/* Draws z [p]. */
void parameter_proposal_draw(double *z, const parameter_proposal *p, rng *stream);

/* log density of z [p]. */
double parameter_proposal_log_density(const parameter_proposal *p, const double *z);

/* shift [E] = B (z - mode). */
void parameter_proposal_shift(double *shift, const parameter_proposal *p, const double *z);

#endif
