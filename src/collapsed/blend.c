#include "collapsed/blend.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK = 256, /* trees at a time */
    LEAST = 2,   /* trees, however late it is: one has no scatter */
};

/* A tree with draws, compared with one approximation. */
typedef struct compared {
    double base;    /* the approximation */
    double weight;  /* trees that it stands for; then their part of the posterior, by base */
    double sampled; /* log of the mean weight, its bias taken away */
    double noise;   /* variance of sampled */
} compared;

/* The relative variance of one draw of a tree; needs two. */
static double draw_variance(const log_mean *m)
{
    const double error = log_mean_error(m);
    return error * error * (double)m->count;
}

static double pooled_variance(const tree_estimate *e, size_t n)
{
    double sum = 0, count = 0;
    for (size_t i = 0; i < n; i++)
        if (e[i].draws.count > 1 && isfinite(log_mean_value(&e[i].draws))) {
            sum += (double)e[i].draws.count * draw_variance(&e[i].draws);
            count += (double)e[i].draws.count;
        }
    return count > 0 ? sum / count : 1;
}

/* Fills sampled and noise, and the final weight; base and a first weight are there. A tree whose
 * draws have no weight says nothing: its noise is infinite. */
static void compare(compared *c, const tree_estimate *e, size_t n, double pooled,
                    const blend_settings *set)
{
    double top = -HUGE_VAL, sum = 0;
    for (size_t i = 0; i < n; i++)
        top = fmax(top, c[i].weight > 0 ? c[i].base : -HUGE_VAL);
    for (size_t i = 0; i < n; i++)
        sum += c[i].weight *= c[i].weight > 0 ? exp(c[i].base - top) : 0;
    for (size_t i = 0; i < n; i++) {
        const log_mean *m = &e[i].draws;
        const double count = (double)m->count, value = log_mean_value(m);
        const double own = m->count > 1 && isfinite(value) ? draw_variance(m) : pooled;
        const double variance =
            ((count - 1) * own + set->borrowed * pooled) / (count - 1 + set->borrowed);
        c[i].weight /= sum > 0 ? sum : 1;
        c[i].noise = isfinite(value) ? variance / count : (double)INFINITY;
        c[i].sampled = value + variance / (2 * count);
    }
}

/* Offset and scatter: means over the posterior of these trees. */
static void summarise(approximation *out, const compared *c, size_t n, double pooled,
                      const blend_settings *set)
{
    const double far = set->farthest, least = set->least_scatter;
    double mean = 0, variance = 0, scatter = 0, doubt = 0;
    for (size_t i = 0; i < n; i++) /* of exp d: sampling is unbiased there */
        mean +=
            isinf(c[i].noise) ? 0 : c[i].weight * exp(c[i].sampled - c[i].noise / 2 - c[i].base);
    out->offset = mean > 0 ? log(mean) : 0;
    for (size_t i = 0; i < n; i++) {
        if (isinf(c[i].noise))
            continue;
        const double off = c[i].sampled - c[i].base - out->offset;
        const double most = far * far * (c[i].noise + least * least);
        const double excess = fmin(off * off, most) - c[i].noise;
        scatter += c[i].weight * excess;
        doubt += pow(c[i].weight * excess, 2);
        variance += c[i].weight * c[i].weight * c[i].noise;
    }
    out->offset_error = sqrt(variance);
    out->error = fmax(sqrt(fmax(scatter, 0)), least);
    out->scatter = fmax(sqrt(fmax(scatter - set->doubt * sqrt(doubt), 0)), least);
    out->variance = pooled;
}

/* g of one tree, and its standard error. */
static double blend(float *error, const approximation *a, const compared *c)
{
    const double v = a->scatter * a->scatter;
    const double trust = isinf(c->noise) ? 0 : v / (v + c->noise);
    const double off = trust > 0 ? c->sampled - c->base - a->offset : 0;
    *error = (float)sqrt((1 - trust) * v + a->offset_error * a->offset_error);
    return c->base + a->offset + trust * off;
}

int table_blend(table_improvement *out, tree_table *t, const tree_estimate *estimate, size_t n,
                const blend_settings *set)
{
    compared *by_full = mem_zeros(n, sizeof *by_full),
             *by_laplace = mem_zeros(n, sizeof *by_laplace);
    tree_estimate *full = mem_zeros(n, sizeof *full);
    size_t n_full = 0;
    if (!by_full || !by_laplace || !full) {
        free(by_full);
        free(by_laplace);
        free(full);
        return ART_ERR_NOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        by_laplace[i] = (compared){estimate[i].laplace, estimate[i].stands_for, 0, 0};
        if (isnan(estimate[i].full))
            continue;
        full[n_full] = estimate[i];
        by_full[n_full++] = (compared){estimate[i].full, 1, 0, 0};
    }
    const double pooled_full = pooled_variance(full, n_full);
    const double pooled = pooled_variance(estimate, n);
    compare(by_full, full, n_full, pooled_full, set);
    compare(by_laplace, estimate, n, pooled, set);
    summarise(&out->full, by_full, n_full, pooled_full, set);
    summarise(&out->diagonal, by_laplace, n, pooled, set);
    for (size_t i = 0; i < t->count; i++)
        t->error[i] = -1;
    for (size_t i = 0; i < n; i++) {
        const size_t tree = estimate[i].tree;
        if (isnan(estimate[i].full))
            t->log_evidence[tree] = blend(&t->error[tree], &out->diagonal, &by_laplace[i]);
    }
    for (size_t i = 0; i < n_full; i++)
        t->log_evidence[full[i].tree] = blend(&t->error[full[i].tree], &out->full, &by_full[i]);
    tree_table_set_offset(t, out->diagonal.offset);
    free(by_full);
    free(by_laplace);
    free(full);
    return ART_OK;
}

typedef struct ranked {
    double laplace;
    size_t tree;
} ranked;

static int by_laplace(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->laplace != y->laplace)
        return x->laplace < y->laplace ? 1 : -1;
    return (x->tree > y->tree) - (x->tree < y->tree);
}

/* The best trees that hold the wanted share; returns how many. */
static size_t choose(ranked *list, const tree_table *t, double share, size_t most, double *held)
{
    const double all = tree_table_log_sum(t, 0, 0);
    for (size_t i = 0; i < t->count; i++)
        list[i] = (ranked){t->laplace[i], i};
    qsort(list, t->count, sizeof *list, by_laplace);
    size_t count = 0;
    *held = 0;
    while (count < t->count && count < most && *held < share)
        *held += exp(t->log_evidence[list[count++].tree] - all);
    return count;
}

/* What has a result of the jobs of one chunk is appended to done. */
static size_t take_results(tree_estimate *done, tree_table *t, const evidence_job *job,
                           const ranked *list, int count, table_improvement *out)
{
    size_t n = 0;
    for (int i = 0; i < count; i++) {
        if (job[i].status || !isfinite(log_mean_value(&job[i].weights))) {
            out->failed++;
            continue;
        }
        tree_table_update(t, list[i].tree, job[i].length, job[i].laplace);
        t->mark[list[i].tree] &= (uint8_t)~TREE_UNFITTED;
        out->ess += log_mean_ess(&job[i].weights) / job[i].draws;
        done[n++] =
            (tree_estimate){list[i].tree, job[i].full_laplace, job[i].laplace, 1, job[i].weights};
    }
    return n;
}

/* Runs the jobs of one chunk; returns how many are done, and appends their results to done. */
static int run_chunk(tree_estimate *done, tree_table *t, evidence_batch *team, evidence_job *job,
                     double *length, const ranked *list, int count, table_improvement *out,
                     const interrupt *stop)
{
    for (int i = 0; i < count; i++) {
        const size_t tree = list[i].tree;
        job[i].decision = tree_table_decision(t, tree);
        job[i].length = length + (size_t)i * t->n_edges;
        tree_table_lengths(job[i].length, t, tree);
    }
    const int ran = evidence_batch_run(team, job, count, stop);
    out->trees += take_results(done + out->trees, t, job, list, ran, out);
    return ran;
}

int table_improve(table_improvement *out, tree_table *t, evidence_batch *team,
                  const blend_settings *set, uint64_t seed, uint32_t step, const interrupt *stop)
{
    memset(out, 0, sizeof *out);
    if (set->draws < 2)
        return ART_ERR_USAGE;
    ranked *list = mem_zeros(t->count, sizeof *list);
    if (!list)
        return ART_ERR_NOMEM;
    const size_t count = choose(list, t, set->share, set->most, &out->share);
    tree_estimate *done = mem_zeros(count, sizeof *done);
    evidence_job *job = mem_zeros(CHUNK, sizeof *job);
    double *length = mem_zeros(CHUNK * t->n_edges, sizeof *length);
    int status = done && job && length ? ART_OK : ART_ERR_NOMEM;
    for (size_t first = 0, ran; first < count && !status; first += ran) {
        const bool must = first < LEAST; /* the first ones, and those that a stop has left */
        const size_t most = must && interrupt_is_due(stop) ? LEAST - first : CHUNK;
        const size_t now = count - first < most ? count - first : most;
        for (size_t i = 0; i < now; i++)
            job[i] = (evidence_job){
                .tolerance = set->tolerance,
                .shape = EVIDENCE_FULL,
                .draws = set->draws,
                .stream = rng_at(seed, RNG_TREE_LENGTHS, step, (uint32_t)(first + i)),
            };
        ran = (size_t)run_chunk(done, t, team, job, length, list + first, (int)now, out,
                                most < CHUNK ? NULL : stop);
        if (first + ran >= LEAST && interrupt_is_due(stop))
            break;
    }
    if (!status && out->trees) {
        out->ess /= (double)out->trees;
        status = table_blend(out, t, done, out->trees, set);
    }
    free(list);
    free(done);
    free(job);
    free(length);
    return status;
}
