#include "density/artreeformer/artreeformer_model.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "density/artreeformer/engine.h"
#include "density/artreeformer/network.h"
#include "density/artreeformer/trie_batch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH_EDGES = 4 << 20 }; /* larger batches are cut: the trie of one stays below 80 MB */

static const size_t keep_bytes = (size_t)512 << 20; /* what sample may keep for gradient */

typedef struct artreeformer {
    topology_model base;
    int d, heads;
    engine engine;
    int stale;   /* the weights changed since the panels were made */
    int keeping; /* every entry of the trie is evaluated and has a slot */
    int frozen;
    trie_batch batch;
} artreeformer;

static artreeformer *self(topology_model *m)
{
    return (artreeformer *)m;
}

static void model_free(topology_model *m)
{
    if (!m)
        return;
    artreeformer *a = self(m);
    engine_free(&a->engine);
    params_free(&m->params);
    trie_batch_free(&a->batch);
    free(a);
}

/* Number of further trees for which the trie has room. */
static size_t trie_room(const trie *t, size_t n_entries, size_t n_edges)
{
    const size_t edges = (t->room_edges - n_edges) / (trie_tree_edges(t->n_taxa) + 1);
    const size_t entries = (t->room_entries - n_entries) / (trie_tree_entries(t->n_taxa) + 1);
    return edges < entries ? edges : entries;
}

/* How many of k trees are done together at most. */
static int batch_size(const artreeformer *a, int k)
{
    const trie *t = &a->engine.trie;
    size_t most = BATCH_EDGES / (trie_tree_edges(t->n_taxa) + 1) + 1;
    if (a->frozen && trie_room(t, 3, 3) < most)
        most = trie_room(t, 3, 3);
    return (size_t)k < most ? k : (int)most;
}

/* Room for batches of k trees. */
static int reserve(artreeformer *a, int k)
{
    const int n_taxa = a->base.n_taxa;
    const size_t trees = (size_t)k, entries = trie_tree_entries(n_taxa) * trees;
    int status = trie_batch_reserve(&a->batch, n_taxa, k);
    if (!status)
        status = engine_reserve(&a->engine, entries + 1);
    if (status || a->frozen) /* then the trie has its room since freeze */
        return status;
    return trie_reserve(&a->engine.trie, entries + 1, trie_tree_edges(n_taxa) * trees + 3);
}

static int reserve_gradient(artreeformer *a, int k)
{
    int status = trie_batch_reserve_gradient(&a->batch, a->base.n_taxa, k);
    return status ? status : engine_reserve_gradient(&a->engine);
}

/* Makes what depends on the weights, and a trie with room for k trees more; or for fewer, if it
 * is a cache that is nearly full. When there is hardly room it forgets half. Returns how many. */
static int begin(artreeformer *a, int k)
{
    trie *t = &a->engine.trie;
    if (a->stale)
        panels_refresh(&a->engine.panels, a->engine.threads);
    if (a->stale || !a->frozen)
        trie_clear(t);
    if (a->frozen) {
        const size_t enough = trie_room(t, 3, 3) / 16 + 1;
        if (trie_room(t, t->n_entries, t->n_edges) < enough)
            trie_evict(t, t->room_entries / 2, t->room_edges / 2);
        const size_t room = trie_room(t, t->n_entries, t->n_edges);
        k = (size_t)k < room ? k : (int)room;
    }
    a->stale = 0;
    a->keeping = 0;
    trie_batch_start(&a->batch, t, k);
    return k;
}

static void evaluate_list(artreeformer *a, int keep)
{
    trie_batch *b = &a->batch;
    a->base.work.done += (double)engine_evaluate(&a->engine, b->list, b->n_list, keep);
    b->n_list = 0;
}

/* k trees, for which begin has made room. */
static void sample_batch(artreeformer *a, int32_t *decision, double *log_q, int k, int keep)
{
    memset(log_q, 0, (size_t)k * sizeof *log_q);
    for (int n = 3; n < a->base.n_taxa; n++) {
        evaluate_list(a, keep);
        trie_batch_choose(&a->batch, &a->engine.trie, decision, log_q, k, n);
    }
    a->keeping = keep;
}

static int model_sample(topology_model *m, int32_t *decision, double *log_q, int k, uint64_t seed,
                        uint32_t purpose, uint32_t step, uint32_t first)
{
    artreeformer *a = self(m);
    const int most = batch_size(a, k);
    const size_t entries = trie_tree_entries(m->n_taxa) * (size_t)k;
    const size_t edges = trie_tree_edges(m->n_taxa) * (size_t)k;
    const int keep =
        !a->frozen && most == k && tile_bytes(a->d, a->heads, entries, edges) <= keep_bytes;
    int status = reserve(a, most);
    if (!status && keep)
        status = tile_reserve(&a->engine.kept, entries, edges);
    if (status)
        return status;
    m->work = (topology_work){.unshared = (double)edges};
    for (int done = 0, count; done < k; done += count) {
        count = begin(a, k - done < most ? k - done : most);
        for (int i = 0; i < count; i++)
            a->batch.stream[i] = rng_at(seed, purpose, step, first + (uint32_t)(done + i));
        sample_batch(a, decision + (ptrdiff_t)done * (m->n_taxa - 3), log_q + done, count, keep);
    }
    return ART_OK;
}

static int model_score(topology_model *m, double *log_q, const int32_t *decision, int k)
{
    artreeformer *a = self(m);
    const int most = batch_size(a, k);
    int status = decisions_are_trees(decision, (size_t)k, m->n_taxa) ? ART_OK : ART_ERR_USAGE;
    if (!status)
        status = reserve(a, most);
    if (status)
        return status;
    m->work = (topology_work){.unshared = (double)trie_tree_edges(m->n_taxa) * k};
    for (int done = 0, count; done < k; done += count) {
        const int32_t *trees = decision + (ptrdiff_t)done * (m->n_taxa - 3);
        count = begin(a, k - done < most ? k - done : most);
        trie_batch_insert(&a->batch, &a->engine.trie, trees, count);
        evaluate_list(a, 0);
        trie_batch_log_q(&a->engine.trie, log_q + done, trees, count);
    }
    return ART_OK;
}

static int model_gradient(topology_model *m, double *log_q, const int32_t *decision,
                          const double *coefficient, int k)
{
    artreeformer *a = self(m);
    trie_batch *b = &a->batch;
    trie *t = &a->engine.trie;
    const int most = batch_size(a, k);
    int status = decisions_are_trees(decision, (size_t)k, m->n_taxa) ? ART_OK : ART_ERR_USAGE;
    if (!status)
        status = reserve(a, most);
    if (!status)
        status = reserve_gradient(a, most);
    if (status)
        return status;
    m->work = (topology_work){.unshared = (double)trie_tree_edges(m->n_taxa) * k};
    for (int done = 0, count; done < k && m->n_taxa > 3; done += count) {
        const int32_t *trees = decision + (ptrdiff_t)done * (m->n_taxa - 3);
        double mass = 0;
        count = k - done < most ? k - done : most;
        const int kept = a->keeping && trie_batch_has(t, trees, count);
        if (!kept) {
            count = begin(a, count);
            trie_batch_insert(b, t, trees, count);
        }
        trie_batch_collect(b, t, trees, coefficient + done, count);
        trie_batch_unmark(b, t);
        m->work.done += (double)b->offset[b->n_list];
        m->work.again += kept ? 0 : (double)b->offset[b->n_list];
        for (int i = 0; i < count; i++)
            mass += fabs(coefficient[done + i]);
        m->work.followed += (double)engine_gradient(&a->engine, &m->params, b->list, b->offset,
                                                    b->weight, b->n_list, mass);
        if (log_q)
            trie_batch_log_q(t, log_q + done, trees, count);
    }
    for (int i = 0; i < k && log_q && m->n_taxa == 3; i++)
        log_q[i] = 0;
    return ART_OK;
}

static void model_changed(topology_model *m)
{
    artreeformer *a = self(m);
    a->stale = 1;
    a->keeping = 0;
}

static void model_initialise(topology_model *m, uint64_t seed)
{
    network_initialise(&m->params, seed);
    model_changed(m);
}

static int model_freeze(topology_model *m, size_t max_bytes)
{
    artreeformer *a = self(m);
    trie *t = &a->engine.trie;
    const size_t edges = trie_tree_edges(m->n_taxa) + 3, entries = trie_tree_entries(m->n_taxa) + 1;
    /* twice as many entries per edge as whole trees have; room for two trees at least */
    const size_t fit = max_bytes / trie_bytes(2 * entries, edges, 0),
                 most = INT32_MAX / (2 * entries);
    const size_t trees = fit < 2 ? 2 : fit < most ? fit : most;
    a->frozen = 0;
    a->keeping = 0;
    trie_free(t);
    trie_init(t, m->n_taxa, 0);
    if (max_bytes == 0)
        return ART_OK;
    int status = engine_forget(&a->engine);
    if (!status)
        status = trie_reserve(t, 2 * entries * trees, edges * trees);
    if (status)
        return status;
    trie_clear(t);
    a->frozen = 1;
    return ART_OK;
}

static void model_flatten(topology_model *m, double power)
{
    artreeformer *a = self(m);
    a->engine.trie.power = (real)power;
    trie_clear(&a->engine.trie);
}

static int model_plain(topology_model *m, double *log_q, const int32_t *decision)
{
    const artreeformer *a = self(m);
    int status = decisions_are_trees(decision, 1, m->n_taxa) ? ART_OK : ART_ERR_USAGE;
    return status ? status
                  : network_ref(log_q, NULL, &m->params, m->n_taxa, a->d, a->heads, decision);
}

static int model_set_embedding(topology_model *m, int method)
{
    if (method < 0 || method > EMBEDDING_SQUARED)
        return ART_ERR_USAGE;
    model_changed(m);
    return engine_embedding(&self(m)->engine, (embedding_method)method);
}

static const topology_model_ops artreeformer_ops = {
    .sample = model_sample,
    .score = model_score,
    .gradient = model_gradient,
    .initialise = model_initialise,
    .changed = model_changed,
    .freeze = model_freeze,
    .flatten = model_flatten,
    .set_embedding = model_set_embedding,
    .reference = model_plain,
    .free = model_free,
};

int artreeformer_create(topology_model **out, int n_taxa, int hidden, int heads, pool *threads)
{
    *out = NULL;
    if (n_taxa < 3 || hidden < 1 || heads < 1 || hidden % heads != 0)
        return ART_ERR_USAGE;
    artreeformer *a = mem_zeros(1, sizeof *a);
    if (!a)
        return ART_ERR_NOMEM;
    a->base.ops = &artreeformer_ops;
    a->base.n_taxa = n_taxa;
    a->d = hidden;
    a->heads = heads;
    a->stale = 1;
    int status = network_params(&a->base.params, n_taxa, hidden);
    if (!status)
        status = engine_init(&a->engine, &a->base.params, n_taxa, hidden, heads, threads);
    if (status)
        model_free(&a->base);
    else
        *out = &a->base;
    return status;
}
