/* artree_model.h: ARTree, the topology model before ARTreeFormer: edge convolutions, a recurrent
 * state for every node, a readout per edge (docs/artree.md).
 *
 * Computation: as in density/artreeformer/artreeformer_model.h, a batch is a trie of decisions, and
 * every distinct partial tree is evaluated once, forward and backward. The states of the nodes are
 * a function of the decisions, so they are kept with the partial tree and handed to those that grow
 * from it. log q of a tree is always the same bits, whatever the batch, the cache and the threads.
 *
 * sample keeps what it computed; gradient, called next for trees of that sample, uses it. */
#ifndef ARTREE_ARTREE_MODEL_H
#define ARTREE_ARTREE_MODEL_H

#include "density/topology_model.h"

/* A model with all weights zero; initialise or load them, then call changed. n_taxa >= 3, hidden is
 * even: otherwise ART_ERR_USAGE. threads is borrowed and may be NULL. The model has no
 * configuration yet: it is set by topology_model_create (density/factory.h), which all callers use
 * except the tests of this model. */
int artree_create(topology_model **out, int n_taxa, int hidden, pool *threads);

#endif
