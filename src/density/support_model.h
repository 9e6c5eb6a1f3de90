/* support_model.h: what the topology models with tables have in common (subsplit networks,
 * conditional clade distributions). Their density is 0 outside the support, the trees that the
 * tables allow for; it can be mixed with the uniform distribution over all topologies:
 *
 *     q(tree) = (1 - smooth) tables(tree) + smooth / (2N-5)!!
 *
 * A model's struct begins with a support_model, which begins with a topology_model. Its operations
 * sample and score are the two functions below. */
#ifndef DENSITY_SUPPORT_MODEL_H
#define DENSITY_SUPPORT_MODEL_H

#include "base/rng.h"
#include "density/topology_model.h"

typedef struct support_model {
    topology_model base;
    pool *threads;      /* borrowed */
    bool is_filled;     /* there are tables */
    double smooth;      /* 0 for no mixture */
    double log_uniform; /* -log (2N-5)!! */

    /* Of the tables alone: log q of a tree, and a draw. worker is below pool_threads. */
    double (*log_q)(struct support_model *m, const int32_t *decision, int worker);
    void (*draw)(struct support_model *m, int32_t *decision, rng *r, int worker);
} support_model;

/* The key of the configuration, for the tables of kinds. */
#define SUPPORT_SMOOTH_KEY                                       \
    {                                                            \
        .name = "smooth", .initial = 0, .least = 0, .most = 0.99 \
    }

/* Sets all of it; log_q and draw are the model's. */
void support_model_init(support_model *m, const topology_model_ops *ops, int n_taxa, double smooth,
                        pool *threads);

/* log q of the mixture from that of the tables; and the share of the tables in it. */
double support_mix(const support_model *m, double log_q);
double support_share(const support_model *m, double log_q);

int support_sample(topology_model *m, int32_t *decision, double *log_q, int k, uint64_t seed,
                   uint32_t purpose, uint32_t step, uint32_t first);
int support_score(topology_model *m, double *log_q, const int32_t *decision, int k);

#endif
