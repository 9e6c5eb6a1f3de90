#include "density/artree/artree_engine.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum {
    GROUP_ROWS = 128, /* node rows of several entries together; one alone may have more */
    CHUNK_ROWS = 64, /* of a level, in the mean, at least: adding up a chunk's sheet has its cost */
    SLICES = 32,     /* in which the chunks are added up */
};

static size_t group_rows(int n_taxa)
{
    const size_t one = (size_t)topology_nodes(n_taxa);
    return one > GROUP_ROWS ? one : GROUP_ROWS;
}

static int worker_init(artree_worker *w, const artree_weights *weights)
{
    const size_t rows = group_rows(weights->n_taxa);
    int status = artree_scratch_init(&w->scratch, weights, rows);
    artree_tile_init(&w->own, weights->d);
    return status ? status : artree_tile_reserve(&w->own, rows, rows);
}

static void worker_free(artree_worker *w)
{
    artree_scratch_free(&w->scratch);
    artree_tile_free(&w->own);
}

int artree_engine_init(artree_engine *e, const params *p, int n_taxa, int d, pool *threads)
{
    const size_t n_threads = (size_t)pool_threads(threads);
    memset(e, 0, sizeof *e);
    e->threads = threads;
    trie_init(&e->trie, n_taxa, d);
    artree_tile_init(&e->kept, d);
    int status = artree_weights_init(&e->weights, p, n_taxa, d);
    if (status)
        return status;
    e->worker = mem_zeros(n_threads, sizeof *e->worker);
    if (!e->worker)
        return ART_ERR_NOMEM;
    for (size_t i = 0; i < n_threads && !status; i++)
        status = worker_init(&e->worker[i], &e->weights);
    return status;
}

void artree_engine_free(artree_engine *e)
{
    for (int i = 0; e->worker && i < pool_threads(e->threads); i++)
        worker_free(&e->worker[i]);
    free(e->worker);
    artree_weights_free(&e->weights);
    trie_free(&e->trie);
    artree_tile_free(&e->kept);
    free(e->bound);
    free(e->dstate);
    free(e->sums);
    memset(e, 0, sizeof *e);
}

int artree_engine_reserve(artree_engine *e, size_t entries)
{
    if (entries <= e->room)
        return ART_OK;
    size_t *bound = mem_resize(e->bound, entries + 1, sizeof *bound);
    if (!bound)
        return ART_ERR_NOMEM;
    e->bound = bound;
    e->room = entries;
    return ART_OK;
}

int artree_engine_reserve_gradient(artree_engine *e, size_t rows)
{
    if (rows > e->room_rows) {
        real *dstate = mem_resize(e->dstate, rows, (size_t)e->weights.d * sizeof *dstate);
        if (!dstate)
            return ART_ERR_NOMEM;
        e->dstate = dstate;
        e->room_rows = rows;
    }
    if (!e->sums)
        e->sums = mem_aligned(ARTREE_CHUNKS * e->weights.sheet.total, sizeof *e->sums);
    return e->sums ? ART_OK : ART_ERR_NOMEM;
}

static int leaves_of(const artree_engine *e, int32_t entry)
{
    return e->trie.entry[entry].leaves;
}

/* How many of count entries are of the level of the first. */
static size_t level_size(const artree_engine *e, const int32_t *entry, size_t count)
{
    size_t n = 1;
    while (n < count && leaves_of(e, entry[n]) == leaves_of(e, entry[0]))
        n++;
    return n;
}

/* How many of count entries of a level make the next group: as many as fit in `most` rows, one at
 * least, with numbers that follow each other. */
static size_t group_size(const artree_engine *e, const int32_t *entry, size_t count, size_t most)
{
    const size_t rows = (size_t)topology_nodes(leaves_of(e, entry[0]));
    size_t n = 1;
    while (n < count && (n + 1) * rows <= most && entry[n] == entry[n - 1] + 1)
        n++;
    return n;
}

/* The group is in the kept tile, at its rows of the trie, or alone in the worker's own. */
static artree_group group_of(artree_engine *e, int32_t first, size_t count, int keep,
                             artree_worker *w)
{
    artree_group g = {.trie = &e->trie, .first = first, .count = (int)count, .tile = &w->own};
    if (keep) {
        g.tile = &e->kept;
        g.node = trie_row(&e->trie, first);
        g.edge = e->trie.entry[first].first;
    }
    return g;
}

typedef struct evaluation {
    artree_engine *engine;
    const int32_t *entry; /* of a level */
    int keep;
} evaluation;

static void evaluate_group(void *context, int task, int thread)
{
    const evaluation *v = context;
    artree_engine *e = v->engine;
    artree_worker *w = &e->worker[thread];
    const size_t from = e->bound[task], count = e->bound[task + 1] - from;
    const artree_group g = group_of(e, v->entry[from], count, v->keep, w);
    artree_group_forward(&g, &e->weights, &w->scratch);
}

size_t artree_engine_evaluate(artree_engine *e, const int32_t *entry, size_t count, int keep)
{
    const size_t threads = (size_t)pool_threads(e->threads);
    size_t edges = 0;
    for (size_t done = 0, level; done < count; done += level) {
        evaluation v = {e, entry + done, keep};
        level = level_size(e, v.entry, count - done);
        const int n = leaves_of(e, v.entry[0]);
        const size_t rows = level * (size_t)topology_nodes(n), share = rows / threads;
        int groups = 0;
        e->bound[0] = 0;
        while (e->bound[groups] < level) {
            const size_t from = e->bound[groups++];
            e->bound[groups] = from + group_size(e, v.entry + from, level - from,
                                                 share < GROUP_ROWS ? share : GROUP_ROWS);
        }
        pool_run(e->threads, groups, evaluate_group, &v);
        edges += level * (size_t)topology_edges(n);
    }
    return edges;
}

typedef struct descent {
    artree_engine *engine;
    const int32_t *entry; /* of the whole list */
    const size_t *offset;
    const double *weight;
    int kept;
    size_t first, level; /* the entries of a level */
    size_t n_chunks;
} descent;

/* to [2n-2][d]: the sum of what the children have left. Children have two rows more. */
static void collect_states(real *to, const artree_engine *e, int32_t entry)
{
    const trie *t = &e->trie;
    const int n = t->entry[entry].leaves, edges = topology_edges(n);
    const size_t d = (size_t)e->weights.d, numbers = (size_t)topology_nodes(n) * d;
    memset(to, 0, numbers * sizeof *to);
    for (int i = 0; i < edges; i++) {
        const int32_t child = trie_child(t, entry, i);
        if (child != TRIE_NONE && t->entry[child].mark != TRIE_NONE)
            e->weights.layers->sum_rows(to, e->dstate + trie_row(t, child) * d, 1, (int)numbers);
    }
}

static void group_backward(const descent *v, real *sheet, size_t from, size_t count,
                           artree_worker *w)
{
    artree_engine *e = v->engine;
    const int32_t first = v->entry[from];
    const artree_group g = group_of(e, first, count, v->kept, w);
    const size_t d = (size_t)e->weights.d, rows = (size_t)topology_nodes(leaves_of(e, first));
    if (!v->kept)
        artree_group_forward(&g, &e->weights, &w->scratch);
    for (size_t i = 0; i < count; i++) {
        trie_gradient(w->scratch.dlogit + (v->offset[from + i] - v->offset[from]), &e->trie,
                      first + (int32_t)i, v->weight + v->offset[from + i]);
        collect_states(w->scratch.dnext + i * rows * d, e, first + (int32_t)i);
    }
    artree_group_backward(e->dstate + trie_row(&e->trie, first) * d, sheet, &g, &e->weights,
                          &w->scratch);
}

static void backward_chunk(void *context, int task, int thread)
{
    const descent *v = context;
    artree_engine *e = v->engine;
    const size_t chunk = (size_t)task;
    const size_t last = v->first + v->level * (chunk + 1) / v->n_chunks;
    for (size_t i = v->first + v->level * chunk / v->n_chunks, count; i < last; i += count) {
        count = group_size(e, v->entry + i, last - i, GROUP_ROWS);
        group_backward(v, e->sums + chunk * e->weights.sheet.total, i, count, &e->worker[thread]);
    }
}

/* Adds the chunks to the first one, a slice of the numbers at a time. */
static void add_slice(void *context, int task, int thread)
{
    const descent *v = context;
    const artree_engine *e = v->engine;
    const size_t size = e->weights.sheet.total;
    const size_t first = size * (size_t)task / SLICES, last = size * ((size_t)task + 1) / SLICES;
    (void)thread;
    for (size_t c = 1; c < v->n_chunks; c++)
        e->weights.layers->sum_rows(e->sums + first, e->sums + c * size + first, 1,
                                    (int)(last - first));
}

/* As many chunks as a power of two, by the entries alone. */
static size_t chunks_of(const artree_engine *e, size_t rows)
{
    size_t chunks = 1;
    while (chunks < ARTREE_CHUNKS && rows / (2 * chunks * (size_t)e->weights.steps) >= CHUNK_ROWS)
        chunks *= 2;
    return chunks;
}

void artree_engine_gradient(artree_engine *e, params *p, const int32_t *entry, const size_t *offset,
                            const double *weight, size_t count, int kept)
{
    descent v = {.engine = e, .entry = entry, .offset = offset, .weight = weight, .kept = kept};
    v.n_chunks = chunks_of(e, offset[count] + count);
    memset(e->sums, 0, v.n_chunks * e->weights.sheet.total * sizeof *e->sums);
    for (size_t last = count; last > 0; last = v.first) {
        v.first = last - 1;
        while (v.first > 0 && leaves_of(e, entry[v.first - 1]) == leaves_of(e, entry[last - 1]))
            v.first--;
        v.level = last - v.first;
        pool_run(e->threads, (int)v.n_chunks, backward_chunk, &v);
    }
    pool_run(e->threads, v.n_chunks > 1 ? SLICES : 0, add_slice, &v);
    artree_weights_finish(p, &e->weights, e->sums);
}
