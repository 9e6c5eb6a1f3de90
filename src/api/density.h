/* density.h: the densities of topologies that settings of the library can ask for, as
 * configurations of density/factory.h. */
#ifndef API_DENSITY_H
#define API_DENSITY_H

#include "artreeformer.h"
#include "density/factory.h"
#include "tree/tree_set.h"

/* Whether it is a network of sizes that can be. */
bool density_is_network(enum art_density density, int hidden, int heads);

/* The configuration of such a network. */
topology_config density_network(enum art_density density, int hidden, int heads);

/* The density that is fitted to trees: whether the settings make one, and which. */
bool density_fit_is_valid(const art_fit_settings *s);
topology_config density_fit(const art_fit_settings *s);

/* The trees on these taxa, which may be in another order. ART_ERR_MISMATCH, with messages, if they
 * are others. *out is always safe to free. */
int density_support(tree_set *out, const tree_set *trees, const taxa *names, diag *d);

#endif
