/* artree_network.h: the tensors of ARTree's network: their names, shapes and initial values.
 * docs/artree.md explains each of them. d is the hidden size, which is even; N the number of taxa.
 */
#ifndef ARTREE_ARTREE_NETWORK_H
#define ARTREE_ARTREE_NETWORK_H

#include "nn/params.h"

#include <stdint.h>

/* In the order of the table, names as in the model file. X(id, name, rows, columns, start); columns
 * 0 is a vector. */
#define ARTREE_TENSORS(X)                                                           \
    X(CONV0_WEIGHT, "tree.gnn.gconvs.0.mlp.0.weight", d, 2 * n, ARTREE_LINEAR)      \
    X(CONV0_BIAS, "tree.gnn.gconvs.0.mlp.0.bias", d, 0, ARTREE_LINEAR)              \
    X(CONV0_GAIN, "tree.gnn.gconvs.0.mlp.1.weight", d, 0, ARTREE_ONE)               \
    X(CONV0_SHIFT, "tree.gnn.gconvs.0.mlp.1.bias", d, 0, ARTREE_ZERO)               \
    X(CONV1_WEIGHT, "tree.gnn.gconvs.1.mlp.0.weight", d, 2 * d, ARTREE_LINEAR)      \
    X(CONV1_BIAS, "tree.gnn.gconvs.1.mlp.0.bias", d, 0, ARTREE_LINEAR)              \
    X(CONV1_GAIN, "tree.gnn.gconvs.1.mlp.1.weight", d, 0, ARTREE_ONE)               \
    X(CONV1_SHIFT, "tree.gnn.gconvs.1.mlp.1.bias", d, 0, ARTREE_ZERO)               \
    X(GRU_IN_WEIGHT, "tree.gru.weight_ih", 3 * d, d, ARTREE_LINEAR)                 \
    X(GRU_IN_BIAS, "tree.gru.bias_ih", 3 * d, 0, ARTREE_LINEAR)                     \
    X(GRU_STATE_WEIGHT, "tree.gru.weight_hh", 3 * d, d, ARTREE_LINEAR)              \
    X(GRU_STATE_BIAS, "tree.gru.bias_hh", 3 * d, 0, ARTREE_LINEAR)                  \
    X(POOL0_WEIGHT, "tree.pooling_net.net.0.weight", d, d, ARTREE_LINEAR)           \
    X(POOL0_BIAS, "tree.pooling_net.net.0.bias", d, 0, ARTREE_LINEAR)               \
    X(POOL1_WEIGHT, "tree.pooling_net.net.1.weight", d, 0, ARTREE_ONE)              \
    X(POOL1_BIAS, "tree.pooling_net.net.1.bias", d, 0, ARTREE_ZERO)                 \
    X(POOL3_WEIGHT, "tree.pooling_net.net.3.weight", d, d, ARTREE_LINEAR)           \
    X(POOL3_BIAS, "tree.pooling_net.net.3.bias", d, 0, ARTREE_LINEAR)               \
    X(POOL4_WEIGHT, "tree.pooling_net.net.4.weight", d, 0, ARTREE_ONE)              \
    X(POOL4_BIAS, "tree.pooling_net.net.4.bias", d, 0, ARTREE_ZERO)                 \
    X(EDGE0_WEIGHT, "tree.pooling_net.readout.0.weight", d, d, ARTREE_LINEAR)       \
    X(EDGE0_BIAS, "tree.pooling_net.readout.0.bias", d, 0, ARTREE_LINEAR)           \
    X(EDGE1_WEIGHT, "tree.pooling_net.readout.1.weight", d, 0, ARTREE_ONE)          \
    X(EDGE1_BIAS, "tree.pooling_net.readout.1.bias", d, 0, ARTREE_ZERO)             \
    X(EDGE3_WEIGHT, "tree.pooling_net.readout.3.weight", 1, d, ARTREE_LINEAR)       \
    X(EDGE3_BIAS, "tree.pooling_net.readout.3.bias", 1, 0, ARTREE_LINEAR)           \
    X(CLOCK0_WEIGHT, "tree.time_embedding.embedding.0.weight", d, d, ARTREE_LINEAR) \
    X(CLOCK0_BIAS, "tree.time_embedding.embedding.0.bias", d, 0, ARTREE_LINEAR)     \
    X(CLOCK2_WEIGHT, "tree.time_embedding.embedding.2.weight", d, d, ARTREE_LINEAR) \
    X(CLOCK2_BIAS, "tree.time_embedding.embedding.2.bias", d, 0, ARTREE_LINEAR)

enum artree_tensor {
#define ARTREE_ENUM(id, name, rows, columns, start) ARTREE_##id,
    ARTREE_TENSORS(ARTREE_ENUM)
#undef ARTREE_ENUM
        ARTREE_COUNT
};

/* Adds the tensors to an empty table and allocates it. */
int artree_params(params *p, int n_taxa, int d);

/* Initial values: weight and bias of a linear layer uniform in +-1/sqrt(inputs), which is 1/sqrt(d)
 * for all of the recurrence; norms 1 and 0. Tensor i is drawn from the stream (seed, RNG_INIT, i,
 * 0). */
void artree_initialise(params *p, uint64_t seed);

/* log q of one tree in double, by the definition: embeddings in R^N, nothing folded, nothing
 * shared. Decisions [N-3]. If step is not NULL, the log-probabilities of the 2n-3 edges of each
 * step follow each other in it, [(N-3)(N-1)] numbers. Allocates; O(N^2 (N d + d^2)). The reference
 * for the fast code. */
int artree_ref(double *log_q, double *step, const params *p, int n_taxa, int d,
               const int32_t *decision);

#endif
