/* factory.h: the available kinds of topology models and branch models. Another kind is added as a
 * row in the table of factory.c (docs/new-topology-model.md).
 *
 * No other code refers to the models by name: the caller has a configuration, from here or for its
 * own kind, and calls topology_model_create or branch_model_create. */
#ifndef DENSITY_FACTORY_H
#define DENSITY_FACTORY_H

#include "density/branch_model.h"
#include "density/topology_model.h"

/* Networks: numbers per node, heads of the attention, numbers per node of the branch model. The
 * defaults are the published sizes. */
#define PUBLISHED_HIDDEN        100
#define PUBLISHED_HEADS         4
#define PUBLISHED_BRANCH_HIDDEN 100
enum {
    DEFAULT_HIDDEN = PUBLISHED_HIDDEN,
    DEFAULT_HEADS = PUBLISHED_HEADS,
    DEFAULT_BRANCH_HIDDEN = PUBLISHED_BRANCH_HIDDEN,
};

/* The published strength of the prior of subsplit networks, and the least factor of log q that they
 * were trained by variational inference with. */
#define SBN_ALPHA       1e-4
#define PUBLISHED_FLOOR 1e-6

/* The tables; each ends with a row without a name. A model file that does not state its kind has
 * the first one. */
extern const topology_kind TOPOLOGY_KINDS[];
extern const branch_kind BRANCH_KINDS[];

/* The configurations of the networks that the program and the library offer, by their sizes:
 * kind "artreeformer" with hidden_dim and n_head (which divides it), "artree" with hidden_dim
 * (even), "lognormal" with branch_hidden_dim. */
topology_config artreeformer_config(int hidden, int heads);
topology_config artree_config(int hidden);

/* A subsplit network for variational inference: kind "sbn" with logits that start at 0; floor is
 * the least factor of log q, 0 for none. Its support comes from trees
 * (topology_model_fit_begin). */
topology_config sbn_config(double floor);
branch_config lognormal_config(int hidden);

/* A network of one of these two kinds, mixed with a subsplit network (counted/mixed_model.h),
 * together with the counts of a sample: kinds "artreeformer-counts" and "artree-counts"
 * (counted/counted_model.h), to be filled by topology_model_fit_begin. It takes the network over,
 * whether or not this succeeds. threads is borrowed and may be NULL. */
int counted_network(topology_model **out, topology_model *network, pool *threads);

/* The branch model that belongs to a kind of topology model: its row in a table, and its
 * configuration with branch_hidden_dim. */
const branch_kind *branch_kind_beside(const branch_kind *kinds, const topology_kind *trees);
branch_config branch_config_beside(const topology_kind *trees, int hidden);

#endif
