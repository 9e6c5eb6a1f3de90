#include "collapsed/fit_targets.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SCORE_BATCH = 256 }; /* trees that are scored at a time */

size_t fit_targets_thin(size_t *kept, double *stands_for, const double *weight, size_t count,
                        size_t most)
{
    double light = 0; /* weight of those that do not stand for themselves */
    size_t heavy = 0, n = 0;
    for (size_t i = 0; i < count; i++)
        light += weight[i];
    if (count <= most)
        heavy = count;
    else
        while (heavy + 1 < most && weight[heavy] * (double)(most - heavy) > light)
            light -= weight[heavy++];
    for (; n < heavy; n++) {
        kept[n] = n;
        stands_for[n] = weight[n];
    }
    const double share = heavy < count ? light / (double)(most - heavy) : 0;
    double sum = 0;
    for (size_t i = heavy; i < count && n < most; i++) {
        sum += weight[i];
        if (sum < ((double)(n - heavy) + 0.5) * share)
            continue;
        kept[n] = i;
        stands_for[n++] = share;
    }
    return n;
}

static int falling(const void *a, const void *b)
{
    const double *x = *(const double *const *)a, *y = *(const double *const *)b;
    if (*x != *y)
        return *x < *y ? 1 : -1;
    return (x > y) - (x < y);
}

static int allocate(fit_targets *f, size_t room, size_t n_decisions)
{
    f->decision = mem_zeros(room * n_decisions, sizeof *f->decision);
    f->weight = mem_zeros(room, sizeof *f->weight);
    f->log_p = mem_zeros(room, sizeof *f->log_p);
    return f->decision && f->weight && f->log_p ? ART_OK : ART_ERR_NOMEM;
}

/* g points to the table's values in falling order; weight and kept are room for what is needed. */
static void choose(fit_targets *f, const tree_table *t, const double **g, double *weight,
                   size_t *kept, size_t most)
{
    const double all = tree_table_log_sum(t, 0, 0);
    double sum = 0;
    for (size_t i = 0; i < t->count; i++)
        weight[i] = exp(*g[i] - all);
    f->count = fit_targets_thin(kept, f->weight, weight, t->count, most);
    for (size_t i = 0; i < f->count; i++) {
        const size_t tree = (size_t)(g[kept[i]] - t->log_evidence);
        memcpy(f->decision + i * t->n_decisions, tree_table_decision(t, tree),
               t->n_decisions * sizeof *f->decision);
        f->log_p[i] = t->log_evidence[tree] - all;
        sum += f->weight[i];
    }
    for (size_t i = 0; i < f->count; i++)
        f->weight[i] /= sum;
}

int fit_targets_choose(fit_targets *f, const tree_table *t, size_t most)
{
    const size_t room = t->count < most ? t->count : most;
    const double **g = mem_zeros(t->count, sizeof *g);
    double *weight = mem_zeros(t->count, sizeof *weight);
    size_t *kept = mem_zeros(room, sizeof *kept);
    *f = (fit_targets){0};
    int status = g && weight && kept ? allocate(f, room, t->n_decisions) : ART_ERR_NOMEM;
    if (!status) {
        for (size_t i = 0; i < t->count; i++)
            g[i] = &t->log_evidence[i];
        qsort(g, t->count, sizeof *g, falling);
        choose(f, t, g, weight, kept, most);
    }
    free(g);
    free(weight);
    free(kept);
    return status;
}

void fit_targets_free(fit_targets *f)
{
    free(f->decision);
    free(f->weight);
    free(f->log_p);
    *f = (fit_targets){0};
}

int fit_targets_gap(double *gap, const fit_targets *f, topology_model *q, size_t most)
{
    const size_t n_decisions = (size_t)q->n_taxa - 3, room = f->count < most ? f->count : most;
    size_t *kept = mem_zeros(room, sizeof *kept);
    double *weight = mem_zeros(room, sizeof *weight), sum = 0, log_q[SCORE_BATCH];
    int32_t *decision = mem_zeros(SCORE_BATCH * n_decisions, sizeof *decision);
    int status = kept && weight && decision ? ART_OK : ART_ERR_NOMEM;
    const size_t count = status ? 0 : fit_targets_thin(kept, weight, f->weight, f->count, most);
    *gap = 0;
    for (size_t first = 0; first < count && !status; first += SCORE_BATCH) {
        const size_t k = count - first < SCORE_BATCH ? count - first : SCORE_BATCH;
        for (size_t i = 0; i < k; i++)
            memcpy(decision + i * n_decisions, f->decision + kept[first + i] * n_decisions,
                   n_decisions * sizeof *decision);
        status = topology_model_score(q, log_q, decision, (int)k);
        for (size_t i = first; i < first + k && !status; i++) {
            *gap += weight[i] * (f->log_p[kept[i]] - log_q[i - first]);
            sum += weight[i];
        }
    }
    if (!status)
        *gap /= sum;
    free(kept);
    free(weight);
    free(decision);
    return status;
}
