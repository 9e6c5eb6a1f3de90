/* models.h: the networks of the program by their sizes, for tests that only need some model. */
#ifndef TESTS_MODELS_H
#define TESTS_MODELS_H

#include "density/factory.h"

static inline int make_artreeformer(topology_model **out, int n_taxa, int hidden, int heads,
                                    pool *threads)
{
    const topology_config config = artreeformer_config(hidden, heads);
    return topology_model_create(out, &config, n_taxa, threads);
}

static inline int make_lognormal(branch_model **out, int n_taxa, int hidden, pool *threads)
{
    const branch_config config = lognormal_config(hidden);
    return branch_model_create(out, &config, n_taxa, threads);
}

#endif
