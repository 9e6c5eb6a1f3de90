#include "infer/density.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct density {
    task base;
    const int32_t *tree; /* [count][N-3], borrowed */
    double *cumulative;  /* [count] of the normalised weights */
    size_t count;
    int batch;
    int n_decisions;
    uint64_t seed;
    size_t *pick;        /* [batch] */
    int32_t *decision;   /* [batch][N-3] */
    double *log_q;       /* [batch] */
    double *coefficient; /* [batch], all -1 / batch */
} density;

/* The first tree whose cumulative weight exceeds u. */
static size_t pick_tree(const density *s, double u)
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

/* Sorted, so that equal trees stand together. */
static int fill_batch(density *s, uint32_t step)
{
    int distinct = 0;
    for (int i = 0; i < s->batch; i++) {
        rng r = rng_at(s->seed, RNG_BATCH, step, (uint32_t)i);
        s->pick[i] = pick_tree(s, rng_uniform(&r));
    }
    qsort(s->pick, (size_t)s->batch, sizeof *s->pick, by_index);
    for (int i = 0; i < s->batch; i++) {
        distinct += i == 0 || s->pick[i] != s->pick[i - 1];
        memcpy(s->decision + (size_t)i * (size_t)s->n_decisions,
               s->tree + s->pick[i] * (size_t)s->n_decisions,
               (size_t)s->n_decisions * sizeof *s->decision);
    }
    return distinct;
}

static int density_step(task *t, task_step *out, uint32_t step, double anneal)
{
    (void)anneal;
    density *s = (density *)t;
    int distinct = fill_batch(s, step);
    int status = t->trees->ops->gradient(t->trees, s->log_q, s->decision, s->coefficient, s->batch);
    double sum = 0;
    for (int i = 0; i < s->batch; i++)
        sum += s->log_q[i];
    *out = (task_step){-sum / s->batch, NAN, distinct, s->batch};
    return status;
}

static int density_verify(task *t, diag *d)
{
    return task_verify_tree(t->trees, ((density *)t)->decision, d);
}

static int density_save(task *t, safetensors *s)
{
    (void)t, (void)s;
    return ART_OK; /* a batch is a function of the step */
}

static int density_load(task *t, safetensors *s, const char *file, diag *d)
{
    (void)t, (void)s, (void)file, (void)d;
    return ART_OK;
}

static void density_free(task *t)
{
    density *s = (density *)t;
    free(s->cumulative);
    free(s->pick);
    free(s->decision);
    free(s->log_q);
    free(s->coefficient);
    free(s);
}

static const task_ops OPS = {density_step, density_verify, density_save, density_load,
                             density_free};

int density_create(task **out, topology_model *trees, const int32_t *decision, const double *weight,
                   size_t count, int batch, uint64_t seed)
{
    *out = NULL;
    if (count == 0 || batch < 1)
        return ART_ERR_USAGE;
    density *s = mem_zeros(1, sizeof *s);
    if (!s)
        return ART_ERR_NOMEM;
    size_t k = (size_t)batch, n = (size_t)trees->n_taxa - 3;
    s->base = (task){&OPS, trees, NULL};
    s->tree = decision;
    s->count = count;
    s->batch = batch;
    s->n_decisions = (int)n;
    s->seed = seed;
    s->cumulative = mem_zeros(count, sizeof *s->cumulative);
    s->pick = mem_zeros(k, sizeof *s->pick);
    s->decision = mem_zeros(k * n, sizeof *s->decision);
    s->log_q = mem_zeros(k, sizeof *s->log_q);
    s->coefficient = mem_zeros(k, sizeof *s->coefficient);
    if (!s->cumulative || !s->pick || !s->decision || !s->log_q || !s->coefficient) {
        density_free(&s->base);
        return ART_ERR_NOMEM;
    }
    double total = 0, sum = 0;
    for (size_t i = 0; i < count; i++)
        total += weight[i];
    for (size_t i = 0; i < count; i++)
        s->cumulative[i] = (sum += weight[i]) / total;
    for (int i = 0; i < batch; i++)
        s->coefficient[i] = -1.0 / batch;
    *out = &s->base;
    return ART_OK;
}
