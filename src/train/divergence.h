/* divergence.h: divergence of a model's topology distribution q from a weighted set of trees. */
#ifndef TRAIN_DIVERGENCE_H
#define TRAIN_DIVERGENCE_H

#include "density/topology_model.h"

#include <stddef.h>

struct tree_set;

typedef struct divergence {
    double kl;              /* sum p log(p / q), trees of weight 0 left out */
    double total_variation; /* half of sum |p - q|, including the mass of q outside the set */
    double cross_entropy;   /* -sum p log q */
    double far_mass;        /* sum of p over trees with log q < -50 */
} divergence;

/* p is weight [count], normalised here; decision [count][N-3] are distinct trees. Scores them
 * in batches of at most `batch`. */
int divergence_compute(divergence *out, topology_model *m, const int32_t *decision,
                       const double *weight, size_t count, int batch);

/* The same for the mixture (1 - share) listed + share q in place of q: the distribution that
 * collapsed inference reports, with the network for all trees that are not listed. listed is
 * normalised; NULL stands for q alone. */
int divergence_of_mixture(divergence *out, topology_model *m, const struct tree_set *listed,
                          double share, const int32_t *decision, const double *weight, size_t count,
                          int batch);

#endif
