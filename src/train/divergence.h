/* divergence.h: divergence of a model's topology distribution q from a weighted set of trees. */
#ifndef TRAIN_DIVERGENCE_H
#define TRAIN_DIVERGENCE_H

#include "density/topology_model.h"

#include <stddef.h>

struct tree_set;

#define DIVERGENCE_LEAST 0x1p-52

typedef struct divergence {
    double kl;              /* sum p log(p / q), trees of weight 0 left out; infinite if a tree of
                               the set has q = 0 */
    double kl_clipped;      /* sum p log(p + e) - sum p log max(q, e), e = DIVERGENCE_LEAST: as in
                               published comparisons */
    double total_variation; /* half of sum |p - q|, including the mass of q outside the set */
    double cross_entropy;   /* -sum p log q */
    double far_mass;        /* sum of p over trees with log q < -50 */
    double zero_mass;       /* sum of p over trees with q = 0 .. */
    size_t zero_trees;      /* .. and how many they are */
    double clipped_mass;    /* sum of p over trees with 0 < q < DIVERGENCE_LEAST */
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
