#include "support/table_model.h"

#include "support/exact.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>

enum { DECISIONS = TABLE_TAXA - 3 };

static void log_softmax(double *log_q, const topology_model *m)
{
    const real *logit = params_value(&m->params, 0);
    double sum = 0;
    for (int t = 0; t < TABLE_TREES; t++)
        sum += exp((double)logit[t]);
    for (int t = 0; t < TABLE_TREES; t++)
        log_q[t] = (double)logit[t] - log(sum);
}

static int table_score(topology_model *m, double *log_q, const int32_t *decision, int k)
{
    double all[TABLE_TREES];
    log_softmax(all, m);
    for (int i = 0; i < k; i++)
        log_q[i] = all[exact_index(decision + i * DECISIONS, TABLE_TAXA)];
    return ART_OK;
}

static int table_sample(topology_model *m, int32_t *decision, double *log_q, int k, uint64_t seed,
                        uint32_t purpose, uint32_t step, uint32_t first)
{
    double all[TABLE_TREES];
    log_softmax(all, m);
    for (int i = 0; i < k; i++) {
        rng r = rng_at(seed, purpose, step, first + (uint32_t)i);
        double left = rng_uniform(&r);
        int t = 0;
        while (t < TABLE_TREES - 1 && (left -= exp(all[t])) > 0)
            t++;
        exact_tree(decision + i * DECISIONS, t, TABLE_TAXA);
        log_q[i] = all[t];
    }
    m->work = (topology_work){.done = k, .unshared = 2 * k};
    return ART_OK;
}

static int table_gradient(topology_model *m, double *log_q, const int32_t *decision,
                          const double *coefficient, int k)
{
    double all[TABLE_TREES];
    real *grad = params_grad(&m->params, 0);
    log_softmax(all, m);
    for (int i = 0; i < k; i++) {
        int own = exact_index(decision + i * DECISIONS, TABLE_TAXA);
        for (int t = 0; t < TABLE_TREES; t++)
            grad[t] += (real)(coefficient[i] * ((t == own) - exp(all[t])));
        if (log_q)
            log_q[i] = all[own];
    }
    return ART_OK;
}

static void table_initialise(topology_model *m, uint64_t seed)
{
    rng r = rng_at(seed, RNG_INIT, 0, 0);
    for (int t = 0; t < TABLE_TREES; t++)
        params_value(&m->params, 0)[t] = (real)(0.1 * rng_normal(&r));
}

static int table_plain(topology_model *m, double *log_q, const int32_t *decision)
{
    return table_score(m, log_q, decision, 1);
}

static void table_free(topology_model *m)
{
    params_free(&m->params);
    free(m);
}

static const topology_model_ops OPS = {.sample = table_sample,
                                       .score = table_score,
                                       .gradient = table_gradient,
                                       .initialise = table_initialise,
                                       .reference = table_plain,
                                       .free = table_free};

static int table_create(topology_model **out, const topology_config *config, int n_taxa,
                        pool *threads)
{
    (void)config, (void)threads;
    *out = NULL;
    if (n_taxa != TABLE_TAXA)
        return ART_ERR_USAGE;
    topology_model *m = mem_zeros(1, sizeof *m);
    if (!m)
        return ART_ERR_NOMEM;
    m->ops = &OPS;
    m->n_taxa = n_taxa;
    int status = params_add(&m->params, "tree.logit", TABLE_TREES, 0);
    if (!status)
        status = params_alloc(&m->params);
    if (status)
        table_free(m);
    else
        *out = m;
    return status;
}

static const topology_kind TABLE = {.name = "table", .keys = NULL, .create = table_create};

int table_model_create(topology_model **out)
{
    const topology_config config = topology_config_default(&TABLE);
    return topology_model_create(out, &config, TABLE_TAXA, NULL);
}
