/* sbn_model.h: a subsplit network (sbn.h) as a topology model. */
#ifndef DENSITY_SBN_SBN_MODEL_H
#define DENSITY_SBN_SBN_MODEL_H

#include "density/topology_model.h"

/* How it is made. Tables that are fitted in closed form or by EM have probabilities in double and
 * no params; tables that are trained by gradients have their logits in params, "tree.root_logits"
 * and "tree.pair_logits". */
typedef struct sbn_settings {
    bool em;         /* iterations of EM after the simple average */
    double alpha;    /* strength of the Dirichlet prior; 0 for none */
    bool gradients;  /* logits, to be trained; em is then not used .. */
    bool zero_start; /* .. and start at 0, not at the simple average */
    double smooth;   /* support_model.h */
    double floor;    /* factors of log q are at least this (sbn_scratch); 0: none */
} sbn_settings;

/* An empty model; threads may be NULL. ART_ERR_USAGE for n_taxa < 3. On failure *out is NULL. */
int sbn_model_create(topology_model **out, int n_taxa, const sbn_settings *settings, pool *threads);

#endif
