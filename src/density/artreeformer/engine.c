#include "density/artreeformer/engine.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    GROUP_EDGES = READOUT_ROWS,    /* of several entries together; one alone may have more */
    GROUP_TREES = GROUP_EDGES / 3, /* a tree has three edges at least */
    FEW_TREES = 64,                /* what need not be kept goes through e->kept if it is few */
    CHUNK_EDGES = 400, /* at least: clearing and adding a chunk's sums costs as much as 20 edges */
    SLICES = 32,       /* in which the chunks are added up */
};

/* What may be left out of a gradient: less than what rounding does to the logits. */
#define LEFT_OUT (REAL_IS_DOUBLE ? 0x1p-60 : 0x1p-20)

static size_t group_edges(int n_taxa)
{
    const size_t one = (size_t)topology_edges(n_taxa);
    return one > GROUP_EDGES ? one : GROUP_EDGES;
}

static int worker_init(engine_worker *w, const panels *p)
{
    const size_t edges = group_edges(p->n_taxa);
    int status = nodes_scratch_init(&w->nodes, p, GROUP_TREES, edges);
    if (!status)
        status = readout_scratch_init(&w->readout, p);
    if (status)
        return status;
    tile_init(&w->own, p->d, p->heads);
    w->path = mem_zeros((size_t)p->n_taxa, sizeof *w->path);
    w->dlogit = mem_aligned(edges, sizeof *w->dlogit);
    w->row = mem_zeros(edges, sizeof *w->row);
    if (!w->path || !w->dlogit || !w->row)
        return ART_ERR_NOMEM;
    return tile_reserve(&w->own, GROUP_TREES, edges);
}

static void worker_free(engine_worker *w)
{
    nodes_scratch_free(&w->nodes);
    readout_scratch_free(&w->readout);
    tile_free(&w->own);
    free(w->path);
    free(w->dlogit);
    free(w->row);
}

int engine_init(engine *e, const params *p, int n_taxa, int d, int heads, pool *threads)
{
    const size_t n_threads = (size_t)pool_threads(threads);
    memset(e, 0, sizeof *e);
    e->threads = threads;
    trie_init(&e->trie, n_taxa, 0);
    int status = panels_init(&e->panels, p, n_taxa, d, heads, cpu_best());
    if (status)
        return status;
    e->worker = mem_zeros(n_threads, sizeof *e->worker);
    if (!e->worker)
        return ART_ERR_NOMEM;
    for (size_t i = 0; i < n_threads && !status; i++)
        status = worker_init(&e->worker[i], &e->panels);
    return status ? status : engine_forget(e);
}

void engine_free(engine *e)
{
    for (int i = 0; e->worker && i < pool_threads(e->threads); i++)
        worker_free(&e->worker[i]);
    free(e->worker);
    panels_free(&e->panels);
    trie_free(&e->trie);
    tile_free(&e->kept);
    free(e->bound);
    free(e->sums);
    free(e->scratch);
    memset(e, 0, sizeof *e);
}

int engine_forget(engine *e)
{
    const size_t edges = FEW_TREES * (size_t)topology_edges(e->panels.n_taxa);
    tile_free(&e->kept);
    tile_init(&e->kept, e->panels.d, e->panels.heads);
    return tile_reserve(&e->kept, FEW_TREES, edges);
}

int engine_embedding(engine *e, embedding_method method)
{
    int status = ART_OK;
    e->panels.method = method;
    for (int i = 0; i < pool_threads(e->threads) && !status; i++)
        status = nodes_scratch_method(&e->worker[i].nodes, &e->panels);
    return status;
}

int engine_reserve(engine *e, size_t entries)
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

int engine_reserve_gradient(engine *e)
{
    if (e->sums)
        return ART_OK;
    e->scratch = mem_aligned(sums_scratch(&e->panels), sizeof *e->scratch);
    e->sums = mem_aligned(ENGINE_CHUNKS * sums_size(&e->panels), sizeof *e->sums);
    return e->sums && e->scratch ? ART_OK : ART_ERR_NOMEM;
}

static const trie_entry *entry_at(const engine *e, int32_t entry)
{
    return &e->trie.entry[entry];
}

static size_t entry_edges(const engine *e, int32_t entry)
{
    return (size_t)topology_edges(entry_at(e, entry)->leaves);
}

/* How many of count entries make the next group: as many as fit in `most` edges, one at least,
 * with slots that follow each other or with none. */
static size_t group_size(const engine *e, const int32_t *entry, size_t count, size_t most)
{
    size_t edges = entry_edges(e, entry[0]), n = 1;
    for (; n < count && n < GROUP_TREES; n++) {
        const int32_t before = entry_at(e, entry[n - 1])->slot, slot = entry_at(e, entry[n])->slot;
        edges += entry_edges(e, entry[n]);
        if (edges > most || slot != (before == TRIE_NONE ? TRIE_NONE : before + 1))
            break;
    }
    return n;
}

/* Cuts entries into groups; returns how many. */
static int set_groups(engine *e, const int32_t *entry, size_t count, size_t most)
{
    int groups = 0;
    e->bound[0] = 0;
    while (e->bound[groups] < count) {
        const size_t from = e->bound[groups++];
        e->bound[groups] = from + group_size(e, entry + from, count - from, most);
    }
    return groups;
}

typedef struct evaluation {
    engine *engine;
    const int32_t *entry;
    size_t first; /* edge row of e->kept */
    size_t edges;
    int parts; /* in which these rows are cut */
} evaluation;

/* Puts a group into the worker's own tile, unless it has slots. Returns the tile; *first is the
 * group's first tree in it. */
static tile *group_tile(engine *e, const int32_t *entry, int count, engine_worker *w, int *first)
{
    *first = entry_at(e, entry[0])->slot;
    if (*first != TRIE_NONE)
        return &e->kept;
    tile_clear(&w->own);
    for (int i = 0; i < count; i++)
        tile_place(&w->own, entry_at(e, entry[i])->leaves);
    *first = 0;
    return &w->own;
}

static void group_nodes(engine *e, tile *t, int first, const int32_t *entry, int count,
                        engine_worker *w)
{
    for (int i = 0; i < count; i++) {
        trie_tree(&w->nodes.tree, &e->trie, entry[i], w->path);
        nodes_embed(t, first + i, &e->panels, &w->nodes);
    }
    nodes_forward(t, first, count, &e->panels, &w->nodes);
}

/* The whole forward pass of a group. */
static tile *group_forward(engine *e, const int32_t *entry, int count, engine_worker *w, int *first)
{
    tile *t = group_tile(e, entry, count, w, first);
    group_nodes(e, t, *first, entry, count, w);
    readout_forward(t, t->edge[*first], (int)(t->edge[*first + count] - t->edge[*first]),
                    &e->panels, &w->readout);
    for (int i = 0; i < count; i++)
        trie_set(&e->trie, entry[i], t->logit + t->edge[*first + i]);
    return t;
}

static void evaluate_group(void *context, int task, int thread)
{
    const evaluation *v = context;
    engine *e = v->engine;
    const size_t from = e->bound[task];
    int first;
    group_forward(e, v->entry + from, (int)(e->bound[task + 1] - from), &e->worker[thread], &first);
}

static void evaluate_nodes(void *context, int task, int thread)
{
    const evaluation *v = context;
    engine *e = v->engine;
    const int32_t *entry = v->entry + e->bound[task];
    const int count = (int)(e->bound[task + 1] - e->bound[task]);
    group_nodes(e, &e->kept, entry_at(e, entry[0])->slot, entry, count, &e->worker[thread]);
}

static void evaluate_edges(void *context, int task, int thread)
{
    const evaluation *v = context;
    const size_t parts = (size_t)v->parts, part = (size_t)task;
    const size_t from = v->edges * part / parts, to = v->edges * (part + 1) / parts;
    readout_forward(&v->engine->kept, v->first + from, (int)(to - from), &v->engine->panels,
                    &v->engine->worker[thread].readout);
}

static void evaluate_set(void *context, int task, int thread)
{
    const evaluation *v = context;
    const tile *t = &v->engine->kept;
    (void)thread;
    trie_set(&v->engine->trie, v->entry[task],
             t->logit + t->edge[entry_at(v->engine, v->entry[task])->slot]);
}

/* In e->kept: nodes first, then the edges in equal parts, whatever their trees, so that all
 * threads have work even if the entries are few. */
static void evaluate_in_parts(engine *e, evaluation *v, size_t count)
{
    const size_t threads = (size_t)pool_threads(e->threads);
    const size_t share = v->edges / (2 * threads), round = threads * READOUT_ROWS;
    const int groups = set_groups(e, v->entry, count, share < GROUP_EDGES ? share : GROUP_EDGES);
    v->parts = (int)(threads * ((v->edges + round - 1) / round));
    pool_run(e->threads, groups, evaluate_nodes, v);
    pool_run(e->threads, v->parts, evaluate_edges, v);
    pool_run(e->threads, (int)count, evaluate_set, v);
}

size_t engine_evaluate(engine *e, const int32_t *entry, size_t count, int keep)
{
    const int place = keep || count <= FEW_TREES;
    evaluation v = {.engine = e, .entry = entry};
    if (!keep)
        tile_clear(&e->kept);
    v.first = e->kept.n_edges;
    for (size_t i = 0; i < count; i++) {
        trie_entry *at = &e->trie.entry[entry[i]];
        v.edges += (size_t)topology_edges(at->leaves);
        if (place)
            at->slot = tile_place(&e->kept, at->leaves);
    }
    if (place)
        evaluate_in_parts(e, &v, count);
    else
        pool_run(e->threads, set_groups(e, entry, count, GROUP_EDGES), evaluate_group, &v);
    for (size_t i = 0; i < count && !keep; i++)
        e->trie.entry[entry[i]].slot = TRIE_NONE;
    return v.edges;
}

typedef struct descent {
    engine *engine;
    const int32_t *entry;
    const size_t *offset;
    const double *weight;
    int n_chunks;
    size_t bound[ENGINE_CHUNKS + 1];
    size_t followed[ENGINE_CHUNKS]; /* edges that a chunk went back through */
    size_t size;                    /* of a block of sums */
    double left_out;                /* per edge */
} descent;

/* The size below which derivatives of logits may be left out: a power of two such that all
 * below it add up to at most `most`. */
static double negligible(const real *dlogit, size_t count, double most)
{
    enum { POWERS = 128 };
    double sum[POWERS] = {0}, left_out = 0;
    for (size_t i = 0; i < count; i++) {
        int power;
        const double size = fabs((double)dlogit[i]);
        frexp(size, &power); /* size < 2^power */
        if (size > 0 && power > -POWERS && power <= 0)
            sum[-power] += size;
    }
    int power = POWERS - 1;
    while (power > 0 && left_out + sum[power] <= most)
        left_out += sum[power--];
    return ldexp(0.5, -power);
}

/* Returns how many edges it went back through. */
static size_t group_backward(const descent *v, sums *g, size_t from, int count, engine_worker *w)
{
    engine *e = v->engine;
    const panels *p = &e->panels;
    const int32_t *entry = v->entry + from;
    const size_t d = (size_t)p->d, edges = v->offset[from + (size_t)count] - v->offset[from];
    int first, rows = 0;
    const tile *t = entry_at(e, entry[0])->slot == TRIE_NONE
                        ? group_forward(e, entry, count, w, &first)
                        : group_tile(e, entry, count, w, &first);
    for (int i = 0; i < count; i++)
        trie_gradient(w->dlogit + (v->offset[from + (size_t)i] - v->offset[from]), &e->trie,
                      entry[i], v->weight + v->offset[from + (size_t)i]);
    const double least = negligible(w->dlogit, edges, v->left_out * (double)edges);
    for (size_t i = 0; i < edges; i++) {
        if (fabs((double)w->dlogit[i]) < least)
            continue;
        w->row[rows] = t->edge[first] + i;
        w->dlogit[rows++] = w->dlogit[i];
    }
    if (rows == 0)
        return 0;
    memset(w->nodes.drow, 0, (edges + (size_t)count) * d * sizeof *w->nodes.drow);
    memset(w->nodes.dshift, 0, (size_t)count * 2 * d * sizeof *w->nodes.dshift);
    readout_backward(g, w->nodes.drow, w->nodes.dshift, w->dlogit, w->row, rows, t, first, p,
                     &w->readout);
    nodes_backward(g, t, first, count, p, &w->nodes);
    for (int i = 0; i < count; i++) {
        trie_tree(&w->nodes.tree, &e->trie, entry[i], w->path);
        nodes_embed_backward(g, t, first, first + i, p, &w->nodes);
    }
    return (size_t)rows;
}

static void backward_chunk(void *context, int task, int thread)
{
    descent *v = context;
    engine *e = v->engine;
    real *block = e->sums + (size_t)task * v->size;
    const size_t last = v->bound[task + 1];
    sums g = sums_of(block, &e->panels);
    memset(block, 0, v->size * sizeof *block);
    for (size_t i = v->bound[task]; i < last;) {
        const size_t count = group_size(e, v->entry + i, last - i, GROUP_EDGES);
        v->followed[task] += group_backward(v, &g, i, (int)count, &e->worker[thread]);
        i += count;
    }
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

/* Chunks of about equal numbers of edges, by the entries alone; as many as a power of two, which
 * usual numbers of threads share out evenly. */
static void set_bounds(descent *v, size_t count)
{
    const size_t edges = v->offset[count];
    size_t chunks = 1, i = 0;
    while (chunks < ENGINE_CHUNKS && edges / (2 * chunks) >= CHUNK_EDGES)
        chunks *= 2;
    v->n_chunks = (int)chunks;
    for (size_t c = 0; c < chunks; c++) {
        v->bound[c] = i;
        while (i < count && v->offset[i + 1] <= edges * (c + 1) / chunks)
            i++;
    }
    v->bound[chunks] = count;
}

size_t engine_gradient(engine *e, params *p, const int32_t *entry, const size_t *offset,
                       const double *weight, size_t count, double mass)
{
    size_t followed = 0;
    descent v = {.engine = e, .entry = entry, .offset = offset, .weight = weight};
    v.size = sums_size(&e->panels);
    v.left_out = mass * LEFT_OUT / (double)offset[count];
    set_bounds(&v, count);
    pool_run(e->threads, v.n_chunks, backward_chunk, &v);
    pool_run(e->threads, v.n_chunks > 1 ? SLICES : 0, add_slice, &v);
    sums g = sums_of(e->sums, &e->panels);
    sums_finish(p, &g, &e->panels, e->scratch);
    for (int c = 0; c < v.n_chunks; c++)
        followed += v.followed[c];
    return followed;
}
