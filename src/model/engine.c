#include "model/engine.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK_EDGES = 400, /* clearing and adding the sums of a chunk costs as much as 20 edges */
    SLICES = 32,       /* in which the chunks are added up */
    PARTS = 4,         /* tasks per thread that balance well enough */
};

static int worker_init(engine_worker *w, const panels *p)
{
    const size_t edges = (size_t)topology_edges(p->n_taxa);
    int status = nodes_scratch_init(&w->nodes, p);
    if (!status)
        status = readout_scratch_init(&w->readout, p);
    if (status)
        return status;
    tile_init(&w->one, p->d, p->heads);
    w->path = mem_zeros((size_t)p->n_taxa, sizeof *w->path);
    w->dlogit = mem_aligned(edges, sizeof *w->dlogit);
    w->dshift = mem_aligned(2 * (size_t)p->d, sizeof *w->dshift);
    if (!w->path || !w->dlogit || !w->dshift)
        return ART_ERR_NOMEM;
    return tile_reserve(&w->one, 1, edges);
}

static void worker_free(engine_worker *w)
{
    nodes_scratch_free(&w->nodes);
    readout_scratch_free(&w->readout);
    tile_free(&w->one);
    free(w->path);
    free(w->dlogit);
    free(w->dshift);
}

int engine_init(engine *e, const params *p, int n_taxa, int d, int heads, pool *threads)
{
    const size_t n_threads = (size_t)pool_threads(threads);
    memset(e, 0, sizeof *e);
    e->threads = threads;
    trie_init(&e->trie, n_taxa);
    tile_init(&e->kept, d, heads);
    int status = panels_init(&e->panels, p, n_taxa, d, heads, cpu_best());
    if (status)
        return status;
    e->worker = mem_zeros(n_threads, sizeof *e->worker);
    if (!e->worker)
        return ART_ERR_NOMEM;
    for (size_t i = 0; i < n_threads && !status; i++)
        status = worker_init(&e->worker[i], &e->panels);
    if (!status) /* room for few entries, cut into parts */
        status = tile_reserve(&e->kept, PARTS * n_threads,
                              PARTS * n_threads * (size_t)topology_edges(n_taxa));
    return status;
}

void engine_free(engine *e)
{
    for (int i = 0; e->worker && i < pool_threads(e->threads); i++)
        worker_free(&e->worker[i]);
    free(e->worker);
    panels_free(&e->panels);
    trie_free(&e->trie);
    tile_free(&e->kept);
    free(e->sums);
    free(e->scratch);
    memset(e, 0, sizeof *e);
}

int engine_embedding(engine *e, embedding_method method)
{
    int status = ART_OK;
    e->panels.method = method;
    for (int i = 0; i < pool_threads(e->threads) && !status; i++)
        status = nodes_scratch_method(&e->worker[i].nodes, &e->panels);
    return status;
}

typedef struct evaluation {
    engine *engine;
    const int32_t *entry;
    int parts; /* in which the edges of each are cut */
} evaluation;

static void forward_nodes(engine *e, tile *t, int tree, int32_t entry, engine_worker *w)
{
    trie_tree(&w->nodes.tree, &e->trie, entry, w->path);
    nodes_forward(t, tree, &e->panels, &w->nodes);
}

/* Evaluates an entry in its slot, or in the worker's own tile. Returns the tile, *tree is the
 * tree in it. */
static tile *forward(engine *e, int32_t entry, engine_worker *w, int *tree)
{
    const trie_entry *from = &e->trie.entry[entry];
    tile *t = &e->kept;
    *tree = from->slot;
    if (from->slot == TRIE_NONE) {
        t = &w->one;
        tile_clear(t);
        *tree = tile_place(t, from->leaves);
    }
    forward_nodes(e, t, *tree, entry, w);
    readout_forward(t, *tree, 0, topology_edges(from->leaves), &e->panels, &w->readout);
    trie_set(&e->trie, entry, t->logit + t->edge[*tree]);
    return t;
}

static void evaluate_entry(void *context, int task, int thread)
{
    const evaluation *v = context;
    int tree;
    forward(v->engine, v->entry[task], &v->engine->worker[thread], &tree);
}

static void evaluate_nodes(void *context, int task, int thread)
{
    const evaluation *v = context;
    engine *e = v->engine;
    const int32_t entry = v->entry[task];
    forward_nodes(e, &e->kept, e->trie.entry[entry].slot, entry, &e->worker[thread]);
}

static void evaluate_edges(void *context, int task, int thread)
{
    const evaluation *v = context;
    engine *e = v->engine;
    const int tree = e->trie.entry[v->entry[task / v->parts]].slot, part = task % v->parts;
    const int edges = topology_edges(e->kept.leaves[tree]);
    const int first = edges * part / v->parts, last = edges * (part + 1) / v->parts;
    readout_forward(&e->kept, tree, first, last - first, &e->panels, &e->worker[thread].readout);
}

static void evaluate_few(engine *e, evaluation *v, int count)
{
    v->parts = (PARTS * pool_threads(e->threads) + count - 1) / count;
    pool_run(e->threads, count, evaluate_nodes, v);
    pool_run(e->threads, count * v->parts, evaluate_edges, v);
    for (int i = 0; i < count; i++) {
        const int32_t slot = e->trie.entry[v->entry[i]].slot;
        trie_set(&e->trie, v->entry[i], e->kept.logit + e->kept.edge[slot]);
    }
}

size_t engine_evaluate(engine *e, const int32_t *entry, size_t count, int keep)
{
    const int threads = pool_threads(e->threads);
    const int few = threads > 1 && count < PARTS * (size_t)threads;
    evaluation v = {.engine = e, .entry = entry};
    size_t edges = 0;
    if (count == 0)
        return 0;
    if (!keep)
        tile_clear(&e->kept);
    for (size_t i = 0; i < count; i++) {
        trie_entry *at = &e->trie.entry[entry[i]];
        edges += (size_t)topology_edges(at->leaves);
        if (few || keep)
            at->slot = tile_place(&e->kept, at->leaves);
    }
    if (few)
        evaluate_few(e, &v, (int)count);
    else
        pool_run(e->threads, (int)count, evaluate_entry, &v);
    for (size_t i = 0; i < count && !keep; i++)
        e->trie.entry[entry[i]].slot = TRIE_NONE;
    return edges;
}

int engine_reserve_gradient(engine *e)
{
    if (e->sums)
        return ART_OK;
    e->scratch = mem_aligned(sums_scratch(&e->panels), sizeof *e->scratch);
    e->sums = mem_aligned(ENGINE_CHUNKS * sums_size(&e->panels), sizeof *e->sums);
    return e->sums && e->scratch ? ART_OK : ART_ERR_NOMEM;
}

typedef struct descent {
    engine *engine;
    const int32_t *entry;
    const size_t *offset;
    const double *weight;
    int n_chunks;
    size_t bound[ENGINE_CHUNKS + 1];
    size_t size; /* of a block of sums */
} descent;

/* The gradient of sum_e weight_e log p_e is weight_e - p_e sum(weight). */
static void set_dlogit(real *dlogit, const trie *t, int32_t entry, const double *weight)
{
    const trie_entry *at = &t->entry[entry];
    const int edges = topology_edges(at->leaves);
    const real *logit = t->logit + at->first;
    double total = 0;
    for (int i = 0; i < edges; i++)
        total += weight[i];
    for (int i = 0; i < edges; i++)
        dlogit[i] = (real)(weight[i] - total * exp((double)logit[i] - at->log_total));
}

static void backward(const descent *v, sums *g, size_t i, engine_worker *w)
{
    engine *e = v->engine;
    const panels *p = &e->panels;
    const int32_t entry = v->entry[i];
    const size_t nodes = (size_t)topology_nodes(e->trie.entry[entry].leaves);
    tile *t = &e->kept;
    int tree = e->trie.entry[entry].slot;
    if (tree == TRIE_NONE)
        t = forward(e, entry, w, &tree);
    else
        trie_tree(&w->nodes.tree, &e->trie, entry, w->path);
    set_dlogit(w->dlogit, &e->trie, entry, v->weight + v->offset[i]);
    memset(w->nodes.drow, 0, nodes * (size_t)p->d * sizeof *w->nodes.drow);
    memset(w->dshift, 0, 2 * (size_t)p->d * sizeof *w->dshift);
    readout_backward(g, w->nodes.drow, w->dshift, w->dlogit, t, tree, p, &w->readout);
    nodes_backward(g, w->dshift, t, tree, p, &w->nodes);
}

static void backward_chunk(void *context, int task, int thread)
{
    const descent *v = context;
    real *block = v->engine->sums + (size_t)task * v->size;
    sums g = sums_of(block, &v->engine->panels);
    memset(block, 0, v->size * sizeof *block);
    for (size_t i = v->bound[task]; i < v->bound[task + 1]; i++)
        backward(v, &g, i, &v->engine->worker[thread]);
}

/* Adds the chunks to the first one, a slice of the numbers at a time. */
static void add_slice(void *context, int task, int thread)
{
    const descent *v = context;
    const size_t first = v->size * (size_t)task / SLICES;
    const size_t last = v->size * ((size_t)task + 1) / SLICES;
    (void)thread;
    for (int c = 1; c < v->n_chunks; c++)
        v->engine->panels.layers->sum_rows(v->engine->sums + first,
                                           v->engine->sums + (size_t)c * v->size + first, 1,
                                           (int)(last - first));
}

/* Chunks of about equal numbers of edges, by the entries alone. */
static void set_bounds(descent *v, size_t count)
{
    const size_t edges = v->offset[count];
    size_t chunks = edges / CHUNK_EDGES + 1, i = 0;
    chunks = chunks < ENGINE_CHUNKS ? chunks : ENGINE_CHUNKS;
    v->n_chunks = (int)chunks;
    for (size_t c = 0; c < chunks; c++) {
        v->bound[c] = i;
        while (i < count && v->offset[i + 1] <= edges * (c + 1) / chunks)
            i++;
    }
    v->bound[chunks] = count;
}

void engine_gradient(engine *e, params *p, const int32_t *entry, const size_t *offset,
                     const double *weight, size_t count)
{
    descent v = {.engine = e, .entry = entry, .offset = offset, .weight = weight};
    v.size = sums_size(&e->panels);
    set_bounds(&v, count);
    pool_run(e->threads, v.n_chunks, backward_chunk, &v);
    pool_run(e->threads, v.n_chunks > 1 ? SLICES : 0, add_slice, &v);
    sums g = sums_of(e->sums, &e->panels);
    sums_finish(p, &g, &e->panels, e->scratch);
}
