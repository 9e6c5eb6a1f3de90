/* branch_model.h: a density of branch lengths given a topology, behind few verbs.
 *
 * Nothing is allocated after the first call at a given size; results do not depend on the
 * number of threads. Lengths are by edge number (tree/topology.h), [k][2N-3]. */
#ifndef DENSITY_BRANCH_MODEL_H
#define DENSITY_BRANCH_MODEL_H

#include "base/pool.h"
#include "nn/params.h"

#include <stdint.h>

typedef struct branch_model branch_model;

typedef struct branch_model_ops {
    const char *name; /* "lognormal" */

    /* Draws lengths for k trees: tree i uses the stream (seed, purpose, step, first + i).
     * Writes length [k][2N-3] and log_q [k] (density in the length, not its log).
     * What backward needs is kept until the next call. */
    int (*sample)(branch_model *m, double *length, double *log_q, const int32_t *decision, int k,
                  uint64_t seed, uint32_t purpose, uint32_t step, uint32_t first);

    /* log_q [k] of given lengths; -inf where a length is not positive and finite. */
    int (*score)(branch_model *m, double *log_q, const double *length, const int32_t *decision,
                 int k);

    /* Adds the gradient of sum_i coefficient[i] * log q(length_i | tree_i), at the given lengths,
     * to params.grad. Also writes log_q [k] if not NULL. A tree whose log_q is -inf adds
     * nothing. */
    int (*gradient)(branch_model *m, double *log_q, const double *length, const int32_t *decision,
                    const double *coefficient, int k);

    /* After sample: with L a function of (length, log_q), given dlength [k][2N-3] = dL/dlength
     * at fixed log_q and dlog_q [k] = dL/dlog_q, adds the reparametrised dL/dparameters. */
    int (*backward)(branch_model *m, const double *dlength, const double *dlog_q);

    /* Sets every parameter from the seed. */
    void (*initialise)(branch_model *m, uint64_t seed);

    /* To be called after the parameters changed: forgets whatever was derived from them. */
    void (*changed)(branch_model *m);

    /* log q of one tree's lengths [2N-3] in double by the plain definition (the oracle and
     * run-time check). */
    int (*reference)(branch_model *m, double *log_q, const double *length, const int32_t *decision);

    void (*free)(branch_model *m);
} branch_model_ops;

struct branch_model {
    const branch_model_ops *ops;
    int n_taxa;
    params params;
};

#endif
