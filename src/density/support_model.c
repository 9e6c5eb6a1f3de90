#include "density/support_model.h"

#include "artreeformer.h"
#include "tree/topology.h"

#include <math.h>
#include <stddef.h>

enum { CHUNK = 64 }; /* trees of a task */

void support_model_init(support_model *m, const topology_model_ops *ops, int n_taxa, double smooth,
                        pool *threads)
{
    m->base.ops = ops;
    m->base.n_taxa = n_taxa;
    m->threads = threads;
    m->smooth = smooth;
    m->log_uniform = 0;
    for (int n = 3; n < n_taxa; n++)
        m->log_uniform -= log(topology_edges(n));
}

double support_mix(const support_model *m, double log_q)
{
    if (m->smooth == 0 || m->base.n_taxa == 3)
        return log_q;
    const double a = log1p(-m->smooth) + log_q, b = log(m->smooth) + m->log_uniform;
    return fmax(a, b) + log1p(exp(-fabs(a - b)));
}

double support_share(const support_model *m, double log_q)
{
    return m->smooth == 0 ? 1 : exp(log1p(-m->smooth) + log_q - support_mix(m, log_q));
}

/* The trees of a call, and what is asked of them. */
typedef struct batch {
    support_model *m;
    const int32_t *given;
    int32_t *drawn; /* NULL: score those given */
    double *log_q;
    int k;
    uint64_t seed;
    uint32_t purpose, step, first;
} batch;

static void draw_tree(const batch *b, int i, int32_t *decision, int worker)
{
    support_model *m = b->m;
    rng r = rng_at(b->seed, b->purpose, b->step, b->first + (uint32_t)i);
    if (m->smooth == 0 || rng_uniform(&r) >= m->smooth) {
        m->draw(m, decision, &r, worker);
        return;
    }
    for (int n = 3; n < m->base.n_taxa; n++)
        decision[n - 3] = (int32_t)rng_below(&r, (uint32_t)topology_edges(n));
}

static void work(void *context, int task, int worker)
{
    const batch *b = context;
    const ptrdiff_t n = b->m->base.n_taxa - 3;
    for (int i = task * CHUNK; i < b->k && i < (task + 1) * CHUNK; i++) {
        if (b->drawn)
            draw_tree(b, i, b->drawn + i * n, worker);
        const int32_t *at = (b->drawn ? b->drawn : b->given) + i * n;
        b->log_q[i] = support_mix(b->m, b->m->log_q(b->m, at, worker));
    }
}

int support_sample(topology_model *m, int32_t *decision, double *log_q, int k, uint64_t seed,
                   uint32_t purpose, uint32_t step, uint32_t first)
{
    support_model *s = (support_model *)m;
    if (!s->is_filled)
        return ART_ERR_USAGE;
    batch b = {.m = s,
               .drawn = decision,
               .log_q = log_q,
               .k = k,
               .seed = seed,
               .purpose = purpose,
               .step = step,
               .first = first};
    pool_run(s->threads, (k + CHUNK - 1) / CHUNK, work, &b);
    return ART_OK;
}

int support_score(topology_model *m, double *log_q, const int32_t *decision, int k)
{
    support_model *s = (support_model *)m;
    if (!s->is_filled || !decisions_are_trees(decision, (size_t)k, m->n_taxa))
        return ART_ERR_USAGE;
    batch b = {.m = s, .given = decision, .log_q = log_q, .k = k};
    pool_run(s->threads, (k + CHUNK - 1) / CHUNK, work, &b);
    return ART_OK;
}
