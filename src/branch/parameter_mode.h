/* parameter_mode.h: the joint mode of branch lengths and free parameters of one topology.
 *
 * The density is f(x, z) of branch_posterior.h. With the lengths at their mode for given
 * parameters, phi(z) = max_x f(x, z) is a function of the few parameters alone, and its gradient is
 * that of f by z at these lengths: the lengths need not be looked at. phi is climbed by a
 * quasi-Newton method (BFGS) that starts from a covariance of z: the one that good topologies have
 * in common, or a rough one far from the mode.
 *
 *     parameter_mode *q;
 *     status = parameter_mode_create(&q, &problem);                   one per thread
 *     status = parameter_mode_find(q, decision, length, z, covariance, 1e-3);
 *     parameter_mode_spread(q, covariance);                           at the mode, if wanted
 *     parameter_mode_free(q);
 *
 * Nothing is allocated after create. */
#ifndef BRANCH_PARAMETER_MODE_H
#define BRANCH_PARAMETER_MODE_H

#include "branch/branch_solver.h"
#include "branch/parameter_slopes.h"

typedef struct parameter_mode {
    branch_posterior view; /* the problem with its own parameters; the solver's */
    branch_solver *solver;
    parameter_slopes *slopes;
    double *by_length;  /* [E] */
    double *start;      /* [E] x from which a trial step sets out */
    double *other;      /* [E] gradient on the other side of a difference */
    double *z;          /* [p] */
    double *slope;      /* [p] of phi at z */
    double log_density; /* phi at z */
    double tolerance;   /* of the lengths, nats */
    int evaluations;    /* of phi, since create */
    /* Of the search. */
    double *inverse, *scratch; /* [p][p] */
    double *step;              /* [p] */
    double *from, *from_slope; /* [p] where the step sets out, and the slope there */
    double *trial;             /* [p] where it leads */
    double *change;            /* [p] of the slope, downhill */
} parameter_mode;

/* The problem, which has free parameters, is borrowed. */
int parameter_mode_create(parameter_mode **out, const branch_posterior *problem);
void parameter_mode_free(parameter_mode *q); /* NULL is fine */

/* Bytes that one allocates for a problem. */
size_t parameter_mode_memory(const branch_posterior *problem);

/* Finds the mode for decision [N-3] from length [E] and z [p], which become those of the mode, to
 * `tolerance` nats in lengths and parameters each. covariance [p][p], positive definite, is what
 * the search sets out with. ART_ERR_NUMERIC if there is no mode to be found, ART_ERR_STOPPED if the
 * solver's stop was due: q->z is then the best point that was reached, with q->log_density, -inf if
 * there is none. */
int parameter_mode_find(parameter_mode *q, const int32_t *decision, double *length, double *z,
                        const double *covariance, double tolerance);

/* The same from the topology and the lengths that the solver has; z [p] is where it starts. The
 * mode is left in q and its solver. */
int parameter_mode_improve(parameter_mode *q, const double *z, const double *covariance,
                           double tolerance);

/* covariance [p][p] of z at the mode, lengths integrated out as in a normal distribution: the
 * inverse of minus the second derivatives of phi, by differences. 2 p fits of the lengths. 0 if
 * these are not negative definite; the diagonal alone is then used where it is. */
int parameter_mode_spread(parameter_mode *q, double *covariance);

/* The second derivatives of f at the lengths that the solver has and at z [p], by differences of
 * the gradient: mixed [p][E] by a parameter and a length, own [p][p] by two parameters. 2 p
 * gradients. The parameters of the solver are then elsewhere. ART_ERR_STOPPED if its stop was
 * due. */
int parameter_mode_second(parameter_mode *q, double *mixed, double *own, const double *z);

/* The gradient of f by x [E] and z [p] at the lengths and parameters that the solver has; refreshes
 * its partials. */
void parameter_mode_gradient(parameter_mode *q, double *by_x, double *by_z, const double *z);

#endif
