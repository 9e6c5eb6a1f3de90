/* parameter_likelihood.h: the branch lengths and free parameters of one topology at which the
 * likelihood is greatest. Priors and Jacobians do not enter; parameter_mode.h is the posterior.
 *
 * With the lengths at their best for given parameters, phi(z) = max_b log L(b, z) is a function of
 * the few parameters alone, and its gradient is that of log L by z at these lengths. phi is climbed
 * by a quasi-Newton method (BFGS) inside the box of free_model_bounds: a coordinate at an edge that
 * phi would leave is held there. Lengths are fitted by sweeps of Newton steps in y = sqrt(b): for
 * k changes on a branch of n sites log L is nearly k log b - n b, which is concave in y and, for
 * k = 0, a parabola with its maximum at 0. For the same reason the steps of parameters whose
 * coordinate is the cube root of a ratio are made in u, its square root: the way to a rate of 0 is
 * short.
 *
 * Flat directions end no search early: sweeps of the lengths that gain little each are continued in
 * the direction in which they go, and before a precise search ends it looks at the second
 * derivatives of phi themselves.
 *
 *     parameter_likelihood *q;
 *     status = parameter_likelihood_create(&q, &problem);             one per thread
 *     parameter_likelihood_forget(q);                                 for a new tree
 *     status = parameter_likelihood_find(q, decision, length, z, 1e-7);
 *     ... q->log_likelihood ...
 *     parameter_likelihood_free(q);
 *
 * This is a local search: tree_optimum.h starts several. Nothing is allocated after create. */
#ifndef BRANCH_PARAMETER_LIKELIHOOD_H
#define BRANCH_PARAMETER_LIKELIHOOD_H

#include "branch/branch_solver.h"
#include "branch/parameter_slopes.h"

/* Lengths stay between these. A branch without a change is as good as 0 at the shorter: it costs
 * less than 1e-4 nats on 10,000 sites. */
#define LIKELIHOOD_SHORTEST 1e-8
#define LIKELIHOOD_LONGEST  BRANCH_LONGEST

typedef struct parameter_likelihood {
    branch_posterior view; /* the problem with its own parameters; the solver's */
    branch_solver *solver;
    parameter_slopes *slopes;
    double *by_length;     /* [E] of log L at the maximum */
    double *start;         /* [E] cube roots of lengths from which a trial step sets out */
    double *earlier;       /* [E] what the last sweep has changed of sqrt(length) */
    double *z;             /* [p] */
    double *u;             /* [p] the same: z^(3/2) of cube roots, z of others */
    double *slope;         /* [p] of phi by u */
    double *low, *high;    /* [p] of u */
    int *is_root;          /* [p] which are cube roots: those that must be positive */
    double *inverse;       /* [p][p] of minus the second derivatives by u, as far as searches have
                              learned them .. */
    int is_rough;          /* .. which they have not yet */
    double log_likelihood; /* phi at z */
    double tolerance;      /* of the lengths, in nats */
    int evaluations;       /* of phi, since create */
    /* Of the search. */
    double *second, *scratch;  /* [p][p] */
    double *step;              /* [p] */
    double *from, *from_slope; /* [p] u where a step or a trial sets out, and the slope there */
    double *trial;             /* [p] u where it leads */
    double *trial_z;           /* [p] z there */
    double *change;            /* [p] of the slope, downhill */
    int *is_held;              /* [p] coordinates that do not move */
} parameter_likelihood;

/* The problem is borrowed; it may have no free parameters. */
int parameter_likelihood_create(parameter_likelihood **out, const branch_posterior *problem);
void parameter_likelihood_free(parameter_likelihood *q); /* NULL is fine */

/* Forgets the second derivatives that earlier searches have learned. Without this a search depends
 * on those before it. */
void parameter_likelihood_forget(parameter_likelihood *q);

/* Climbs for decision [N-3] from length [E] and z [p], which become those of the maximum, until a
 * step promises less than `tolerance` nats. ART_ERR_NUMERIC if the data are impossible where it
 * starts. */
int parameter_likelihood_find(parameter_likelihood *q, const int32_t *decision, double *length,
                              double *z, double tolerance);

/* The same for the lengths alone, at z. */
int parameter_likelihood_fit(parameter_likelihood *q, const int32_t *decision, double *length,
                             const double *z, double tolerance);

#endif
