/* branch_posterior.h: the branch lengths of one topology as a statistical problem: the data, the
 * substitution models and the prior, in the form that branch_solver.h works on. It is the same
 * for all topologies, is never written after init and is shared by all threads.
 *
 * Data and models are a list of blocks (data_block.h), one for an alignment that is not
 * partitioned; the log-likelihood is the sum over them. Everything that is computed for a problem
 * (likelihood, derivatives, modes, Hessians, scores of moves) adds up over its blocks.
 *
 * Branch lengths b have a prior (subst/branch_prior.h) and are handled on the scale
 * x = b^(1/3), on which their posterior is nearly normal (length_scale.h). The log density in x
 * of what is to be integrated is, for a topology with E = 2N - 3 branches,
 *
 *     f(x) = log likelihood(b) + log prior(b) + sum_e log(db_e / dx_e)
 *
 * and the evidence of the topology is the integral of exp f over x > 0 (docs/collapsed.md).
 *
 * Parameters of the substitution models and the rate multipliers of the blocks may be free
 * (subst/block_parameters.h), with coordinates z. The density is then f(x, z) = f(x) + log
 * prior(z), with the likelihood under the models at z, and the evidence is the integral over both.
 * Topologies are compared at one z, `centre`, which is near the mode for all good ones; the blocks
 * have their models there. What integrates over z has a view of the problem with parameters of its
 * own:
 *
 *     branch_posterior view;
 *     status = branch_posterior_view(&view, &problem);        one per thread
 *     branch_posterior_move(&view, z);                        any number of times
 *     branch_posterior_view_free(&view); */
#ifndef BRANCH_BRANCH_POSTERIOR_H
#define BRANCH_BRANCH_POSTERIOR_H

#include "branch/data_block.h"
#include "branch/parameter_reference.h"
#include "branch/settings.h"
#include "subst/block_parameters.h"
#include "subst/branch_prior.h"
#include "seq/alignment.h"

typedef struct branch_posterior {
    int n_taxa;
    int n_edges;                   /* 2N - 3 */
    branch_prior prior;            /* of the lengths */
    int n_blocks;                  /* K */
    data_block *block;             /* [K] */
    block_parameters free;         /* what is estimated; n_free = 0 if nothing is */
    double *centre;                /* [p] z at which topologies are compared; p = free.n_free */
    double *spread;                /* [p][p] covariance of z there, for good topologies */
    parameter_reference reference; /* how lengths depend on z in a good topology */
    double parameter_term;         /* see branch_posterior_parameter_term */
    double n_sites;                /* the sum of the weights */
    size_t n_patterns;             /* of all blocks */
    block_sizes total;             /* of all blocks */
    double *tip;                   /* [N][leaf] */
    double *weight;                /* [tiles][TILE] */
    double *invariant;   /* [tiles][TILE] likelihood as an invariant site; NULL without any +I */
    uint8_t *common;     /* [tiles][TILE] set of states that all taxa may share; NULL likewise */
    double *scratch;     /* [p][p] */
    branch_settings set; /* the defaults; may be changed before anything is made for the problem */
} branch_posterior;

/* taxon[i] is the row of the alignment that is taxon i of the trees; NULL keeps the order. The
 * arguments are not referenced after the call. ART_ERR_USAGE for fewer than 3 taxa or a prior that
 * is not valid. With free parameters the centre is where a search for them starts. */
int branch_posterior_init(branch_posterior *p, const alignment *a, const int *taxon,
                          const subst_model *model, branch_prior prior);
int branch_posterior_init_free(branch_posterior *p, const alignment *a, const int *taxon,
                               const free_model *model, branch_prior prior);

/* The same for several blocks, whose alignments have the same taxa in the same order. ART_ERR_USAGE
 * also if there is none, if their numbers of taxa differ, or if a multiplier is not positive. */
typedef struct block_source {
    const alignment *alignment;
    const free_model *model;
    double multiplier; /* as in parameter_block; 1 if nothing else is known */
} block_source;
int branch_posterior_init_blocks(branch_posterior *p, const block_source *source, int n_blocks,
                                 bool multipliers_free, const int *taxon, branch_prior prior);
void branch_posterior_free(branch_posterior *p); /* safe on a zeroed one */

/* Makes z [p] the centre, with the covariance spread [p][p]. Only while nothing else uses the
 * problem. */
void branch_posterior_recentre(branch_posterior *p, const double *z, const double *spread);

/* What integrating over the parameters adds to the log evidence of a topology at the centre: log
 * prior and the volume of the normal distribution with the covariance `spread`, nearly the same for
 * all good ones. 0 without free parameters. */
double branch_posterior_parameter_term(const branch_posterior *p);

/* The numbers of a partial that are not padding: what a likelihood costs, per taxon. */
double branch_posterior_work(const branch_posterior *p);

/* A view of a problem, which it borrows: the same data, parameters of its own, at first those of
 * the centre. */
int branch_posterior_view(branch_posterior *view, const branch_posterior *p);
void branch_posterior_view_free(branch_posterior *view); /* safe on a zeroed one */

/* The parameters of a view become z [p]: models, multipliers, likelihoods of invariant sites. */
void branch_posterior_move(branch_posterior *view, const double *z);

/* Uses the kernels of the given level, which the machine must have, instead of the best. */
void branch_posterior_use(branch_posterior *p, cpu_level level);

/* out [transition of all blocks]: the transitions of a branch. */
void branch_posterior_transitions(double *out, const branch_posterior *p, double length);

#endif
