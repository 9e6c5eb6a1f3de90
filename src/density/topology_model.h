/* topology_model.h: a probability for every tree topology, behind few verbs.
 *
 * The training code drives this face and does not know which model is behind it. Trees are
 * their decisions (tree/topology.h), [k][N-3]. Nothing is allocated in sample, score or
 * gradient after the first call at a given size. Results do not depend on the number of
 * threads, bit for bit. */
#ifndef DENSITY_TOPOLOGY_MODEL_H
#define DENSITY_TOPOLOGY_MODEL_H

#include "base/pool.h"
#include "nn/params.h"

#include <stdint.h>

typedef struct topology_model topology_model;

/* What the last sample, score or gradient call did: how many step evaluations (partial trees)
 * it needed and how many it would have needed without sharing, weighted by their edges.
 * done / unshared is the share of the work that remained. A gradient is followed back through
 * `followed` of the edges that are done, and goes forward over `again` of them: none if a sample
 * has kept what it needs. */
typedef struct topology_work {
    double done;
    double unshared;
    double followed;
    double again;
} topology_work;

typedef struct topology_model_ops {
    const char *name; /* "artreeformer" */

    /* Draws k trees. Tree i uses the stream (seed, purpose, step, first + i): a tree does not
     * depend on the others. Writes decision [k][N-3] and log_q [k]. */
    int (*sample)(topology_model *m, int32_t *decision, double *log_q, int k, uint64_t seed,
                  uint32_t purpose, uint32_t step, uint32_t first);

    /* log_q [k] of given trees. */
    int (*score)(topology_model *m, double *log_q, const int32_t *decision, int k);

    /* Adds the gradient of sum_i coefficient[i] * log q(tree_i) to params.grad. Also writes
     * log_q [k] if not NULL. */
    int (*gradient)(topology_model *m, double *log_q, const int32_t *decision,
                    const double *coefficient, int k);

    /* Sets every parameter from the seed. */
    void (*initialise)(topology_model *m, uint64_t seed);

    /* To be called after the parameters changed: forgets whatever was derived from them. */
    void (*changed)(topology_model *m);

    /* For weights that stay as they are over many calls (sampling, evidence, divergence): keeps
     * what sample and score learn about partial trees, in at most max_bytes, until changed is
     * called; the least used is forgotten first. Results are the same. The memory is reserved
     * here, and used as it fills. max_bytes 0 goes back to keeping nothing. */
    int (*freeze)(topology_model *m, size_t max_bytes);

    /* While frozen, and until freeze is called again: sample and score are those of a flatter
     * distribution, in which the probabilities of every decision are raised to power, above 0
     * and at most 1, and normalised. Proposals with longer tails come from it. */
    void (*flatten)(topology_model *m, double power);

    /* log q of one tree in double by the plain definition (the oracle and run-time check). */
    int (*reference)(topology_model *m, double *log_q, const int32_t *decision);

    void (*free)(topology_model *m);
} topology_model_ops;

struct topology_model {
    const topology_model_ops *ops;
    int n_taxa;
    params params;
    topology_work work;
};

#endif
