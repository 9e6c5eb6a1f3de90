/* topology_evidence.h: the evidence of one topology, with its branch lengths integrated out:
 *
 *     exp g = integral of likelihood(b) prior(b) over the lengths b
 *
 * by three methods of increasing accuracy. All start from the mode of the density in x
 * (branch_posterior.h), where the posterior is nearly normal:
 *
 *   diagonal Laplace  f(mode) + sum 1/2 log(2 pi / h_e): no cost beyond the mode; ranks trees
 *   full Laplace      f(mode) + E/2 log(2 pi) - 1/2 log det A, A the precision
 *   sampling          the mean of exp(f(x) - log q(x)), x drawn from the proposal q: unbiased
 *                     for exp g, with a standard error
 *
 * The proposal is the normal distribution at the mode mixed with the prior, which gets 1 / (2 E)
 * of the draws (prior_draws / E, settings.h). No weight is then larger than 2 E times the
 * greatest likelihood: the variance is finite whatever the data. That matters where there are
 * few sites, and costs next to nothing where there are many.
 *
 *     topology_evidence *t;
 *     status = topology_evidence_create(&t, &problem);            one per thread
 *     status = topology_evidence_mode(t, decision, length, BRANCH_TOLERANCE);
 *     g = t->laplace;                                             diagonal
 *     topology_evidence_proposal(t, EVIDENCE_FULL);
 *     g = t->full_laplace;
 *     log_mean m = {0};
 *     rng stream = rng_at(seed, RNG_TREE_LENGTHS, step, tree);
 *     topology_evidence_sample(t, &m, (length_draws){0}, 100, stream);
 *     g = log_mean_value(&m), error = log_mean_error(&m);
 *     topology_evidence_free(t);
 *
 * With free parameters (branch_posterior.h) the evidence has them integrated out too. The mode and
 * the diagonal approximation are those at the problem's centre, where all topologies are compared;
 * the proposal then goes on to the joint mode of lengths and parameters, the full approximation is
 * that of the joint integral, and draws are of both (parameter_proposal.h).
 *
 * Most of the cost is then in second derivatives by the parameters. Where few draws are made of
 * each of many topologies, those of a reference tree will do (parameter_reference.h): set
 * wants_common.
 *
 * The normal distribution at the mode is a poor proposal of hundreds of lengths: the third
 * derivatives of f, each of them small, move their mean away from the mode by several standard
 * deviations of all of them together. EVIDENCE_SKEWED looks at the slopes in a few places around
 * the mode and at those along every branch, and corrects the proposal by both (length_proposal.h;
 * docs/collapsed.md, "Hundreds of branches").
 *
 * All of it ends early, with ART_ERR_STOPPED, where the stop of t->solver is due.
 *
 * Results depend only on the arguments. Nothing is allocated after create. */
#ifndef BRANCH_TOPOLOGY_EVIDENCE_H
#define BRANCH_TOPOLOGY_EVIDENCE_H

#include "base/log_mean.h"
#include "branch/length_proposal.h"
#include "branch/branch_hessian.h"
#include "branch/branch_solver.h"
#include "branch/parameter_mode.h"
#include "branch/parameter_proposal.h"

typedef enum evidence_shape {
    EVIDENCE_DIAGONAL, /* independent branches: no further cost, half the effective sample size */
    EVIDENCE_FULL,     /* with the full Hessian */
    EVIDENCE_SKEWED, /* the same, moved from the mode to the mean and skewed: costs 40 to 60 draws;
                        4 to 40 times the effective sample size with 100 taxa and more */
    EVIDENCE_ROUGH,  /* diagonal, and free parameters from around the problem's centre: the joint
                        mode is not sought. Costs a tenth and less of the others, and has few
                        effective draws: for answers that must come at once */
} evidence_shape;

typedef struct topology_evidence {
    const branch_posterior *problem;
    parameter_mode *joint; /* NULL without free parameters */
    branch_solver *solver; /* that of joint, if there is one */
    branch_hessian *hessian;
    length_proposal gauss;
    parameter_proposal parameters; /* with free parameters */
    double *mixed;                 /* [p][E] second derivatives by parameters and lengths */
    reference_space space;
    bool wants_common;   /* set by the user: the parameters' derivatives need not be the topology's
                            own, if the problem has a reference */
    double *second;      /* [E][E] of the Hessian */
    double *mode;        /* [E] x, by edge number */
    double *curvature;   /* [E] */
    double *draw;        /* [E] */
    double *scratch;     /* [E] */
    double *shift;       /* [E] of the lengths' mode with the parameters; to their mean */
    double *skew;        /* [E] */
    double *z;           /* [p] of the last draw */
    double *joint_mode;  /* [p] z of the joint mode */
    double *slope;       /* [2 p] by parameters: their mean, and that of one place */
    double *own;         /* [p][p] second derivatives by parameters */
    double tolerance;    /* of the last mode */
    double log_density;  /* f at the mode; after topology_evidence_proposal at the joint one */
    double laplace;      /* diagonal, at the centre */
    double full_laplace; /* after topology_evidence_proposal with EVIDENCE_FULL or _SKEWED */
} topology_evidence;

/* The problem is borrowed. */
int topology_evidence_create(topology_evidence **out, const branch_posterior *problem);
void topology_evidence_free(topology_evidence *t); /* NULL is fine */

/* Bytes that one allocates for a problem. */
size_t topology_evidence_memory(const branch_posterior *problem);

/* Finds the mode for decision [N-3] from length [E], which becomes the mode's lengths.
 * ART_ERR_NUMERIC if none is found. */
int topology_evidence_mode(topology_evidence *t, const int32_t *decision, double *length,
                           double tolerance);

/* Computes the normal distribution at the mode. Full: one refresh of the partials and one
 * Hessian. Skewed: in addition the slopes of all branches in ten places. With p free parameters the
 * joint mode is found first, to `tolerance` of the last topology_evidence_mode, and 2 p gradients
 * are computed there; none with wants_common. Rough: no cost. ART_ERR_NUMERIC if there is none.
 */
int topology_evidence_proposal(topology_evidence *t, evidence_shape shape);

/* Where the draws go: weighted draws from the posterior of the lengths. Those of weight 0 have
 * log_weight and log_likelihood -inf and length 0. Each array may be NULL. */
typedef struct length_draws {
    double *length;         /* [draws][E] */
    double *log_weight;     /* [draws] */
    double *log_likelihood; /* [draws] */
    double *parameter;      /* [draws][p] z */
} length_draws;

/* Draws lengths from the proposal and adds their weights to m, which may hold earlier ones. One
 * likelihood each. */
int topology_evidence_sample(topology_evidence *t, log_mean *m, length_draws out, int draws,
                             rng stream);

#endif
