#include "lik/likelihood.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "lik/likelihood_kernel.h"
#include "lik/pattern_data.h"
#include "lik/transitions.h"
#include "tree/topology.h"

#include <stdlib.h>
#include <string.h>

enum {
    LANES = 8,             /* blocks are multiples of the widest vector */
    MIN_BLOCK = 64,        /* patterns: less and the work on a node is mostly overhead */
    MAX_BLOCK = 256,       /* patterns: more and there are too few tasks */
    BLOCK_BYTES = 1 << 19, /* partial likelihoods of a block should stay in the L2 cache */
    TIP_BYTES = 1 << 26,   /* leaves' states are kept expanded up to this size */
    MAX_TASKS = 64,        /* of one tree, among which the blocks are divided */
    MAX_TREES = 64,        /* at a time; the rest of a batch follows */
    TREE_BYTES =
        1 << 26, /* limit for the plans and results of these trees; one tree may exceed it */
};

/* Sizes that follow from the problem alone, never from the number of threads. */
typedef struct layout {
    int n_taxa;
    int n_edges;
    int n_steps;
    size_t n_blocks;
    int block;         /* patterns in each, the last one padded */
    size_t n_tasks;    /* of one tree; each computes some of the blocks, in order */
    size_t slot_size;  /* entries of a worker's partial likelihoods */
    size_t tip_size;   /* entries of a block's expanded leaves */
    size_t edge_terms; /* entries of an edge's transitions */
    int n_trees;       /* at a time */
} layout;

/* One tree, prepared for the kernels. */
typedef struct plan {
    topology tree;
    int32_t *order;        /* [2N-3] */
    likelihood_step *step; /* [N-2] */
    double *transition;    /* [2N-3][edge_terms] */
} plan;

/* Scratch of one thread. */
typedef struct worker {
    double *memory; /* slot, factor, total and, if they are not kept, the leaves of a block */
    double *slot, *factor, *total, *tip;
    size_t tip_block; /* the block whose leaves are in tip, plus one; 0 is none */
    uint8_t *scaled;
    int32_t *scalings;
} worker;

struct likelihood {
    layout size;
    subst_model model;
    likelihood_kernel *kernel;
    pool *threads;
    site_patterns patterns;
    double *weight;    /* [n_blocks][block] */
    double *invariant; /* [n_blocks][block], NULL without +I */
    double *tip;       /* [n_blocks][N][4][block], NULL if too large */
    double *slope;     /* [C][4][4] */
    plan *plan;        /* [n_trees] */
    worker *worker;    /* [threads] */
    double *part;      /* [n_trees][n_tasks][1 + n_edges] values and gradients of tasks */
    /* The call being served. */
    const int32_t *decision;
    const double *length;
    int n_trees;
    int with_gradient;
};

/* Bytes that one tree needs: its plan, and the results of its tasks. */
static size_t tree_bytes(const layout *s)
{
    size_t edges = (size_t)s->n_edges, steps = (size_t)s->n_steps;
    return steps * sizeof(likelihood_step) + 4 * edges * sizeof(int32_t) +
           (edges * s->edge_terms + s->n_tasks * (1 + edges)) * sizeof(double);
}

static layout layout_of(int n_taxa, size_t n_patterns, const subst_model *m, int n_trees)
{
    layout s = {.n_taxa = n_taxa, .n_edges = topology_edges(n_taxa), .n_steps = n_taxa - 2};
    size_t categories = (size_t)m->n_categories;
    size_t per_pattern = 4 * sizeof(double) * (size_t)n_taxa * (categories + 1);
    size_t block = BLOCK_BYTES / per_pattern / LANES * LANES;
    block = block < MIN_BLOCK ? MIN_BLOCK : block > MAX_BLOCK ? MAX_BLOCK : block;
    s.n_blocks = (n_patterns + block - 1) / block;
    s.n_tasks = s.n_blocks < MAX_TASKS ? s.n_blocks : MAX_TASKS;
    /* The same number of blocks with the least padding. */
    block = s.n_blocks ? (n_patterns + s.n_blocks - 1) / s.n_blocks : 0;
    s.block = (int)((block + LANES - 1) / LANES * LANES);
    s.slot_size = (size_t)s.n_steps * categories * 4 * (size_t)s.block;
    s.tip_size = (size_t)n_taxa * 4 * (size_t)s.block;
    s.edge_terms = transitions_size(m);
    size_t room = TREE_BYTES / tree_bytes(&s);
    room = room < 1 ? 1 : room > MAX_TREES ? MAX_TREES : room;
    s.n_trees = n_trees < 1 ? 1 : (size_t)n_trees > room ? (int)room : n_trees;
    return s;
}

static int keeps_tips(const layout *s)
{
    return s->tip_size * s->n_blocks <= TIP_BYTES / sizeof(double);
}

static size_t worker_numbers(const layout *s)
{
    return s->slot_size + (size_t)(s->n_steps + 1) * (size_t)s->block +
           (keeps_tips(s) ? 0 : s->tip_size);
}

static size_t part_numbers(const layout *s)
{
    return (size_t)s->n_trees * s->n_tasks * (1 + (size_t)s->n_edges);
}

size_t likelihood_memory(int n_taxa, size_t n_patterns, const subst_model *model, int n_trees,
                         int n_threads)
{
    layout s = layout_of(n_taxa, n_patterns, model, n_trees);
    size_t numbers = (size_t)n_threads * worker_numbers(&s) +
                     (keeps_tips(&s) ? s.tip_size * s.n_blocks : 0) +
                     2 * (size_t)s.block * s.n_blocks;
    return numbers * sizeof(double) + (size_t)s.n_trees * tree_bytes(&s) +
           n_patterns * (size_t)n_taxa;
}

void likelihood_use(likelihood *l, cpu_level level)
{
    const likelihood_kernels *table = &likelihood_kernels_generic;
#if defined(__x86_64__)
    if (level == CPU_AVX2)
        table = &likelihood_kernels_avx2;
    else if (level == CPU_AVX512)
        table = &likelihood_kernels_avx512;
#else
    (void)level;
#endif
    l->kernel = l->model.is_jc ? table->jc : table->general;
}

size_t likelihood_patterns(const likelihood *l)
{
    return l->patterns.count;
}

/* tip [N][4][block] of one block. */
static void expand_tips(double *tip, const likelihood *l, size_t block)
{
    const size_t n = (size_t)l->size.block;
    for (int i = 0; i < l->size.n_taxa; i++)
        pattern_data_tip(tip + (size_t)i * 4 * n, &l->patterns, i, block * n, n);
}

/* rate * pi_i Q_ij, from Q = right diag(eigenvalue) left. */
static void fill_slope(likelihood *l)
{
    const subst_model *m = &l->model;
    double q[4][4];
    subst_model_derivative(q, m, 0);
    for (int c = 0; c < m->n_categories; c++)
        for (int i = 0; i < 16; i++)
            l->slope[16 * c + i] = m->category_rate[c] * m->frequency[i / 4] * q[i / 4][i % 4];
}

static int create_plans(likelihood *l)
{
    const layout *s = &l->size;
    for (int i = 0; i < s->n_trees; i++) {
        plan *p = &l->plan[i];
        int status = topology_init(&p->tree, s->n_taxa);
        if (status)
            return status;
        p->order = mem_zeros((size_t)s->n_edges, sizeof *p->order);
        p->step = mem_zeros((size_t)s->n_steps, sizeof *p->step);
        p->transition = mem_aligned((size_t)s->n_edges * s->edge_terms, sizeof *p->transition);
        if (!p->order || !p->step || !p->transition)
            return ART_ERR_NOMEM;
    }
    return ART_OK;
}

static int create_workers(likelihood *l)
{
    const layout *s = &l->size;
    for (int i = 0; i < pool_threads(l->threads); i++) {
        worker *w = &l->worker[i];
        w->memory = mem_aligned(worker_numbers(s), sizeof *w->memory);
        w->scaled = mem_zeros((size_t)s->n_steps, sizeof *w->scaled);
        w->scalings = mem_zeros((size_t)s->block, sizeof *w->scalings);
        if (!w->memory || !w->scaled || !w->scalings)
            return ART_ERR_NOMEM;
        w->slot = w->memory;
        w->factor = w->slot + s->slot_size;
        w->total = w->factor + (size_t)s->n_steps * (size_t)s->block;
        w->tip = keeps_tips(s) ? NULL : w->total + s->block;
    }
    return ART_OK;
}

/* Everything that depends on the data and the model, not on the trees. */
static int create_data(likelihood *l)
{
    const layout *s = &l->size;
    size_t padded = (size_t)s->block * s->n_blocks;
    l->weight = mem_aligned(padded, sizeof *l->weight);
    l->slope = mem_aligned(16 * (size_t)l->model.n_categories, sizeof *l->slope);
    if (!l->weight || !l->slope)
        return ART_ERR_NOMEM;
    pattern_data_weights(l->weight, &l->patterns);
    fill_slope(l);
    if (l->model.p_invariant > 0) {
        l->invariant = mem_aligned(padded, sizeof *l->invariant);
        if (!l->invariant)
            return ART_ERR_NOMEM;
        pattern_data_invariant(l->invariant, &l->patterns, &l->model);
    }
    if (keeps_tips(s)) {
        l->tip = mem_aligned(s->tip_size * s->n_blocks, sizeof *l->tip);
        if (!l->tip)
            return ART_ERR_NOMEM;
        for (size_t block = 0; block < s->n_blocks; block++)
            expand_tips(l->tip + block * s->tip_size, l, block);
    }
    return ART_OK;
}

int likelihood_create(likelihood **out, const alignment *a, const int *taxon,
                      const subst_model *model, int n_trees, pool *threads)
{
    *out = NULL;
    if (a->n_taxa < 3)
        return ART_ERR_USAGE;
    likelihood *l = mem_zeros(1, sizeof *l);
    if (!l)
        return ART_ERR_NOMEM;
    l->model = *model;
    l->threads = threads;
    likelihood_use(l, cpu_best());
    int status = site_patterns_build(&l->patterns, a, taxon, false);
    if (status)
        goto out;
    l->size = layout_of(a->n_taxa, l->patterns.count, model, n_trees);
    status = ART_ERR_NOMEM;
    l->plan = mem_zeros((size_t)l->size.n_trees, sizeof *l->plan);
    l->worker = mem_zeros((size_t)pool_threads(threads), sizeof *l->worker);
    l->part = mem_aligned(part_numbers(&l->size), sizeof *l->part);
    if (!l->plan || !l->worker || !l->part)
        goto out;
    if ((status = create_plans(l)) || (status = create_workers(l)) || (status = create_data(l)))
        goto out;
    *out = l;
    return ART_OK;
out:
    likelihood_free(l);
    return status;
}

void likelihood_free(likelihood *l)
{
    if (!l)
        return;
    for (int i = 0; l->plan && i < l->size.n_trees; i++) {
        topology_free(&l->plan[i].tree);
        free(l->plan[i].order);
        free(l->plan[i].step);
        free(l->plan[i].transition);
    }
    for (int i = 0; l->worker && i < pool_threads(l->threads); i++) {
        free(l->worker[i].memory);
        free(l->worker[i].scaled);
        free(l->worker[i].scalings);
    }
    free(l->plan);
    free(l->worker);
    free(l->part);
    free(l->weight);
    free(l->invariant);
    free(l->tip);
    free(l->slope);
    site_patterns_free(&l->patterns);
    free(l);
}

static likelihood_step step_of(const topology *t, int32_t v)
{
    int32_t n_taxa = t->n_taxa, a = t->child[v][0], b = t->child[v][1];
    if (b < n_taxa && a >= n_taxa) {
        a = t->child[v][1];
        b = t->child[v][0];
    }
    return (likelihood_step){
        .v = v - n_taxa,
        .a = a < n_taxa ? a : a - n_taxa,
        .b = b < n_taxa ? b : b - n_taxa,
        .edge_v = node_edge(v, n_taxa),
        .edge_a = node_edge(a, n_taxa),
        .edge_b = node_edge(b, n_taxa),
        .leaves = (a < n_taxa) + (b < n_taxa),
    };
}

/* Task: one tree's steps and transitions. */
static void prepare(void *context, int task, int index)
{
    (void)index;
    likelihood *l = context;
    const layout *s = &l->size;
    plan *p = &l->plan[task];
    topology_build(&p->tree, l->decision + (size_t)task * (size_t)(s->n_taxa - 3));
    topology_postorder(p->order, &p->tree);
    int n = 0;
    for (int i = 0; i < s->n_edges; i++)
        if (p->order[i] >= s->n_taxa)
            p->step[n++] = step_of(&p->tree, p->order[i]);
    const double *length = l->length + (size_t)task * (size_t)s->n_edges;
    for (int e = 0; e < s->n_edges; e++)
        transitions_fill(p->transition + (size_t)e * s->edge_terms, &l->model, length[e]);
}

/* The expanded leaves of a block: from the table of all blocks, or expanded by the worker. */
static const double *tips_of(const likelihood *l, worker *w, size_t block)
{
    if (l->tip)
        return l->tip + block * l->size.tip_size;
    if (w->tip_block != block + 1)
        expand_tips(w->tip, l, block);
    w->tip_block = block + 1;
    return w->tip;
}

/* One tree on one block; adds to part[0], the value, and part + 1, the gradient. */
static void evaluate_block(likelihood *l, worker *w, double *part, const plan *p, size_t block)
{
    const layout *s = &l->size;
    const subst_model *m = &l->model;
    likelihood_job job = {
        .n_categories = m->n_categories,
        .rate = m->category_rate,
        .category_weight = m->category_weight,
        .frequency = m->frequency,
        .slope = l->slope,
        .n_steps = s->n_steps,
        .step = p->step,
        .transition = p->transition,
        .n = s->block,
        .tip = tips_of(l, w, block),
        .weight = l->weight + block * (size_t)s->block,
        .invariant = l->invariant ? l->invariant + block * (size_t)s->block : NULL,
        .slot = w->slot,
        .factor = w->factor,
        .scaled = w->scaled,
        .total = w->total,
        .scalings = w->scalings,
        .value = part,
        .gradient = l->with_gradient ? part + 1 : NULL,
    };
    l->kernel(&job);
}

/* Task: one tree on some of the blocks. Consecutive tasks are different trees on the same blocks.
 */
static void evaluate(void *context, int task, int index)
{
    likelihood *l = context;
    const layout *s = &l->size;
    size_t share = (size_t)task / (size_t)l->n_trees, tree = (size_t)task % (size_t)l->n_trees;
    size_t stride = 1 + (size_t)s->n_edges;
    double *part = l->part + (tree * s->n_tasks + share) * stride;
    memset(part, 0, stride * sizeof *part);
    for (size_t block = share * s->n_blocks / s->n_tasks;
         block < (share + 1) * s->n_blocks / s->n_tasks; block++)
        evaluate_block(l, &l->worker[index], part, &l->plan[tree], block);
}

/* out[k] = sum over tasks of part[task][k], in order. */
static void add_tasks(double *out, const double *part, size_t count, size_t stride, size_t n_tasks)
{
    for (size_t k = 0; k < count; k++)
        out[k] = 0;
    for (size_t task = 0; task < n_tasks; task++)
        for (size_t k = 0; k < count; k++)
            out[k] += part[task * stride + k];
}

void likelihood_batch(likelihood *l, double *value, double *gradient, const int32_t *decision,
                      const double *length, int n_trees)
{
    const layout *s = &l->size;
    size_t n_edges = (size_t)s->n_edges, stride = 1 + n_edges;
    l->with_gradient = gradient != NULL;
    for (int done = 0; done < n_trees; done += l->n_trees) {
        l->n_trees = n_trees - done < s->n_trees ? n_trees - done : s->n_trees;
        l->decision = decision + (size_t)done * (size_t)(s->n_taxa - 3);
        l->length = length + (size_t)done * n_edges;
        pool_run(l->threads, l->n_trees, prepare, l);
        pool_run(l->threads, (int)s->n_tasks * l->n_trees, evaluate, l);
        for (int i = 0; i < l->n_trees; i++) {
            const double *part = l->part + (size_t)i * s->n_tasks * stride;
            add_tasks(value + done + i, part, 1, stride, s->n_tasks);
            if (gradient)
                add_tasks(gradient + (size_t)(done + i) * n_edges, part + 1, n_edges, stride,
                          s->n_tasks);
        }
    }
}
