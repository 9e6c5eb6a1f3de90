#include "pars/parsimony.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "pars/parsimony_kernel.h"
#include "lik/site_patterns.h"
#include "tree/topology.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_POWER = 32,        /* bits of a weight */
    MIN_WORDS = 8,         /* of a chunk: the widest vector */
    CHUNK_BYTES = 1 << 18, /* the sets of a chunk at all nodes should stay in the L2 cache */
};

/* Scratch of one thread. */
typedef struct worker {
    topology tree;
    int32_t *order;    /* [2N-3] */
    uint64_t *slot;    /* [N-1][n_planes][chunk] sets at inner nodes, and at taxon 0's end */
    uint64_t *empty;   /* [chunk] */
    uint64_t *changes; /* [chunk] */
} worker;

struct parsimony {
    int n_taxa;
    int n_planes;     /* states: 4, or 5 with gaps */
    int64_t constant; /* score of the patterns that cost the same on every tree */
    size_t n_chunks;
    int chunk;      /* words in each */
    uint64_t *tip;  /* [n_chunks][N][n_planes][chunk] */
    int64_t *power; /* [n_chunks][chunk] what a change in the word costs; 0 for padding */
    fitch_kernel *fitch;
    pool *threads;
    worker *worker;
    /* The call being served. */
    int64_t *score;
    const int32_t *decision;
};

/* The cost of a pattern if it is the same on every tree, otherwise -1. With every state but at
 * most one in a single taxon, each of those taxa needs one change of its own. Ambiguous states
 * count as depending on the tree, except those that match every state. */
static int constant_cost(const site_patterns *p, size_t pattern)
{
    int count[5] = {0}, gaps = 0, distinct = 0, common = 0;
    for (int i = 0; i < p->n_taxa; i++)
        gaps |= p->state[(size_t)i * p->count + pattern] & STATE_GAP;
    for (int i = 0; i < p->n_taxa; i++) {
        int state = p->state[(size_t)i * p->count + pattern];
        if ((state & STATE_ANY) == STATE_ANY && !gaps)
            continue;
        if (state & (state - 1))
            return -1;
        for (int s = 0; s < 5; s++)
            count[s] += state >> s & 1;
    }
    for (int s = 0; s < 5; s++) {
        distinct += count[s] > 0;
        common += count[s] > 1;
    }
    return common > 1 ? -1 : distinct > 0 ? distinct - 1 : 0;
}

/* Assigns a column to every bit of every weight. The columns of one power of two follow each other
 * from the beginning of a word; first[k] is the first column of power k, first[MAX_POWER] the end.
 * Patterns of constant cost are added to *constant and their weights set to 0. */
static void plan_columns(size_t first[MAX_POWER + 1], int64_t *constant, site_patterns *p)
{
    size_t count[MAX_POWER] = {0};
    *constant = 0;
    for (size_t k = 0; k < p->count; k++) {
        int cost = constant_cost(p, k);
        if (cost >= 0) {
            *constant += (int64_t)cost * p->weight[k];
            p->weight[k] = 0;
        }
        for (int bit = 0; bit < MAX_POWER; bit++)
            count[bit] += p->weight[k] >> bit & 1;
    }
    first[0] = 0;
    for (int bit = 0; bit < MAX_POWER; bit++)
        first[bit + 1] = first[bit] + (count[bit] + 63) / 64 * 64;
}

/* Sets the bits of the leaves. Words without any pattern keep power 0. */
static void fill_columns(parsimony *p, const site_patterns *sites, size_t first[MAX_POWER + 1])
{
    size_t chunk = (size_t)p->chunk, planes = (size_t)p->n_planes, taxa = (size_t)p->n_taxa;
    for (int bit = 0; bit < MAX_POWER; bit++)
        for (size_t word = first[bit] / 64; word < first[bit + 1] / 64; word++)
            p->power[word] = (int64_t)1 << bit;
    for (size_t k = 0; k < sites->count; k++)
        for (int bit = 0; bit < MAX_POWER; bit++) {
            if (!(sites->weight[k] >> bit & 1))
                continue;
            size_t column = first[bit]++, word = column / 64;
            uint64_t *tips = p->tip + word / chunk * taxa * planes * chunk + word % chunk;
            for (size_t i = 0; i < taxa; i++)
                for (size_t s = 0; s < planes; s++)
                    if (sites->state[i * sites->count + k] >> s & 1)
                        tips[(i * planes + s) * chunk] |= (uint64_t)1 << column % 64;
        }
    /* The remaining columns of the last word agree in all taxa: no change. */
    for (int bit = 0; bit < MAX_POWER; bit++)
        for (size_t column = first[bit]; column % 64; column++) {
            size_t word = column / 64;
            uint64_t *tips = p->tip + word / chunk * taxa * planes * chunk + word % chunk;
            for (size_t i = 0; i < taxa; i++)
                tips[i * planes * chunk] |= (uint64_t)1 << column % 64;
        }
}

static int create_columns(parsimony *p, site_patterns *sites)
{
    size_t first[MAX_POWER + 1];
    plan_columns(first, &p->constant, sites);
    size_t words = first[MAX_POWER] / 64;
    size_t per_word = (size_t)p->n_planes * 2 * (size_t)p->n_taxa * sizeof(uint64_t);
    size_t chunk = CHUNK_BYTES / per_word / MIN_WORDS * MIN_WORDS;
    size_t needed = (words + MIN_WORDS - 1) / MIN_WORDS * MIN_WORDS;
    chunk = chunk < MIN_WORDS ? MIN_WORDS : chunk > needed ? needed : chunk;
    p->n_chunks = chunk ? (words + chunk - 1) / chunk : 0;
    p->chunk = (int)chunk;
    p->tip =
        mem_aligned(p->n_chunks * chunk * (size_t)p->n_planes * (size_t)p->n_taxa, sizeof *p->tip);
    p->power = mem_zeros(p->n_chunks * chunk, sizeof *p->power);
    if (!p->tip || !p->power)
        return ART_ERR_NOMEM;
    fill_columns(p, sites, first);
    return ART_OK;
}

static int create_worker(worker *w, const parsimony *p)
{
    size_t chunk = (size_t)p->chunk, taxa = (size_t)p->n_taxa;
    int status = topology_init(&w->tree, p->n_taxa);
    if (status)
        return status;
    w->order = mem_zeros(2 * taxa, sizeof *w->order);
    w->slot = mem_aligned((taxa - 1) * (size_t)p->n_planes * chunk, sizeof *w->slot);
    w->empty = mem_aligned(chunk, sizeof *w->empty);
    w->changes = mem_aligned(chunk, sizeof *w->changes);
    return w->order && w->slot && w->empty && w->changes ? ART_OK : ART_ERR_NOMEM;
}

void parsimony_use(parsimony *p, cpu_level level)
{
    p->fitch = fitch_generic;
#if defined(__x86_64__)
    if (level == CPU_AVX2)
        p->fitch = fitch_avx2;
    else if (level == CPU_AVX512)
        p->fitch = fitch_avx512;
#else
    (void)level;
#endif
}

int parsimony_create(parsimony **out, const alignment *a, const int *taxon, parsimony_gap gap,
                     pool *threads)
{
    *out = NULL;
    if (a->n_taxa < 3)
        return ART_ERR_USAGE;
    site_patterns sites = {0};
    int status = ART_ERR_NOMEM;
    parsimony *p = mem_zeros(1, sizeof *p);
    if (!p)
        return ART_ERR_NOMEM;
    p->n_taxa = a->n_taxa;
    p->n_planes = gap == GAP_FIFTH ? 5 : 4;
    p->threads = threads;
    parsimony_use(p, cpu_best());
    p->worker = mem_zeros((size_t)pool_threads(threads), sizeof *p->worker);
    if (!p->worker)
        goto out;
    status = site_patterns_build(&sites, a, taxon, gap == GAP_FIFTH);
    if (status || (status = create_columns(p, &sites)))
        goto out;
    for (int i = 0; !status && i < pool_threads(threads); i++)
        status = create_worker(&p->worker[i], p);
out:
    site_patterns_free(&sites);
    if (status)
        parsimony_free(p);
    else
        *out = p;
    return status;
}

void parsimony_free(parsimony *p)
{
    if (!p)
        return;
    for (int i = 0; p->worker && i < pool_threads(p->threads); i++) {
        worker *w = &p->worker[i];
        topology_free(&w->tree);
        free(w->order);
        free(w->slot);
        free(w->empty);
        free(w->changes);
    }
    free(p->worker);
    free(p->tip);
    free(p->power);
    free(p);
}

/* The sets at a node on one chunk, [n_planes][chunk]. */
static const uint64_t *sets_at(const parsimony *p, const worker *w, size_t chunk, int32_t node)
{
    size_t size = (size_t)p->n_planes * (size_t)p->chunk, n_taxa = (size_t)p->n_taxa;
    return node < p->n_taxa ? p->tip + (chunk * n_taxa + (size_t)node) * size
                            : w->slot + ((size_t)node - n_taxa) * size;
}

/* Score of the worker's tree on one chunk. */
static int64_t score_chunk(const parsimony *p, worker *w, size_t chunk)
{
    size_t size = (size_t)p->n_planes * (size_t)p->chunk;
    const int64_t *power = p->power + chunk * (size_t)p->chunk;
    int n_taxa = p->n_taxa;
    memset(w->changes, 0, (size_t)p->chunk * sizeof *w->changes);
    for (int32_t k = 0; k <= topology_edges(n_taxa); k++) {
        int last = k == topology_edges(n_taxa); /* the edge to taxon 0 */
        int32_t v = last ? 0 : w->order[k], *child = w->tree.child[v];
        if (v < n_taxa && !last)
            continue;
        p->fitch(w->slot + (size_t)(last ? n_taxa - 2 : v - n_taxa) * size,
                 sets_at(p, w, chunk, child[0]), sets_at(p, w, chunk, last ? 0 : child[1]),
                 w->changes, w->empty, p->n_planes, p->chunk);
    }
    int64_t score = 0;
    for (int i = 0; i < p->chunk; i++)
        score += power[i] * (int64_t)w->changes[i];
    return score;
}

/* Task: one tree. */
static void score_tree(void *context, int task, int index)
{
    parsimony *p = context;
    worker *w = &p->worker[index];
    topology_build(&w->tree, p->decision + (size_t)task * (size_t)(p->n_taxa - 3));
    topology_postorder(w->order, &w->tree);
    p->score[task] = p->constant;
    for (size_t chunk = 0; chunk < p->n_chunks; chunk++)
        p->score[task] += score_chunk(p, w, chunk);
}

void parsimony_batch(parsimony *p, int64_t *score, const int32_t *decision, int n_trees)
{
    p->score = score;
    p->decision = decision;
    pool_run(p->threads, n_trees, score_tree, p);
}

int parsimony_ref(int64_t *score, const alignment *a, const int *taxon, parsimony_gap gap,
                  const int32_t *decision)
{
    topology t = {0};
    uint8_t *set = mem_zeros(2 * (size_t)a->n_taxa, sizeof *set);
    int32_t *order = mem_zeros(2 * (size_t)a->n_taxa, sizeof *order);
    int status = set && order ? topology_init(&t, a->n_taxa) : ART_ERR_NOMEM;
    if (status)
        goto out;
    topology_build(&t, decision);
    topology_postorder(order, &t);
    *score = 0;
    for (size_t k = 0; k < a->n_patterns; k++) {
        for (int i = 0; i < a->n_taxa; i++) {
            uint8_t state = a->state[(size_t)(taxon ? taxon[i] : i) * a->n_patterns + k];
            set[i] = state & STATE_GAP && gap == GAP_MISSING ? STATE_ANY : state;
        }
        for (int32_t i = 0; i <= topology_edges(a->n_taxa); i++) {
            int last = i == topology_edges(a->n_taxa); /* the edge to taxon 0 */
            int32_t v = last ? 0 : order[i];
            if (v < a->n_taxa && !last)
                continue;
            int x = last ? set[0] : set[t.child[v][1]], y = set[t.child[v][0]];
            set[v] = (uint8_t)(x & y ? x & y : x | y);
            *score += x & y ? 0 : a->weight[k];
        }
    }
out:
    topology_free(&t);
    free(set);
    free(order);
    return status;
}
