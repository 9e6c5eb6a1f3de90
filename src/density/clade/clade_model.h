/* clade_model.h: a density of clades (clade_density.h), not smoothed by clades, as a topology
 * model. */
#ifndef DENSITY_CLADE_CLADE_MODEL_H
#define DENSITY_CLADE_CLADE_MODEL_H

#include "density/clade/clade_density.h"
#include "density/topology_model.h"

/* An empty model; smooth is the share of the uniform distribution (support_model.h), threads may
 * be NULL. On failure *out is NULL. */
int clade_model_create(topology_model **out, int n_taxa, clade_kind kind, double smooth,
                       pool *threads);

#endif
