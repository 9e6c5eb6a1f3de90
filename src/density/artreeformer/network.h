/* network.h: the tensors of ARTreeFormer's network: their names, shapes and initial values.
 * docs/model.md explains each of them. d is the hidden size, N the number of taxa. */
#ifndef ARTREEFORMER_NETWORK_H
#define ARTREEFORMER_NETWORK_H

#include "nn/params.h"

#include <stdint.h>

/* In the order of the table, names as in the model file. X(id, name, rows, columns, start);
 * columns 0 is a vector. */
#define NETWORK_TENSORS(X)                                                                \
    X(MHA_IN_WEIGHT, "tree.MHA.in_proj_weight", 3 * d, d, START_XAVIER)                   \
    X(MHA_IN_BIAS, "tree.MHA.in_proj_bias", 3 * d, 0, START_ZERO)                         \
    X(MHA_OUT_WEIGHT, "tree.MHA.out_proj.weight", d, d, START_LINEAR)                     \
    X(MHA_OUT_BIAS, "tree.MHA.out_proj.bias", d, 0, START_ZERO)                           \
    X(MLP0_WEIGHT, "tree.mlp.0.weight", d, n, START_LINEAR)                               \
    X(MLP0_BIAS, "tree.mlp.0.bias", d, 0, START_LINEAR)                                   \
    X(MLP2_WEIGHT, "tree.mlp.2.weight", d, d, START_LINEAR)                               \
    X(MLP2_BIAS, "tree.mlp.2.bias", d, 0, START_LINEAR)                                   \
    X(MLP3_WEIGHT, "tree.mlp.3.weight", d, 0, START_ONE)                                  \
    X(MLP3_BIAS, "tree.mlp.3.bias", d, 0, START_ZERO)                                     \
    X(READ0_WEIGHT, "tree.readout.0.weight", 2 * d, 2 * d, START_LINEAR)                  \
    X(READ0_BIAS, "tree.readout.0.bias", 2 * d, 0, START_LINEAR)                          \
    X(READ1_WEIGHT, "tree.readout.1.weight", 2 * d, 0, START_ONE)                         \
    X(READ1_BIAS, "tree.readout.1.bias", 2 * d, 0, START_ZERO)                            \
    X(READ3_WEIGHT, "tree.readout.3.weight", 2 * d, 2 * d, START_LINEAR)                  \
    X(READ3_BIAS, "tree.readout.3.bias", 2 * d, 0, START_LINEAR)                          \
    X(READ4_WEIGHT, "tree.readout.4.weight", 2 * d, 0, START_ONE)                         \
    X(READ4_BIAS, "tree.readout.4.bias", 2 * d, 0, START_ZERO)                            \
    X(READ6_WEIGHT, "tree.readout.6.weight", 1, 2 * d, START_LINEAR)                      \
    X(READ6_BIAS, "tree.readout.6.bias", 1, 0, START_LINEAR)                              \
    X(TIME0_WEIGHT, "tree.time_embedding.embedding.0.weight", 2 * d, 2 * d, START_LINEAR) \
    X(TIME0_BIAS, "tree.time_embedding.embedding.0.bias", 2 * d, 0, START_LINEAR)         \
    X(TIME2_WEIGHT, "tree.time_embedding.embedding.2.weight", 2 * d, 2 * d, START_LINEAR) \
    X(TIME2_BIAS, "tree.time_embedding.embedding.2.bias", 2 * d, 0, START_LINEAR)

enum network_tensor {
#define NETWORK_ENUM(id, name, rows, columns, start) id,
    NETWORK_TENSORS(NETWORK_ENUM)
#undef NETWORK_ENUM
        NETWORK_COUNT
};

/* Adds the tensors to an empty table and allocates it. */
int network_params(params *p, int n_taxa, int d);

/* Initial values: a linear layer's weight and bias uniform in +-1/sqrt(inputs), the stacked
 * projection of queries, keys and values Xavier-uniform with zero bias, norms 1 and 0, the
 * attention's output bias 0. Tensor i is drawn from the stream (seed, RNG_INIT, i, 0). */
void network_initialise(params *p, uint64_t seed);

/* log q of one tree in double, by the definition: embeddings in R^N, full keys and values, no
 * folding, nothing shared. Decisions [N-3]. If step is not NULL, the log-probabilities of the 2n-3
 * edges of each step follow each other in it, [(N-3)(N-1)] numbers. Allocates; O(N^2 d^2). The
 * reference for the fast code. */
int network_ref(double *log_q, double *step, const params *p, int n_taxa, int d, int heads,
                const int32_t *decision);

#endif
