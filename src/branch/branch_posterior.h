/* branch_posterior.h: the branch lengths of one topology as a statistical problem: the data, the
 * substitution model and the prior, in the form that branch_solver.h works on. It is the same
 * for all topologies, is never written after init and is shared by all threads.
 *
 * Branch lengths b have a prior (subst/branch_prior.h) and are handled on the scale
 * x = b^(1/3), on which their posterior is nearly normal (length_scale.h). The log density in x
 * of what is to be integrated is, for a topology with E = 2N - 3 branches,
 *
 *     f(x) = log likelihood(b) + log prior(b) + sum_e log(db_e / dx_e)
 *
 * and the evidence of the topology is the integral of exp f over x > 0 (docs/collapsed.md).
 *
 * Parameters of the substitution model may be free (subst/free_model.h), with coordinates z. The
 * density is then f(x, z) = f(x) + log prior(z), with the likelihood under the model at z, and the
 * evidence is the integral over both. Topologies are compared at one z, `centre`, which is near the
 * mode for all good ones; `model` is the model there. What integrates over z has a view of the
 * problem with parameters of its own:
 *
 *     branch_posterior view;
 *     status = branch_posterior_view(&view, &problem);        one per thread
 *     branch_posterior_move(&view, z);                        any number of times
 *     branch_posterior_view_free(&view); */
#ifndef BRANCH_BRANCH_POSTERIOR_H
#define BRANCH_BRANCH_POSTERIOR_H

#include "branch/parameter_reference.h"
#include "branch/settings.h"
#include "lik/partials.h"
#include "subst/branch_prior.h"
#include "subst/free_model.h"
#include "seq/alignment.h"

typedef struct branch_posterior {
    int n_taxa;
    int n_edges;        /* 2N - 3 */
    branch_prior prior; /* of the lengths */
    subst_model model;
    free_model free;          /* what of the model is estimated; n_free = 0 if nothing is */
    double centre[FREE_MOST]; /* [p] z at which topologies are compared; p = free.n_free */
    double spread[FREE_MOST * FREE_MOST]; /* [p][p] covariance of z there, for good topologies */
    parameter_reference reference;        /* how lengths depend on z in a good topology */
    double n_sites;                       /* the sum of the weights */
    size_t n_patterns; /* patterns distinguished by the model, with gaps as missing data */
    size_t tiles;      /* of TILE patterns */
    double *tip;       /* [N][tiles][1][4][TILE] */
    double *weight;    /* [tiles][TILE] */
    double *invariant; /* [tiles][TILE] likelihood as an invariant site; NULL without +I */
    uint8_t *common;   /* [tiles][TILE] set of bases that all taxa may share; NULL without +I */
    int terms;         /* T of partials.h */
    int edge_terms;    /* numbers of a transition in all categories */
    size_t partial;    /* numbers of the partial of an internal node */
    const partial_kernels *kernel;
    branch_settings set; /* the defaults; may be changed before anything is made for the problem */
} branch_posterior;

/* taxon[i] is the row of the alignment that is taxon i of the trees; NULL keeps the order. The
 * arguments are not referenced after the call. ART_ERR_USAGE for fewer than 3 taxa or a prior that
 * is not valid. With free parameters the centre is where a search for them starts. */
int branch_posterior_init(branch_posterior *p, const alignment *a, const int *taxon,
                          const subst_model *model, branch_prior prior);
int branch_posterior_init_free(branch_posterior *p, const alignment *a, const int *taxon,
                               const free_model *model, branch_prior prior);
void branch_posterior_free(branch_posterior *p); /* safe on a zeroed one */

/* Makes z [p] the centre, with the covariance spread [p][p]. Only while nothing else uses the
 * problem. */
void branch_posterior_recentre(branch_posterior *p, const double *z, const double *spread);

/* What integrating over the parameters adds to the log evidence of a topology at the centre: log
 * prior and the volume of the normal distribution with the covariance `spread`, nearly the same for
 * all good ones. 0 without free parameters. */
double branch_posterior_parameter_term(const branch_posterior *p);

/* A view of a problem, which it borrows: the same data, parameters of its own, at first those of
 * the centre. */
int branch_posterior_view(branch_posterior *view, const branch_posterior *p);
void branch_posterior_view_free(branch_posterior *view); /* safe on a zeroed one */

/* The parameters of a view become z [p]: its model and its likelihoods of invariant sites. */
void branch_posterior_move(branch_posterior *view, const double *z);

/* Uses the kernels of the given level, which the machine must have, instead of the best. */
void branch_posterior_use(branch_posterior *p, cpu_level level);

#endif
