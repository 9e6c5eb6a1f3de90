/* Fits in closed form and by EM (sbn.h has the formulas). */
#include "density/sbn/sbn.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct sbn_fit {
    sbn *b;
    const int32_t *decision; /* [trees][N-3], borrowed */
    size_t n_trees;
    double alpha;
    double *weight;  /* [trees], sum 1 */
    int32_t *entry;  /* [trees][2N-3][SBN_ENTRIES] */
    double *average; /* [entries] simple average */
    double *count;   /* [entries] */
    sbn_scratch work;
};

static void set_root_probabilities(sbn_fit *f)
{
    size_t roots = sbn_roots(f->b);
    double total = 0;
    for (size_t i = 0; i < roots; i++)
        total += f->count[i] + f->alpha * f->average[i];
    for (size_t i = 0; i < roots; i++)
        f->b->log_p[i] = log((f->count[i] + f->alpha * f->average[i]) / total);
}

/* What the prior adds to each pair of a parent. */
static double pair_prior(const sbn_fit *f, size_t p)
{
    const sbn *b = f->b;
    double total = 0;
    for (int32_t i = b->begin[p]; i < b->begin[p + 1]; i++)
        total += f->average[sbn_roots(b) + (size_t)b->list[i]];
    return f->alpha * total / (b->begin[p + 1] - b->begin[p]);
}

/* A count of 0 without prior is a probability of 0, also where all of a parent are 0. */
static void set_pair_probabilities(sbn_fit *f)
{
    sbn *b = f->b;
    size_t roots = sbn_roots(b);
    for (size_t p = 0; p < sbn_parents(b); p++) {
        double prior = pair_prior(f, p), total = 0;
        for (int32_t i = b->begin[p]; i < b->begin[p + 1]; i++)
            total += f->count[roots + (size_t)b->list[i]] + prior;
        for (int32_t i = b->begin[p]; i < b->begin[p + 1]; i++) {
            size_t k = roots + (size_t)b->list[i];
            b->log_p[k] = total > 0 ? log((f->count[k] + prior) / total) : -HUGE_VAL;
        }
    }
}

static double prior_objective(const sbn_fit *f)
{
    const sbn *b = f->b;
    size_t roots = sbn_roots(b);
    double sum = 0;
    if (f->alpha == 0)
        return 0;
    for (size_t i = 0; i < roots; i++)
        sum += f->alpha * f->average[i] * b->log_p[i];
    for (size_t p = 0; p < sbn_parents(b); p++) {
        double prior = pair_prior(f, p);
        for (int32_t i = b->begin[p]; i < b->begin[p + 1]; i++)
            sum += prior * b->log_p[roots + (size_t)b->list[i]];
    }
    return sum;
}

static size_t tree_entries(const sbn_fit *f)
{
    return (size_t)SBN_ENTRIES * (size_t)topology_edges(f->b->n_taxa);
}

/* Resolves the entries of the trees and adds up the simple average. */
static int average_trees(sbn_fit *f, const double *weight)
{
    size_t n = (size_t)f->b->n_taxa - 3, width = tree_entries(f);
    double total = 0, edges = topology_edges(f->b->n_taxa);
    for (size_t i = 0; i < f->n_trees; i++) {
        if (!(weight[i] >= 0) || !isfinite(weight[i]))
            return ART_ERR_USAGE;
        total += weight[i];
    }
    if (!(total > 0))
        return ART_ERR_USAGE;
    for (size_t i = 0; i < f->n_trees; i++) {
        int32_t *entry = f->entry + i * width;
        f->weight[i] = weight[i] / total;
        sbn_resolve(entry, f->b, f->decision + i * n, &f->work);
        for (size_t k = 0; k < width; k++) {
            if (entry[k] == SBN_MISSING)
                return ART_ERR_USAGE;
            if (entry[k] >= 0)
                f->average[entry[k]] += f->weight[i] / edges;
        }
    }
    return ART_OK;
}

int sbn_fit_create(sbn_fit **out, sbn *b, const int32_t *decision, const double *weight,
                   size_t count, double alpha)
{
    *out = NULL;
    if (!b->is_finished || count == 0 || !(alpha >= 0) || !isfinite(alpha))
        return ART_ERR_USAGE;
    sbn_fit *f = mem_zeros(1, sizeof *f);
    if (!f)
        return ART_ERR_NOMEM;
    f->b = b;
    f->decision = decision;
    f->n_trees = count;
    f->alpha = alpha;
    f->weight = mem_zeros(count, sizeof *f->weight);
    f->entry = mem_zeros(count, tree_entries(f) * sizeof *f->entry);
    f->average = mem_zeros(sbn_entries(b), sizeof *f->average);
    f->count = mem_zeros(sbn_entries(b), sizeof *f->count);
    int status = f->weight && f->entry && f->average && f->count ? ART_OK : ART_ERR_NOMEM;
    if (!status)
        status = sbn_scratch_init(&f->work, b->n_taxa);
    if (!status)
        status = average_trees(f, weight);
    if (status) {
        sbn_fit_free(f);
        return status;
    }
    memcpy(f->count, f->average, sbn_entries(b) * sizeof *f->count);
    set_root_probabilities(f);
    set_pair_probabilities(f);
    *out = f;
    return ART_OK;
}

void sbn_fit_free(sbn_fit *f)
{
    if (!f)
        return;
    free(f->weight);
    free(f->entry);
    free(f->average);
    free(f->count);
    sbn_scratch_free(&f->work);
    free(f);
}

void sbn_fit_step(sbn_fit *f, double *objective)
{
    sbn *b = f->b;
    size_t n = (size_t)b->n_taxa - 3, width = tree_entries(f);
    memset(f->count, 0, sbn_entries(b) * sizeof *f->count);
    *objective = prior_objective(f);
    for (size_t i = 0; i < f->n_trees; i++) {
        const int32_t *entry = f->entry + i * width;
        if (f->weight[i] == 0)
            continue;
        topology_build(&f->work.tree, f->decision + i * n);
        double log_q = sbn_log_q_of(b->log_p, entry, &f->work);
        *objective += f->weight[i] * log_q;
        sbn_add_counts(f->count, f->weight[i], log_q, entry, &f->work);
    }
    if (b->n_taxa == 3) /* one tree: the rooting does not matter, and nothing was counted */
        return;
    set_root_probabilities(f);
    set_pair_probabilities(f);
}

bool sbn_fit_stops(int64_t k, double objective, double before)
{
    return k >= SBN_MOST_STEPS - 1 ||
           (k > SBN_LEAST_STEPS && fabs(objective - before) < SBN_TOLERANCE);
}
