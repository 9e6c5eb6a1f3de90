#include "pars/parsimony.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "lik/site_patterns.h"
#include "pars/site_bits.h"
#include "pars/parsimony_kernel.h"
#include "tree/topology.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 1 << 18 }; /* the sets of a chunk at all nodes should stay in the L2 cache */

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
    int64_t constant; /* score of the patterns that cost the same on every tree */
    site_bits bits;
    fitch_kernel *fitch;
    pool *threads;
    worker *worker;
    /* The call being served. */
    int64_t *score;
    const int32_t *decision;
};

static int create_columns(parsimony *p, site_patterns *sites, int n_planes)
{
    const size_t per_word = (size_t)n_planes * 2 * (size_t)sites->n_taxa * sizeof(uint64_t);
    p->constant = site_bits_set_constant_aside(sites);
    return site_bits_init(&p->bits, sites, n_planes, CHUNK_BYTES / per_word);
}

static int create_worker(worker *w, const parsimony *p)
{
    size_t chunk = (size_t)p->bits.chunk, taxa = (size_t)p->n_taxa;
    int status = topology_init(&w->tree, p->n_taxa);
    if (status)
        return status;
    w->order = mem_zeros(2 * taxa, sizeof *w->order);
    w->slot = mem_aligned((taxa - 1) * (size_t)p->bits.n_planes * chunk, sizeof *w->slot);
    w->empty = mem_aligned(chunk, sizeof *w->empty);
    w->changes = mem_aligned(chunk, sizeof *w->changes);
    return w->order && w->slot && w->empty && w->changes ? ART_OK : ART_ERR_NOMEM;
}

const fitch_kernels *fitch_kernels_of(cpu_level level)
{
#if defined(__x86_64__)
    if (level == CPU_AVX2)
        return &fitch_avx2;
    if (level == CPU_AVX512)
        return &fitch_avx512;
#else
    (void)level;
#endif
    return &fitch_generic;
}

void parsimony_use(parsimony *p, cpu_level level)
{
    p->fitch = fitch_kernels_of(level)->fitch;
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
    p->threads = threads;
    parsimony_use(p, cpu_best());
    p->worker = mem_zeros((size_t)pool_threads(threads), sizeof *p->worker);
    if (!p->worker)
        goto out;
    status = site_patterns_build(&sites, a, taxon, gap == GAP_FIFTH);
    if (status || (status = create_columns(p, &sites, gap == GAP_FIFTH ? 5 : 4)))
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
    site_bits_free(&p->bits);
    free(p);
}

/* The sets at a node on one chunk, [n_planes][chunk]. */
static const uint64_t *sets_at(const parsimony *p, const worker *w, size_t chunk, int32_t node)
{
    const site_bits *c = &p->bits;
    return node < p->n_taxa
               ? site_bits_tip(c, chunk, node)
               : w->slot + (size_t)(node - p->n_taxa) * (size_t)c->n_planes * (size_t)c->chunk;
}

/* Score of the worker's tree on one chunk. */
static int64_t score_chunk(const parsimony *p, worker *w, size_t chunk)
{
    const site_bits *c = &p->bits;
    size_t size = (size_t)c->n_planes * (size_t)c->chunk;
    const int64_t *power = c->power + chunk * (size_t)c->chunk;
    int n_taxa = p->n_taxa;
    memset(w->changes, 0, (size_t)p->bits.chunk * sizeof *w->changes);
    for (int32_t k = 0; k <= topology_edges(n_taxa); k++) {
        int last = k == topology_edges(n_taxa); /* the edge to taxon 0 */
        int32_t v = last ? 0 : w->order[k], *child = w->tree.child[v];
        if (v < n_taxa && !last)
            continue;
        p->fitch(w->slot + (size_t)(last ? n_taxa - 2 : v - n_taxa) * size,
                 sets_at(p, w, chunk, child[0]), sets_at(p, w, chunk, last ? 0 : child[1]),
                 w->changes, w->empty, p->bits.n_planes, p->bits.chunk);
    }
    int64_t score = 0;
    for (int i = 0; i < p->bits.chunk; i++)
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
    for (size_t chunk = 0; chunk < p->bits.n_chunks; chunk++)
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
