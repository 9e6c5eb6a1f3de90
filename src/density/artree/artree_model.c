#include "density/artree/artree_model.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "density/artree/artree_engine.h"
#include "density/artree/artree_network.h"
#include "density/artreeformer/trie_batch.h"

#include <stdlib.h>
#include <string.h>

/* Larger batches are cut, so that the trie, its states and their gradients stay below this. */
static const size_t batch_bytes = (size_t)512 << 20;
static const size_t keep_bytes = (size_t)512 << 20; /* what may be kept for the backward pass */

typedef struct artree {
    topology_model base;
    int d;
    artree_engine engine;
    int stale;   /* the weights changed since the engine's were made */
    int keeping; /* every entry of the trie is evaluated and kept */
    int frozen;
    trie_batch batch;
} artree;

static artree *self(topology_model *m)
{
    return (artree *)m;
}

static void model_free(topology_model *m)
{
    if (!m)
        return;
    artree *a = self(m);
    artree_engine_free(&a->engine);
    params_free(&m->params);
    trie_batch_free(&a->batch);
    free(a);
}

/* What a batch of k trees has at most. */
static size_t entries_of(const artree *a, int k)
{
    return trie_tree_entries(a->base.n_taxa) * (size_t)k + 1;
}

static size_t edges_of(const artree *a, int k)
{
    return trie_tree_edges(a->base.n_taxa) * (size_t)k + 3;
}

/* Number of further trees for which the trie has room. */
static size_t trie_room(const trie *t, size_t n_entries, size_t n_edges)
{
    const size_t edges = (t->room_edges - n_edges) / (trie_tree_edges(t->n_taxa) + 1);
    const size_t entries = (t->room_entries - n_entries) / (trie_tree_entries(t->n_taxa) + 1);
    return edges < entries ? edges : entries;
}

/* How many of k trees are done together at most. */
static int batch_size(const artree *a, int k)
{
    const trie *t = &a->engine.trie;
    size_t most = batch_bytes / trie_bytes(entries_of(a, 1), edges_of(a, 1), 2 * a->d) + 1;
    if (a->frozen && trie_room(t, 3, 3) < most)
        most = trie_room(t, 3, 3);
    return (size_t)k < most ? k : (int)most;
}

/* Room for batches of k trees. */
static int reserve(artree *a, int k)
{
    int status = trie_batch_reserve(&a->batch, a->base.n_taxa, k);
    if (!status)
        status = artree_engine_reserve(&a->engine, entries_of(a, k));
    if (status || a->frozen) /* then the trie has its room since freeze */
        return status;
    return trie_reserve(&a->engine.trie, entries_of(a, k), edges_of(a, k));
}

/* Whether k trees may be kept for the backward pass: not those of a cache, whose rows move. */
static int can_keep(const artree *a, int k)
{
    const size_t rows = entries_of(a, k) + edges_of(a, k);
    return !a->frozen && artree_tile_bytes(a->d, rows, edges_of(a, k)) <= keep_bytes;
}

static int reserve_kept(artree *a, int k)
{
    return artree_tile_reserve(&a->engine.kept, entries_of(a, k) + edges_of(a, k), edges_of(a, k));
}

static int reserve_gradient(artree *a, int k)
{
    const trie *t = &a->engine.trie; /* larger than k trees if it is a cache */
    int status = trie_batch_reserve_gradient(&a->batch, a->base.n_taxa, k);
    if (!status)
        status = artree_engine_reserve_gradient(&a->engine, t->room_entries + t->room_edges);
    if (!status && can_keep(a, k))
        status = reserve_kept(a, k);
    return status;
}

/* Makes what depends on the weights, and a trie with room for k trees more; or for fewer, if it is
 * a cache that is nearly full. When there is hardly room it forgets half. Returns how many. */
static int begin(artree *a, int k)
{
    trie *t = &a->engine.trie;
    if (a->stale)
        artree_weights_refresh(&a->engine.weights);
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

static void evaluate_list(artree *a, int keep)
{
    trie_batch *b = &a->batch;
    a->base.work.done += (double)artree_engine_evaluate(&a->engine, b->list, b->n_list, keep);
    b->n_list = 0;
}

/* k trees, for which begin has made room. */
static void sample_batch(artree *a, int32_t *decision, double *log_q, int k, int keep)
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
    artree *a = self(m);
    const int most = batch_size(a, k), keep = most == k && can_keep(a, k);
    int status = reserve(a, most);
    if (!status && keep)
        status = reserve_kept(a, k);
    if (status)
        return status;
    m->work = (topology_work){.unshared = (double)trie_tree_edges(m->n_taxa) * k};
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
    artree *a = self(m);
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

/* The gradient of count trees whose entries are all evaluated; kept if `kept`. Returns their
 * edges. */
static double add_gradient(artree *a, const int32_t *trees, const double *coefficient, int count,
                           int kept)
{
    trie_batch *b = &a->batch;
    trie_batch_collect(b, &a->engine.trie, trees, coefficient, count);
    const double edges = (double)b->offset[b->n_list];
    artree_engine_gradient(&a->engine, &a->base.params, b->list, b->offset, b->weight, b->n_list,
                           kept);
    trie_batch_unmark(b, &a->engine.trie);
    return edges;
}

static int model_gradient(topology_model *m, double *log_q, const int32_t *decision,
                          const double *coefficient, int k)
{
    artree *a = self(m);
    trie *t = &a->engine.trie;
    const int most = batch_size(a, k), keep = can_keep(a, most);
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
        count = k - done < most ? k - done : most;
        const int sampled = a->keeping && trie_batch_has(t, trees, count);
        if (!sampled) {
            count = begin(a, count);
            trie_batch_insert(&a->batch, t, trees, count);
            artree_engine_evaluate(&a->engine, a->batch.list, a->batch.n_list, keep);
        }
        const double edges = add_gradient(a, trees, coefficient + done, count, sampled || keep);
        m->work.done += edges;
        m->work.followed += edges;
        m->work.again += sampled ? 0 : keep ? edges : 2 * edges;
        if (log_q)
            trie_batch_log_q(t, log_q + done, trees, count);
    }
    for (int i = 0; i < k && log_q && m->n_taxa == 3; i++)
        log_q[i] = 0;
    return ART_OK;
}

static void model_changed(topology_model *m)
{
    artree *a = self(m);
    a->stale = 1;
    a->keeping = 0;
}

static void model_initialise(topology_model *m, uint64_t seed)
{
    artree_initialise(&m->params, seed);
    model_changed(m);
}

static int model_freeze(topology_model *m, size_t max_bytes)
{
    artree *a = self(m);
    trie *t = &a->engine.trie;
    const size_t edges = edges_of(a, 1), entries = entries_of(a, 1);
    /* twice as many entries per edge as whole trees have; room for two trees at least */
    const size_t fit = max_bytes / trie_bytes(2 * entries, edges, a->d);
    const size_t most = INT32_MAX / (2 * entries), trees = fit < 2 ? 2 : fit < most ? fit : most;
    a->frozen = 0;
    a->keeping = 0;
    trie_free(t);
    trie_init(t, m->n_taxa, a->d);
    if (max_bytes == 0)
        return ART_OK;
    artree_tile_free(&a->engine.kept);
    artree_tile_init(&a->engine.kept, a->d);
    int status = trie_reserve(t, 2 * entries * trees, edges * trees);
    if (status)
        return status;
    trie_clear(t);
    a->frozen = 1;
    return ART_OK;
}

static void model_flatten(topology_model *m, double power)
{
    artree *a = self(m);
    a->engine.trie.power = (real)power;
    trie_clear(&a->engine.trie);
}

static int model_plain(topology_model *m, double *log_q, const int32_t *decision)
{
    int status = decisions_are_trees(decision, 1, m->n_taxa) ? ART_OK : ART_ERR_USAGE;
    return status ? status : artree_ref(log_q, NULL, &m->params, m->n_taxa, self(m)->d, decision);
}

static const topology_model_ops artree_ops = {
    .sample = model_sample,
    .score = model_score,
    .gradient = model_gradient,
    .initialise = model_initialise,
    .changed = model_changed,
    .freeze = model_freeze,
    .flatten = model_flatten,
    .reference = model_plain,
    .free = model_free,
};

int artree_create(topology_model **out, int n_taxa, int hidden, pool *threads)
{
    *out = NULL;
    if (n_taxa < 3 || hidden < 2 || hidden % 2 != 0)
        return ART_ERR_USAGE;
    artree *a = mem_zeros(1, sizeof *a);
    if (!a)
        return ART_ERR_NOMEM;
    a->base.ops = &artree_ops;
    a->base.n_taxa = n_taxa;
    a->d = hidden;
    a->stale = 1;
    int status = artree_params(&a->base.params, n_taxa, hidden);
    if (!status)
        status = artree_engine_init(&a->engine, &a->base.params, n_taxa, hidden, threads);
    if (status)
        model_free(&a->base);
    else
        *out = &a->base;
    return status;
}
