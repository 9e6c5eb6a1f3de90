#include "density/counted/mixed_model.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The stream that decides where a tree is drawn from is that of the draw with another purpose,
 * which nobody else has (base/rng.h numbers them from 0). */
static const uint32_t THIRD_STREAM = 0x40000000u;

typedef struct mixed {
    topology_model base; /* its parameters are those of the network */
    topology_model *network, *tables;
    double share;
    double *other; /* [room] log-probabilities in the other model .. */
    int32_t *tree; /* .. [room][N-3] and the trees drawn from the tables */
    int *number;   /* [room] which they are */
    size_t room;
} mixed;

static mixed *self(topology_model *m)
{
    return (mixed *)m;
}

/* log((1 - s) e^a + s e^b); a is finite. */
static double blend(const mixed *x, double a, double b)
{
    const double first = log1p(-x->share) + a, second = log(x->share) + b;
    const double top = fmax(first, second);
    return top + log(exp(first - top) + exp(second - top));
}

static int make_room(mixed *x, size_t k)
{
    const size_t n = (size_t)x->base.n_taxa - 3;
    if (k <= x->room)
        return ART_OK;
    double *other = mem_resize(x->other, k, sizeof *other);
    if (other)
        x->other = other;
    int32_t *tree = mem_resize(x->tree, k * n + 1, sizeof *tree);
    if (tree)
        x->tree = tree;
    int *number = mem_resize(x->number, k, sizeof *number);
    if (number)
        x->number = number;
    if (!other || !tree || !number)
        return ART_ERR_NOMEM;
    x->room = k;
    return ART_OK;
}

static int model_score(topology_model *m, double *log_q, const int32_t *decision, int k)
{
    mixed *x = self(m);
    int status = make_room(x, (size_t)k);
    if (!status)
        status = topology_model_score(x->tables, x->other, decision, k);
    if (!status)
        status = topology_model_score(x->network, log_q, decision, k);
    for (int i = 0; i < k && !status; i++)
        log_q[i] = blend(x, log_q[i], x->other[i]);
    m->work = x->network->work;
    return status;
}

/* Some of the trees, which the network has drawn, are replaced by draws from the tables; log_q is
 * that of the network afterwards. */
static int replace_some(mixed *x, int32_t *decision, double *log_q, int k, uint64_t seed,
                        uint32_t purpose, uint32_t step, uint32_t first)
{
    const size_t n = (size_t)x->base.n_taxa - 3;
    int count = 0, status = ART_OK;
    for (int i = 0; i < k && !status; i++) {
        const uint32_t at = first + (uint32_t)i;
        rng r = rng_at(seed, purpose ^ THIRD_STREAM, step, at);
        double ignored;
        if (rng_uniform(&r) >= x->share)
            continue;
        status = topology_model_sample(x->tables, x->tree + (size_t)count * n, &ignored, 1, seed,
                                       purpose, step, at);
        x->number[count++] = i;
    }
    if (!status)
        status = topology_model_score(x->network, x->other, x->tree, count);
    for (int j = 0; j < count && !status; j++) {
        memcpy(decision + (size_t)x->number[j] * n, x->tree + (size_t)j * n, n * sizeof *decision);
        log_q[x->number[j]] = x->other[j];
    }
    return status;
}

static int model_sample(topology_model *m, int32_t *decision, double *log_q, int k, uint64_t seed,
                        uint32_t purpose, uint32_t step, uint32_t first)
{
    mixed *x = self(m);
    int status = make_room(x, (size_t)k);
    if (!status)
        status = topology_model_sample(x->network, decision, log_q, k, seed, purpose, step, first);
    m->work = x->network->work;
    if (!status)
        status = replace_some(x, decision, log_q, k, seed, purpose, step, first);
    if (!status)
        status = topology_model_score(x->tables, x->other, decision, k);
    for (int i = 0; i < k && !status; i++)
        log_q[i] = blend(x, log_q[i], x->other[i]);
    return status;
}

static int model_reference(topology_model *m, double *log_q, const int32_t *decision)
{
    mixed *x = self(m);
    double a, b;
    int status = topology_model_reference(x->network, &a, decision);
    if (!status)
        status = topology_model_reference(x->tables, &b, decision);
    if (!status)
        *log_q = blend(x, a, b);
    return status;
}

/* The tables are fitted to the end: it takes seconds. */
static int model_fit_begin(topology_model *m, const int32_t *decision, const double *weight,
                           size_t count)
{
    mixed *x = self(m);
    bool is_done = false;
    double objective;
    int status = topology_model_fit_begin(x->tables, decision, weight, count);
    while (!status && !is_done)
        status = topology_model_fit_step(x->tables, &objective, &is_done);
    return status;
}

static int model_save(const topology_model *m, safetensors *s)
{
    return topology_model_save_structure(((const mixed *)m)->tables, s);
}

static int model_load(topology_model *m, safetensors *s, diag_place place, diag *d)
{
    return topology_model_load_structure(self(m)->tables, s, place, d);
}

static void model_changed(topology_model *m)
{
    topology_model_changed(self(m)->network);
}

static void model_initialise(topology_model *m, uint64_t seed)
{
    topology_model_initialise(self(m)->network, seed);
}

static int model_freeze(topology_model *m, size_t max_bytes)
{
    return topology_model_freeze(self(m)->network, max_bytes);
}

static int model_set_embedding(topology_model *m, int method)
{
    return topology_model_set_embedding(self(m)->network, method);
}

static void model_free(topology_model *m)
{
    mixed *x = self(m);
    topology_model_free(x->network); /* with the parameters */
    topology_model_free(x->tables);
    free(x->other);
    free(x->tree);
    free(x->number);
    free(x);
}

/* Those of a network with one way to compute embeddings, and of one with several. */
#define COMMON_OPS                                                                      \
    .sample = model_sample, .score = model_score, .reference = model_reference,         \
    .free = model_free, .initialise = model_initialise, .changed = model_changed,       \
    .freeze = model_freeze, .fit_begin = model_fit_begin, .save_structure = model_save, \
    .load_structure = model_load

static const topology_model_ops OPS = {COMMON_OPS};
static const topology_model_ops EMBEDDING_OPS = {COMMON_OPS, .set_embedding = model_set_embedding};

int mixed_model_create(topology_model **out, topology_model *network, topology_model *tables,
                       double share)
{
    mixed *x = mem_zeros(1, sizeof *x);
    *out = NULL;
    if (!x) {
        topology_model_free(network);
        topology_model_free(tables);
        return ART_ERR_NOMEM;
    }
    x->base.ops = topology_model_can(network, TOPOLOGY_EMBEDDING) ? &EMBEDDING_OPS : &OPS;
    x->base.config = network->config;
    x->base.n_taxa = network->n_taxa;
    x->base.params = network->params;
    x->network = network;
    x->tables = tables;
    x->share = share;
    *out = &x->base;
    return ART_OK;
}
