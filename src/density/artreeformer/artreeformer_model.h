/* artreeformer_model.h: the topology model of the paper: node embeddings, one attention query per
 * step, a readout per edge (docs/model.md).
 *
 * Computation: a batch is a trie of decisions (density/artreeformer/trie.h), and every distinct
 * partial tree is evaluated once, forward and backward. Every number of the forward pass is
 * computed in a fixed order that does not depend on the batch, on sharing, on the cache or on
 * threads: log q of a tree is always the same bits. The sums of a gradient are taken over chunks
 * whose bounds depend on the batch only: the same bits on any number of threads.
 *
 * sample keeps what it computed; gradient, called next for trees of that sample, uses it.
 *
 * A sampled tree's decision at each level is trie_choose for one uniform number of the tree's
 * stream, in the order of the levels. */
#ifndef ARTREEFORMER_ARTREEFORMER_MODEL_H
#define ARTREEFORMER_ARTREEFORMER_MODEL_H

#include "density/topology_model.h"

/* A model with all weights zero; initialise or load them, then call changed. n_taxa >= 3, heads
 * divides hidden: otherwise ART_ERR_USAGE. threads is borrowed and may be NULL. The model has no
 * configuration yet: it is set by topology_model_create (density/factory.h), which all callers use
 * except the tests of this model. */
int artreeformer_create(topology_model **out, int n_taxa, int hidden, int heads, pool *threads);

#endif
