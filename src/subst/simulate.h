/* simulate.h: random trees and sequences, drawn from the model that inference assumes.
 *
 *     simulate_topology(decision, n_taxa, seed);          uniform over all topologies
 *     simulate_lengths(length, n_taxa, 0.1, seed);        Exp(mean 0.1), independent
 *     simulate_parameters(z, &free_model, seed);          from their priors
 *     status = simulate_sites(state, decision, length, n_taxa, &model, n_sites, seed, threads);
 *
 * Everything is a function of the seed (base/rng.h); the tree, the lengths, the
 * parameters and each site have separate streams, so a longer alignment with the same seed begins
 * with the shorter one. */
#ifndef SUBST_SIMULATE_H
#define SUBST_SIMULATE_H

#include "base/pool.h"
#include "subst/branch_prior.h"
#include "subst/free_model.h"

/* decision [N-3] */
void simulate_topology(int32_t *decision, int32_t n_taxa, uint64_t seed);

/* length [2N-3] */
void simulate_lengths(double *length, int32_t n_taxa, double mean, uint64_t seed);

/* z [n_free], free_model_draw of a stream of its own. */
void simulate_parameters(double *z, const free_model *f, uint64_t seed);

/* length [2N-3] from any prior, for the topology of decision [N-3]. */
void simulate_prior_lengths(double *length, const int32_t *decision, int32_t n_taxa,
                            branch_prior prior, uint64_t seed);

/* state [N][n_sites], each one of STATE_A .. STATE_T: row i is taxon i of the tree. n_sites is
 * below 2^32. ART_ERR_NOMEM if memory is short. O(N n_sites). */
int simulate_sites(uint8_t *state, const int32_t *decision, const double *length, int32_t n_taxa,
                   const subst_model *model, size_t n_sites, uint64_t seed, pool *threads);

#endif
