/* particles.h: a batch of draws from q with their log weights.
 *
 *     log target(tree, b) = anneal * value(tree, b) + log prior(tree) + log prior(b)
 *     log weight          = log target - log q(tree) - log q(b | tree)
 *
 * With branch lengths (value is the log-likelihood) the prior is uniform over topologies and a
 * branch_prior (subst/branch_prior.h) over the lengths. Without (value is minus the parsimony
 * score) there is no prior, and the mean weight is Z = sum over trees of exp(value). */
#ifndef TRAIN_PARTICLES_H
#define TRAIN_PARTICLES_H

#include "train/target.h"
#include "density/branch_model.h"
#include "density/topology_model.h"
#include "subst/branch_prior.h"

/* The models from which particles are drawn, and their target; all borrowed. */
typedef struct particle_source {
    topology_model *trees;
    branch_model *branches; /* NULL if and only if the target has no branch lengths */
    target *goal;
    branch_prior prior; /* of the branch lengths; not used without them */
    uint64_t seed;
} particle_source;

/* The streams that a batch is drawn from: particle i uses (seed, purpose, step, first + i). */
typedef struct particle_stream {
    uint32_t tree_purpose;
    uint32_t branch_purpose;
    uint32_t step;
    uint32_t first;
} particle_stream;

typedef struct particles {
    int k; /* room, and the size of the last draw */
    int n_taxa;
    int32_t *decision; /* [k][N-3] */
    double *length;    /* [k][2N-3]; zero without branch lengths */
    double
        *slope; /* [k][2N-3] derivatives of value with respect to the lengths; NULL if not needed */
    double *log_q;      /* [k] of the topologies */
    double *log_b;      /* [k] of the branch lengths; zero without */
    double *value;      /* [k] of the target */
    double *log_prior;  /* [k]; zero without branch lengths */
    double *log_weight; /* [k] */
    int32_t *part;      /* [k] of a chain that the draw is from (results/posterior.h); 0: none */
    int n_free;         /* p, free parameters of the substitution model; 0 by default */
    double *parameter;  /* [k][p] their coordinates (subst/free_model.h) */
} particles;

int particles_init(particles *p, int k, int n_taxa, int with_slope);
void particles_free(particles *p); /* safe on a zeroed or half-built one */

/* Room for n_free parameters of each; after particles_init. */
int particles_add_parameters(particles *p, int n_free);

/* Draws k particles and evaluates the target, with slopes if there is room for them. */
int particles_draw(particles *p, const particle_source *source, particle_stream stream);

/* Fills weight. */
void particles_weigh(particles *p, double anneal);

/* log of the number of unrooted topologies, (2N-5)!!. */
double log_topologies(int n_taxa);

/* log prior of the topology with decision [N-3] (uniform) and branch lengths [2N-3]. */
double log_prior(const int32_t *decision, const double *length, int n_taxa, branch_prior prior);

#endif
