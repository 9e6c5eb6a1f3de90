#include "train/density_task.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "base/rng.h"
#include "tree/topology.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Letters: N taxa, E = 2N-3 edges. Which of the two models the task has says which density it
 * is about. */
typedef struct density {
    task base;
    const int32_t *tree; /* [count][N-3], borrowed */
    const double *drawn; /* [count][E], borrowed; NULL if topologies alone are fitted */
    double *cumulative;  /* [count] of the normalised weights */
    double threshold;    /* of PICKS_THRESHOLD, in the same units */
    size_t count;
    int batch; /* trees of a step; with PICKS_THRESHOLD at most .. */
    int trees; /* .. and how many the last step had */
    batch_picks picks;
    size_t n_decisions, n_edges;
    uint64_t seed;
    size_t *pick;        /* [batch] */
    int32_t *decision;   /* [batch][N-3] */
    double *length;      /* [batch][E], or NULL */
    double *log_q;       /* [batch] */
    double *coefficient; /* [batch], -1 / batch or minus the weight */
} density;

/* The first draw whose cumulative weight exceeds u. */
static size_t pick_draw(const density *s, double u)
{
    size_t low = 0, high = s->count - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->cumulative[middle] > u)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static int by_index(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* The normalised weight of a draw. */
static double weight_of(const density *s, size_t i)
{
    return s->cumulative[i] - (i ? s->cumulative[i - 1] : 0);
}

static void pick_equal_shares(density *s, uint32_t step, double offset)
{
    for (int i = 0; i < s->batch; i++) {
        rng r = rng_at(s->seed, RNG_BATCH, step, (uint32_t)i);
        s->pick[i] =
            pick_draw(s, s->picks == PICKS_SYSTEMATIC ? (i + offset) / s->batch : rng_uniform(&r));
    }
    qsort(s->pick, (size_t)s->batch, sizeof *s->pick, by_index);
    s->trees = s->batch;
}

static void pick_by_threshold(density *s, double offset)
{
    const double c = s->threshold;
    double before = offset; /* cumulative weight of the light draws, in units of c */
    s->trees = 0;
    for (size_t i = 0; i < s->count && s->trees < s->batch; i++) {
        const double weight = weight_of(s, i), after = before + weight / c;
        const bool is_heavy = weight >= c;
        if (is_heavy || floor(after) > floor(before)) {
            s->coefficient[s->trees] = is_heavy ? -weight : -c;
            s->pick[s->trees++] = i;
        }
        before = is_heavy ? before : after;
    }
}

/* Sorted, so that equal trees stand together. Returns how many distinct ones there are. */
static int fill_batch(density *s, uint32_t step)
{
    const size_t n = s->n_decisions, edges = s->n_edges;
    int distinct = 0;
    rng common = rng_at(s->seed, RNG_BATCH, step, 0);
    const double offset = rng_uniform(&common);
    if (s->picks == PICKS_THRESHOLD)
        pick_by_threshold(s, offset);
    else
        pick_equal_shares(s, step, offset);
    for (size_t i = 0; i < (size_t)s->trees; i++) {
        int32_t *decision = s->decision + i * n;
        memcpy(decision, s->tree + s->pick[i] * n, n * sizeof *decision);
        distinct += i == 0 || memcmp(decision, decision - n, n * sizeof *decision) != 0;
        if (s->length)
            memcpy(s->length + i * edges, s->drawn + s->pick[i] * edges, edges * sizeof *s->length);
    }
    return distinct;
}

static int density_step(task *t, task_step *out, uint32_t step, double anneal)
{
    (void)anneal;
    density *s = (density *)t;
    int distinct = fill_batch(s, step);
    int status = t->trees ? topology_model_gradient(t->trees, s->log_q, s->decision, s->coefficient,
                                                    s->trees)
                          : branch_model_gradient(t->branches, s->log_q, s->length, s->decision,
                                                  s->coefficient, s->trees);
    double sum = 0;
    if (s->picks == PICKS_THRESHOLD)
        for (int i = 0; i < s->trees; i++)
            sum += s->coefficient[i] * s->log_q[i];
    else
        for (int i = 0; i < s->trees; i++)
            sum += s->log_q[i];
    *out =
        (task_step){s->picks == PICKS_THRESHOLD ? sum : -sum / s->trees, NAN, distinct, s->trees};
    return status;
}

static int density_verify(task *t, diag *d)
{
    const density *s = (const density *)t;
    return task_verify_tree(t, s->decision, s->length, d);
}

static void density_free(task *t)
{
    density *s = (density *)t;
    free(s->cumulative);
    free(s->pick);
    free(s->decision);
    free(s->length);
    free(s->log_q);
    free(s->coefficient);
    free(s);
}

/* Nothing is saved: a batch is a function of the step. */
static const task_ops OPS = {density_step, density_verify, NULL, density_free};

/* c such that the sum over draws of min(1, weight / c) is the size of a batch but one: the
 * systematic sample may have one more than expected. A threshold below all weights if a batch has
 * room for all. Bisection, to the last bit of a double. */
static double find_threshold(const density *s)
{
    double low = 0, high = 1;
    if (s->count <= (size_t)s->batch)
        return DBL_MIN;
    while (low + (high - low) / 2 > low && low + (high - low) / 2 < high) {
        const double c = low + (high - low) / 2;
        double expected = 0;
        for (size_t i = 0; i < s->count; i++)
            expected += fmin(1, weight_of(s, i) / c);
        *(expected > fmax(s->batch - 1, 1) ? &low : &high) = c;
    }
    return high;
}

static void set_weights(density *s, const double *weight)
{
    double total = 0, sum = 0;
    for (size_t i = 0; i < s->count; i++)
        total += weight[i];
    for (size_t i = 0; i < s->count; i++)
        s->cumulative[i] = (sum += weight[i]) / total;
    for (int i = 0; i < s->batch; i++)
        s->coefficient[i] = -1.0 / s->batch;
    s->threshold = find_threshold(s);
}

/* The task of a half-filled one: models, trees, lengths, sizes and seed are given. */
static int create(task **out, const density *given, const double *weight, int n_taxa)
{
    const task *of = &given->base;
    *out = NULL;
    if (given->count == 0 || given->batch < 1)
        return ART_ERR_USAGE;
    if (of->trees ? !topology_model_can(of->trees, TOPOLOGY_GRADIENT)
                  : !branch_model_can(of->branches, BRANCH_GRADIENT))
        return ART_ERR_UNSUPPORTED;
    density *s = mem_zeros(1, sizeof *s);
    if (!s)
        return ART_ERR_NOMEM;
    *s = *given;
    size_t k = (size_t)s->batch;
    s->base.ops = &OPS;
    s->n_decisions = (size_t)n_taxa - 3;
    s->n_edges = (size_t)topology_edges(n_taxa);
    s->cumulative = mem_zeros(s->count, sizeof *s->cumulative);
    s->pick = mem_zeros(k, sizeof *s->pick);
    s->decision = mem_zeros(k * s->n_decisions, sizeof *s->decision);
    s->length = s->drawn ? mem_zeros(k * s->n_edges, sizeof *s->length) : NULL;
    s->log_q = mem_zeros(k, sizeof *s->log_q);
    s->coefficient = mem_zeros(k, sizeof *s->coefficient);
    if (!s->cumulative || !s->pick || !s->decision || (s->drawn && !s->length) || !s->log_q ||
        !s->coefficient) {
        density_free(&s->base);
        return ART_ERR_NOMEM;
    }
    set_weights(s, weight);
    *out = &s->base;
    return ART_OK;
}

int density_create(task **out, topology_model *trees, const int32_t *decision, const double *weight,
                   size_t count, int batch, batch_picks picks, uint64_t seed)
{
    density given = {.base.trees = trees,
                     .tree = decision,
                     .count = count,
                     .batch = batch,
                     .picks = picks,
                     .seed = seed};
    return create(out, &given, weight, trees->n_taxa);
}

int branch_density_create(task **out, branch_model *branches, const int32_t *decision,
                          const double *length, const double *weight, size_t count, int batch,
                          batch_picks picks, uint64_t seed)
{
    density given = {.base.branches = branches,
                     .tree = decision,
                     .drawn = length,
                     .count = count,
                     .batch = batch,
                     .picks = picks,
                     .seed = seed};
    return create(out, &given, weight, branches->n_taxa);
}
