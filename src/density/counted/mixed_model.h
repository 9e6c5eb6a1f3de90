/* mixed_model.h: a network mixed with a subsplit network, two densities of topologies that are
 * wrong in different ways:
 *
 *     r(T) = (1 - s) network(T) + s tables(T)
 *
 * The network reaches every tree and learns what takes many steps; the tables of a subsplit network
 * (sbn/sbn.h), fitted by EM in a second, know the frequencies of clades and have nothing to
 * unlearn. The mixture is closer to the truth than either (docs/decisions/fit.md).
 *
 * The parameters are those of the network. The tables come from trees, by fit_begin, or from a
 * model file, where they have the names of the kind "sbn". */
#ifndef COUNTED_MIXED_MODEL_H
#define COUNTED_MIXED_MODEL_H

#include "density/topology_model.h"

/* s. Measured in docs/decisions/fit.md. */
#define MIXED_SHARE 0.3

/* Both models are owned from here on, whether or not this succeeds. The network may be new or
 * trained; the tables are empty, without parameters, and filled by fit_begin or load_structure.
 * Above 0 and below 1: share. */
int mixed_model_create(topology_model **out, topology_model *network, topology_model *tables,
                       double share);

#endif
