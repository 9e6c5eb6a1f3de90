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
 * and the evidence of the topology is the integral of exp f over x > 0 (docs/collapsed.md). */
#ifndef BRANCH_BRANCH_POSTERIOR_H
#define BRANCH_BRANCH_POSTERIOR_H

#include "branch/settings.h"
#include "lik/partials.h"
#include "subst/branch_prior.h"
#include "subst/subst_model.h"
#include "seq/alignment.h"

typedef struct branch_posterior {
    int n_taxa;
    int n_edges;        /* 2N - 3 */
    branch_prior prior; /* of the lengths */
    subst_model model;
    double n_sites;    /* the sum of the weights */
    size_t n_patterns; /* patterns distinguished by the model, with gaps as missing data */
    size_t tiles;      /* of TILE patterns */
    double *tip;       /* [N][tiles][1][4][TILE] */
    double *weight;    /* [tiles][TILE] */
    double *invariant; /* [tiles][TILE] likelihood as an invariant site; NULL without +I */
    int terms;         /* T of partials.h */
    int edge_terms;    /* numbers of a transition in all categories */
    size_t partial;    /* numbers of the partial of an internal node */
    const partial_kernels *kernel;
    branch_settings set; /* the defaults; may be changed before anything is made for the problem */
} branch_posterior;

/* taxon[i] is the row of the alignment that is taxon i of the trees; NULL keeps the order. The
 * arguments are not referenced after the call. ART_ERR_USAGE for fewer than 3 taxa or a prior that
 * is not valid. */
int branch_posterior_init(branch_posterior *p, const alignment *a, const int *taxon,
                          const subst_model *model, branch_prior prior);
void branch_posterior_free(branch_posterior *p); /* safe on a zeroed one */

/* Uses the kernels of the given level, which the machine must have, instead of the best. */
void branch_posterior_use(branch_posterior *p, cpu_level level);

#endif
