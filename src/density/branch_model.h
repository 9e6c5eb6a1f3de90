/* branch_model.h: a density of branch lengths given a topology, as an interface of a few
 * operations.
 *
 * Nothing is allocated after the first call at a given size; results do not depend on the number of
 * threads. Lengths are by edge number (tree/topology.h), [k][2N-3]. Configurations and kinds work
 * as in topology_model.h. */
#ifndef DENSITY_BRANCH_MODEL_H
#define DENSITY_BRANCH_MODEL_H

#include "base/pool.h"
#include "density/model_config.h"
#include "nn/params.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct branch_model branch_model;
typedef struct branch_kind branch_kind;

/* The kind of model, and its configuration values. */
typedef struct branch_config {
    const branch_kind *kind;
    double value[CONFIG_KEYS]; /* of kind->keys, in their order */
} branch_config;

/* A row of a table of kinds. Tables end with a row without a name. */
struct branch_kind {
    const char *name;       /* "lognormal", as in model files */
    const config_key *keys; /* ends with a key without a name; NULL if there are none. Names begin
                             * with "branch_": the file also has the keys of a topology model */

    /* A model with all parameters zero. The configuration and n_taxa >= 3 have already been
     * checked; threads is borrowed and may be NULL. On failure *out is NULL. */
    int (*create)(branch_model **out, const branch_config *config, int n_taxa, pool *threads);
};

/* What a model implements; callers use the functions below. */
typedef struct branch_model_ops {
    /* Required. */

    /* Draws lengths for k trees: tree i uses the stream (seed, purpose, step, first + i).
     * Writes length [k][2N-3] and log_q [k] (density in the length, not its log).
     * What backward needs is kept until the next call. */
    int (*sample)(branch_model *m, double *length, double *log_q, const int32_t *decision, int k,
                  uint64_t seed, uint32_t purpose, uint32_t step, uint32_t first);

    /* log_q [k] of given lengths; -inf where a length is not positive and finite. */
    int (*score)(branch_model *m, double *log_q, const double *length, const int32_t *decision,
                 int k);

    /* log q of one tree's lengths [2N-3] in double by the plain definition (the reference for tests
     * and for the run-time check). */
    int (*reference)(branch_model *m, double *log_q, const double *length, const int32_t *decision);

    void (*free)(branch_model *m); /* safe on a half-built one */

    /* Optional: NULL if the model does not support it, or has nothing to do. */

    /* Adds the gradient of sum_i coefficient[i] * log q(length_i | tree_i), at the given lengths,
     * to params.grad. Also writes log_q [k] if not NULL. A tree whose log_q is -inf contributes
     * nothing. */
    int (*gradient)(branch_model *m, double *log_q, const double *length, const int32_t *decision,
                    const double *coefficient, int k);

    /* After sample: with L a function of (length, log_q), given dlength [k][2N-3] = dL/dlength
     * at fixed log_q and dlog_q [k] = dL/dlog_q, adds the reparametrised dL/dparameters. */
    int (*backward)(branch_model *m, const double *dlength, const double *dlog_q);

    /* Sets every parameter from the seed. */
    void (*initialise)(branch_model *m, uint64_t seed);

    /* Must be called after the parameters changed: discards everything derived from them. */
    void (*changed)(branch_model *m);
} branch_model_ops;

struct branch_model {
    const branch_model_ops *ops;
    branch_config config; /* set by branch_model_create */
    int n_taxa;
    params params; /* names begin with "branch."; a model file needs at least one */
};

/* The configuration of a kind with its defaults. */
branch_config branch_config_default(const branch_kind *kind);

/* ART_ERR_USAGE if the kind has no such key. Ranges are checked in branch_model_create. */
int branch_config_set(branch_config *c, const char *name, double value);

/* The value of a key of the kind. */
double branch_config_get(const branch_config *c, const char *name);

/* The row with a name in a table of kinds; NULL if there is none. */
const branch_kind *branch_kind_find(const branch_kind *kinds, const char *name);

/* A model with all parameters zero: initialise or load them, then call changed. ART_ERR_USAGE for
 * a number out of its range and for n_taxa < 3. threads is borrowed, may be NULL and must outlive
 * the model. On failure *out is NULL. */
int branch_model_create(branch_model **out, const branch_config *config, int n_taxa, pool *threads);
void branch_model_free(branch_model *m); /* safe on NULL */

const char *branch_model_name(const branch_model *m); /* of its kind */

/* Optional capabilities. */
typedef enum branch_ability {
    BRANCH_GRADIENT, /* can be fitted to given lengths */
    BRANCH_BACKWARD, /* can be trained on its own draws */
} branch_ability;

bool branch_model_can(const branch_model *m, branch_ability what);

/* The operations described above. If the model does not implement them, initialise and changed do
 * nothing, and gradient and backward return ART_ERR_UNSUPPORTED. k may be 0. */
int branch_model_sample(branch_model *m, double *length, double *log_q, const int32_t *decision,
                        int k, uint64_t seed, uint32_t purpose, uint32_t step, uint32_t first);
int branch_model_score(branch_model *m, double *log_q, const double *length,
                       const int32_t *decision, int k);
int branch_model_reference(branch_model *m, double *log_q, const double *length,
                           const int32_t *decision);
int branch_model_gradient(branch_model *m, double *log_q, const double *length,
                          const int32_t *decision, const double *coefficient, int k);
int branch_model_backward(branch_model *m, const double *dlength, const double *dlog_q);
void branch_model_initialise(branch_model *m, uint64_t seed);
void branch_model_changed(branch_model *m);

#endif
