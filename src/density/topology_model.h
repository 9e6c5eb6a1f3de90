/* topology_model.h: a probability distribution over tree topologies, as an interface of a few
 * operations.
 *
 * The training code uses this interface and does not depend on the kind of model. Trees are given
 * by their decisions (tree/topology.h), [k][N-3]. Nothing is allocated in sample, score or gradient
 * after the first call at a given size. Results do not depend on the number of threads, bit for
 * bit.
 *
 *     topology_config config = topology_config_default(topology_kind_find(TOPOLOGY_KINDS,
 *                                                                         "artreeformer"));
 *     status = topology_config_set(&config, "hidden_dim", 64);
 *     status = topology_model_create(&m, &config, n_taxa, threads);
 *     topology_model_initialise(m, seed);              or load its parameters
 *     topology_model_changed(m);                       whenever they changed
 *     status = topology_model_sample(m, decision, log_q, k, seed, RNG_SAMPLE, 0, 0);
 *     topology_model_free(m);
 *
 * The available kinds are in the table of density/factory.h; docs/new-topology-model.md explains
 * how to write another one. */
#ifndef DENSITY_TOPOLOGY_MODEL_H
#define DENSITY_TOPOLOGY_MODEL_H

#include "base/pool.h"
#include "density/model_config.h"
#include "io/safetensors.h"
#include "nn/params.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct topology_model topology_model;
typedef struct topology_kind topology_kind;

/* The kind of model, and its configuration values. */
typedef struct topology_config {
    const topology_kind *kind;
    double value[CONFIG_KEYS]; /* of kind->keys, in their order */
} topology_config;

/* A row of a table of kinds. Tables end with a row without a name. */
struct topology_kind {
    const char *name;       /* "artreeformer", as in model files */
    const config_key *keys; /* ends with a key without a name; NULL if there are none */

    /* A model with all parameters zero. The configuration and n_taxa >= 3 have already been
     * checked; threads is borrowed and may be NULL. On failure *out is NULL. */
    int (*create)(topology_model **out, const topology_config *config, int n_taxa, pool *threads);

    /* The kind of branch model that was published with it, which belongs to it where nothing else
     * is said; NULL for the first of the table. */
    const char *branches;
};

/* What the last sample, score or gradient call did: how many step evaluations (partial trees) it
 * needed and how many it would have needed without sharing, weighted by their edges. done /
 * unshared is the fraction of the work that remained. A gradient is propagated back through
 * `followed` of the evaluated edges, and `again` of them are evaluated a second time: none if a
 * sample has kept the values needed. All zero in models that share no work between trees. */
typedef struct topology_work {
    double done;
    double unshared;
    double followed;
    double again;
} topology_work;

/* What a model implements; callers use the functions below. */
typedef struct topology_model_ops {
    /* Required. */

    /* Draws k trees. Tree i uses the stream (seed, purpose, step, first + i): a tree does not
     * depend on the others. Writes decision [k][N-3] and log_q [k]. */
    int (*sample)(topology_model *m, int32_t *decision, double *log_q, int k, uint64_t seed,
                  uint32_t purpose, uint32_t step, uint32_t first);

    /* log_q [k] of given trees; ART_ERR_USAGE if decisions are not those of trees. */
    int (*score)(topology_model *m, double *log_q, const int32_t *decision, int k);

    /* log q of one tree in double by the plain definition (the reference for tests and for the
     * run-time check). */
    int (*reference)(topology_model *m, double *log_q, const int32_t *decision);

    void (*free)(topology_model *m); /* safe on a half-built one */

    /* Optional: NULL if the model does not support it, or has nothing to do. */

    /* Adds the gradient of sum_i coefficient[i] * log q(tree_i) to params.grad. Also writes
     * log_q [k] if not NULL. Training needs it. */
    int (*gradient)(topology_model *m, double *log_q, const int32_t *decision,
                    const double *coefficient, int k);

    /* Sets every parameter from the seed. */
    void (*initialise)(topology_model *m, uint64_t seed);

    /* Must be called after the parameters changed: discards everything derived from them. */
    void (*changed)(topology_model *m);

    /* For parameters that stay fixed over many calls (sampling, evidence, divergence): caches the
     * distributions of partial trees computed by sample and score, in at most max_bytes, until
     * changed is called; the least used entries are dropped first. Results are the same. The memory
     * is reserved here and filled gradually. max_bytes 0 turns the cache off. */
    int (*freeze)(topology_model *m, size_t max_bytes);

    /* While frozen, and until freeze is called again: sample and score use a flatter distribution,
     * in which the probabilities of every decision are raised to a power above 0 and at most 1, and
     * normalised. This gives proposals with longer tails. A model that implements flatten must also
     * implement freeze. */
    void (*flatten)(topology_model *m, double power);

    /* Models whose tables follow from trees (the clades of a sample, say) are created empty, and
     * filled by fit_begin or by load_structure, once. Before that, sample, score and reference
     * return ART_ERR_USAGE. Such a model has all four of these, or all but fit_step. */

    /* Makes the tables from weighted trees, decision [count][N-3], and the start of the fit. The
     * trees are borrowed until the fit is done. A model with gradient is then trained; params exist
     * from here on. */
    int (*fit_begin)(topology_model *m, const int32_t *decision, const double *weight,
                     size_t count);

    /* One iteration of a fit that needs no gradient. *objective is that of the iteration, what the
     * fit makes as large as possible (mean log q of the trees, and the log of a prior if there is
     * one); NaN if there is none. */
    int (*fit_step)(topology_model *m, double *objective, bool *is_done);

    /* All that is needed beside params: adds tensors whose names begin with "tree." and that live
     * as long as the model; and fills an empty model from them. */
    int (*save_structure)(const topology_model *m, safetensors *s);
    int (*load_structure)(topology_model *m, safetensors *s, diag_place place, diag *d);

    /* Selects the method of computing node embeddings, of enum embedding_method
     * (density/artreeformer/embedding.h); the results are the same up to rounding. */
    int (*set_embedding)(topology_model *m, int method);
} topology_model_ops;

struct topology_model {
    const topology_model_ops *ops;
    topology_config config; /* set by topology_model_create */
    int n_taxa;
    params params; /* names begin with "tree."; empty in models without parameters */
    topology_work work;
};

/* The configuration of a kind with its defaults. */
topology_config topology_config_default(const topology_kind *kind);

/* ART_ERR_USAGE if the kind has no such key. Ranges are checked in topology_model_create. */
int topology_config_set(topology_config *c, const char *name, double value);

/* The value of a key of the kind. */
double topology_config_get(const topology_config *c, const char *name);
bool topology_config_has(const topology_config *c, const char *name);

/* The row with a name in a table of kinds; NULL if there is none. */
const topology_kind *topology_kind_find(const topology_kind *kinds, const char *name);

/* A model with all parameters zero: initialise or load them, then call changed. ART_ERR_USAGE for
 * a number out of its range and for n_taxa < 3. threads is borrowed and may be NULL. On failure
 * *out is NULL. */
int topology_model_create(topology_model **out, const topology_config *config, int n_taxa,
                          pool *threads);
void topology_model_free(topology_model *m); /* safe on NULL */

const char *topology_model_name(const topology_model *m); /* of its kind */

/* Optional capabilities. */
typedef enum topology_ability {
    TOPOLOGY_GRADIENT,  /* be trained by gradients */
    TOPOLOGY_CACHE,     /* profit from freeze */
    TOPOLOGY_FLATTEN,   /* be flattened */
    TOPOLOGY_EMBEDDING, /* choose how node embeddings are computed */
    TOPOLOGY_TABLES,    /* it is filled from trees: fit_begin, save_structure, load_structure */
    TOPOLOGY_STEPS,     /* .. and fitted by fit_step */
} topology_ability;

bool topology_model_can(const topology_model *m, topology_ability what);

/* The operations described above. If the model does not implement them, initialise, changed and
 * freeze do nothing (a model without a cache gives the same results), and gradient, flatten and
 * set_embedding return ART_ERR_UNSUPPORTED. k may be 0. */
int topology_model_sample(topology_model *m, int32_t *decision, double *log_q, int k, uint64_t seed,
                          uint32_t purpose, uint32_t step, uint32_t first);
int topology_model_score(topology_model *m, double *log_q, const int32_t *decision, int k);
int topology_model_reference(topology_model *m, double *log_q, const int32_t *decision);
int topology_model_gradient(topology_model *m, double *log_q, const int32_t *decision,
                            const double *coefficient, int k);
void topology_model_initialise(topology_model *m, uint64_t seed);
void topology_model_changed(topology_model *m);
int topology_model_freeze(topology_model *m, size_t max_bytes);
int topology_model_flatten(topology_model *m, double power);
int topology_model_set_embedding(topology_model *m, int method);

/* Of models with tables; ART_ERR_UNSUPPORTED of others, but they have no structure to save or to
 * load, which does nothing. fit_begin: ART_ERR_USAGE for trees that are none and for weights that
 * are negative or all 0. */
int topology_model_fit_begin(topology_model *m, const int32_t *decision, const double *weight,
                             size_t count);
int topology_model_fit_step(topology_model *m, double *objective, bool *is_done);
int topology_model_save_structure(const topology_model *m, safetensors *s);
int topology_model_load_structure(topology_model *m, safetensors *s, diag_place place, diag *d);

#endif
