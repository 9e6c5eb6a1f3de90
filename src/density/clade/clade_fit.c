/* From counts to probabilities (clade_density.h has the formulas). What is estimated is so from
 * sums over splits: no tree is looked at again. */
#include "density/clade/clade_parts.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define SEEN_ONCE 1.5   /* observations; a little more than one where weights were rounded */
#define SMALLEST  1e-12 /* stands for a probability that does not matter, because it is constant */

clade_smoothing clade_smoothing_estimated(void)
{
    return (clade_smoothing){-1, {-1, -1}, {-1, -1}, {-1, -1, -1}};
}

/* Entries in groups: the counts of the splits of every clade, or of every context. */
typedef struct groups {
    const size_t *begin; /* [count+1] */
    size_t count;
    double *n;    /* [entries] in observations */
    double *base; /* [entries] what an entry has without counts of its own */
} groups;

/* Sum over the entries of n log p(entry | all but one observation of it). */
static double left_out(const groups *g, double strength, double discount)
{
    double sum = 0;
    for (size_t i = 0; i < g->count; i++) {
        double total = 0, freed = 0;
        for (size_t k = g->begin[i]; k < g->begin[i + 1]; k++) {
            total += g->n[k];
            freed += fmin(g->n[k], discount);
        }
        if (total < SEEN_ONCE)
            continue;
        for (size_t k = g->begin[i]; k < g->begin[i + 1]; k++) {
            double n = g->n[k], rest = fmax(n - 1, 0);
            if (n == 0)
                continue;
            double now_freed = freed - fmin(n, discount) + fmin(rest, discount);
            double above = fmax(rest - discount, 0) + (strength + now_freed) * g->base[k];
            double below = total - (n - rest) + strength;
            sum += n * log(fmax(above, SMALLEST * SMALLEST) / below);
        }
    }
    return sum;
}

/* The largest value near the start, by steps along both axes that are halved when none helps. */
static void estimate_level(double *strength, double *discount, const groups *g)
{
    double at[2] = {log(*strength >= 0 ? fmax(*strength, 1e-300) : 0.5),
                    *discount >= 0 ? *discount : 0.5};
    bool given[2] = {*strength >= 0, *discount >= 0};
    double step[2] = {2, 0.25};
    const double least[2] = {log(1e-3), 0}, largest[2] = {log(1e3), 0.95};
    double best = given[0] && given[1] ? 0 : left_out(g, exp(at[0]), at[1]);
    while (step[1] > 0.02 && !(given[0] && given[1])) {
        bool moved = false;
        for (int axis = 0; axis < 2; axis++)
            for (int way = -1; way <= 1 && !given[axis]; way += 2) {
                double before = at[axis];
                at[axis] = fmin(fmax(before + way * step[axis], least[axis]), largest[axis]);
                double value = left_out(g, exp(at[0]), at[1]);
                if (value > best) {
                    best = value;
                    moved = true;
                } else {
                    at[axis] = before;
                }
            }
        if (!moved) {
            step[0] /= 2;
            step[1] /= 2;
        }
    }
    if (!given[0])
        *strength = exp(at[0]);
    if (!given[1])
        *discount = at[1];
}

/* Lists by counting: begin [count+1], list [entries] in the order of the entries' numbers. */
static void fill_lists(size_t *begin, uint32_t *list, size_t count, const uint32_t *group,
                       size_t stride, size_t entries)
{
    memset(begin, 0, (count + 1) * sizeof *begin);
    for (size_t i = 0; i < entries; i++)
        begin[group[i * stride] + 1]++;
    for (size_t i = 0; i < count; i++)
        begin[i + 1] += begin[i];
    for (size_t i = 0; i < entries; i++)
        list[begin[group[i * stride]]++] = (uint32_t)i;
    for (size_t i = count; i > 0; i--)
        begin[i] = begin[i - 1];
    begin[0] = 0;
}

static int resize(void *column, size_t count, size_t size)
{
    void *old, *grown;
    memcpy(&old, column, sizeof old);
    grown = mem_resize(old, count + !count, size);
    if (!grown)
        return ART_ERR_NOMEM;
    memcpy(column, &grown, sizeof grown);
    return ART_OK;
}

static int lay_out(clade_density *d)
{
    size_t clades = d->clade_keys.count, splits = d->split_keys.count, pairs = d->pair_keys.count;
    size_t contexts = d->kind == CLADE_CCD2 ? 2 * splits : 0;
    if (resize(&d->split_begin, clades + 1, sizeof *d->split_begin) ||
        resize(&d->split_list, splits, sizeof *d->split_list) ||
        resize(&d->split_sum, splits, sizeof *d->split_sum) ||
        resize(&d->p, splits, sizeof *d->p) || resize(&d->beyond, clades, sizeof *d->beyond) ||
        resize(&d->by_size, clades, sizeof *d->by_size) ||
        resize(&d->pair_begin, contexts + 1, sizeof *d->pair_begin) ||
        resize(&d->pair_list, pairs, sizeof *d->pair_list) ||
        resize(&d->pair_sum, pairs, sizeof *d->pair_sum) ||
        resize(&d->pair_p, pairs, sizeof *d->pair_p) ||
        resize(&d->backoff, contexts, sizeof *d->backoff))
        return ART_ERR_NOMEM;
    size_t *begin = mem_zeros((size_t)d->n_taxa + 1, sizeof *begin);
    if (!begin)
        return ART_ERR_NOMEM;
    fill_lists(begin, d->by_size, (size_t)d->n_taxa, (const uint32_t *)&d->clade[0].size,
               sizeof *d->clade / sizeof(uint32_t), clades);
    free(begin);
    fill_lists(d->split_begin, d->split_list, clades, &d->split[0].clade,
               sizeof *d->split / sizeof(uint32_t), splits);
    if (contexts)
        fill_lists(d->pair_begin, d->pair_list, contexts,
                   (const uint32_t *)(const void *)d->pair_keys.key,
                   sizeof(clade_pair) / sizeof(uint32_t), pairs);
    return ART_OK;
}

/* spread [splits] by place: all the splits of a clade alike. */
static void fill_spread(double *spread, const clade_density *d)
{
    for (size_t c = 0; c < d->clade_keys.count; c++)
        for (size_t k = d->split_begin[c]; k < d->split_begin[c + 1]; k++)
            spread[k] = 1 / (double)(d->split_begin[c + 1] - d->split_begin[c]);
}

/* p and beyond from counts n and spread, both by place. */
static void fill_clades(clade_density *d, const double *n, const double *spread)
{
    double strength = d->used.strength[0], discount = d->used.discount[0];
    for (size_t c = 0; c < d->clade_keys.count; c++) {
        double total = 0, freed = 0;
        for (size_t k = d->split_begin[c]; k < d->split_begin[c + 1]; k++) {
            total += n[k];
            freed += fmin(n[k], discount);
        }
        bool free_choice = d->clade[c].size > 2; /* two taxa have one split */
        d->beyond[c] = free_choice ? (strength + freed) / (total + strength) : 0;
        for (size_t k = d->split_begin[c]; k < d->split_begin[c + 1]; k++)
            d->p[d->split_list[k]] = free_choice ? fmax(n[k] - discount, 0) / (total + strength) +
                                                       d->beyond[c] * d->used.share[0] * spread[k]
                                                 : 1;
    }
}

/* CCD0: S(C) = f(C) sum over splits of S(A) S(B), a split has S(A) S(B) over the sum. log_s
 * [clades]; p is left as a share of the core. */
static void fill_ccd0(clade_density *d, double *log_s)
{
    for (size_t i = 0; i < d->clade_keys.count; i++) {
        uint32_t c = d->by_size[i];
        double most = -INFINITY, sum = 0;
        log_s[c] = 0;
        if (d->clade[c].size < 2)
            continue;
        for (size_t k = d->split_begin[c]; k < d->split_begin[c + 1]; k++) {
            uint32_t s = d->split_list[k];
            d->p[s] = log_s[d->split[s].part[0]] + log_s[d->split[s].part[1]];
            most = fmax(most, d->p[s]);
        }
        for (size_t k = d->split_begin[c]; k < d->split_begin[c + 1]; k++)
            sum += exp(d->p[d->split_list[k]] - most);
        for (size_t k = d->split_begin[c]; k < d->split_begin[c + 1]; k++)
            d->p[d->split_list[k]] = exp(d->p[d->split_list[k]] - most) / sum * core_mass(d, c);
        log_s[c] = log(d->clade[c].weight / d->total) + most + log(sum);
    }
}

/* How a split that was seen once is explained in the three ways, had it not been seen: likelihood
 * [3]. Where it made a clade that nothing else has, what follows in that clade is explained too. */
static void explain_split(double *likelihood, const clade_density *d, const clade_split *s,
                          double spread, double scale)
{
    const clade *part[2] = {&d->clade[s->part[0]], &d->clade[s->part[1]]};
    int fresh = -1, n_fresh = 0;
    for (int i = 0; i < 2; i++)
        if (part[i]->size > 1 && part[i]->weight * scale < SEEN_ONCE) {
            fresh = i;
            n_fresh++;
        }
    likelihood[0] = n_fresh == 0 ? spread : 0;
    likelihood[1] = 0;
    double any = log_any(d, part[0]->size, part[1]->size);
    for (int i = 0; i < 2; i++)
        if (part[i]->size > 1 && part[i]->weight * scale < SEEN_ONCE) {
            const clade_split *below = &d->split[part[i]->split];
            any += log_any(d, d->clade[below->part[0]].size, d->clade[below->part[1]].size);
        }
    if (n_fresh == 1) {
        const clade_split *below = &d->split[part[fresh]->split];
        likelihood[1] =
            interchange_probability(d, s->clade, s->part[!fresh], below->part[0], below->part[1]);
    }
    likelihood[2] = exp(any);
}

/* The shares under which the splits that were seen once are most probable, by EM, with a little
 * of everything beforehand so that no share is 0. */
static int estimate_shares(clade_density *d, const double *n, const double *spread, double scale)
{
    static const double BEFORE[3] = {1, 1, 0.1}; /* observations */
    enum { ROUNDS = 50 };
    double *likelihood = mem_zeros(4 * d->split_keys.count, sizeof *likelihood);
    if (!likelihood)
        return ART_ERR_NOMEM;
    size_t events = 0;
    for (size_t c = 0; c < d->clade_keys.count; c++)
        for (size_t k = d->split_begin[c]; k < d->split_begin[c + 1]; k++)
            if (d->clade[c].size > 2 && n[k] > 0 && n[k] < SEEN_ONCE &&
                d->clade[c].weight * scale >= SEEN_ONCE) {
                double *event = likelihood + 4 * events++;
                explain_split(event, d, &d->split[d->split_list[k]], spread[k], scale);
                event[3] = n[k];
            }
    double share[3] = {1 / 3.0, 1 / 3.0, 1 / 3.0};
    for (int round = 0; round < ROUNDS; round++) {
        double sum[3] = {BEFORE[0], BEFORE[1], BEFORE[2]};
        for (size_t i = 0; i < events; i++) {
            const double *event = likelihood + 4 * i;
            double all = share[0] * event[0] + share[1] * event[1] + share[2] * event[2];
            for (int k = 0; k < 3 && all > 0; k++)
                sum[k] += event[3] * share[k] * event[k] / all;
        }
        double total = sum[0] + sum[1] + sum[2];
        for (int k = 0; k < 3; k++)
            share[k] = sum[k] / total;
    }
    memcpy(d->used.share, share, sizeof share);
    free(likelihood);
    return ART_OK;
}

/* The level of clades: what is to be estimated for it, and p. */
static int fit_clades(clade_density *d, const clade_smoothing *smoothing, double scale)
{
    size_t splits = d->split_keys.count;
    double *block = mem_zeros(3 * splits + d->clade_keys.count, sizeof *block);
    if (!block)
        return ART_ERR_NOMEM;
    double *n = block, *spread = n + splits, *base = spread + splits, *log_s = base + splits;
    int status = ART_OK;
    for (size_t k = 0; k < splits; k++)
        n[k] = d->split[d->split_list[k]].weight * scale;
    fill_spread(spread, d);
    fill_clades(d, n, spread);
    if (smoothing) {
        if (smoothing->share[0] < 0)
            status = estimate_shares(d, n, spread, scale);
        else
            memcpy(d->used.share, smoothing->share, sizeof d->used.share);
        for (size_t k = 0; k < splits; k++)
            base[k] = fmax(d->used.share[0] * spread[k], SMALLEST);
        d->used.strength[0] = smoothing->strength[0];
        d->used.discount[0] = smoothing->discount[0];
        estimate_level(&d->used.strength[0], &d->used.discount[0],
                       &(groups){d->split_begin, d->clade_keys.count, n, base});
        fill_clades(d, n, spread);
    }
    if (d->kind == CLADE_CCD0)
        fill_ccd0(d, log_s);
    free(block);
    return status;
}

/* p(split | clade) without one observation of it: what a pair that was seen once falls back to. */
static double p_left_out(const clade_density *d, uint32_t s, double scale)
{
    double n = d->split[s].weight * scale, total = d->clade[d->split[s].clade].weight * scale;
    double without = (total - fmin(n, 1)) / total;
    return fmax((d->p[s] - fmin(n, 1) / total) / without, SMALLEST);
}

/* The level of clades beside sisters. A context without counts leaves everything to its clade. */
static int fit_pairs(clade_density *d, const clade_smoothing *smoothing, double scale)
{
    size_t pairs = d->pair_keys.count, contexts = 2 * d->split_keys.count;
    double *block = mem_zeros(2 * pairs, sizeof *block);
    if (!block)
        return ART_ERR_NOMEM;
    double *n = block, *base = n + pairs;
    const clade_pair *pair = (const clade_pair *)(const void *)d->pair_keys.key;
    for (size_t k = 0; k < pairs; k++) {
        n[k] = d->pair_weight[d->pair_list[k]] * scale;
        base[k] = p_left_out(d, pair[d->pair_list[k]].split, scale);
    }
    if (smoothing) {
        d->used.strength[1] = smoothing->strength[1];
        d->used.discount[1] = smoothing->discount[1];
        estimate_level(&d->used.strength[1], &d->used.discount[1],
                       &(groups){d->pair_begin, contexts, n, base});
    }
    double strength = d->used.strength[1], discount = d->used.discount[1];
    for (size_t i = 0; i < contexts; i++) {
        double total = 0, freed = 0;
        for (size_t k = d->pair_begin[i]; k < d->pair_begin[i + 1]; k++) {
            total += n[k];
            freed += fmin(n[k], discount);
        }
        d->backoff[i] = total > 0 ? (strength + freed) / (total + strength) : 1;
        for (size_t k = d->pair_begin[i]; k < d->pair_begin[i + 1]; k++)
            d->pair_p[d->pair_list[k]] = fmax(n[k] - discount, 0) / (total + strength);
    }
    free(block);
    return ART_OK;
}

/* Running sums within each group, for draws. */
static void fill_sums(double *sum, const double *p, const size_t *begin, const uint32_t *list,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double so_far = 0;
        for (size_t k = begin[i]; k < begin[i + 1]; k++)
            sum[k] = so_far += p[list[k]];
    }
}

static bool in_range(const clade_smoothing *s)
{
    double shares = s->share[0] + s->share[1] + s->share[2];
    bool none = s->share[0] < 0 && s->share[1] < 0 && s->share[2] < 0;
    bool all = s->share[0] > 0 && s->share[1] >= 0 && s->share[2] >= 0;
    bool good = (none || (all && fabs(shares - 1) < 1e-9)) && isfinite(s->observations);
    for (int i = 0; i < 2; i++)
        good = good && isfinite(s->strength[i]) && s->discount[i] <= 1;
    return good;
}

int clade_density_fit(clade_density *d, const clade_smoothing *smoothing)
{
    d->fitted = false;
    if (d->total == 0 || (smoothing && !in_range(smoothing)))
        return ART_ERR_USAGE;
    int status = ART_OK;
    if (smoothing || d->kind == CLADE_CCD0)
        status = clade_expand(d);
    if (!status)
        status = lay_out(d);
    if (status)
        return status;
    memset(&d->used, 0, sizeof d->used);
    if (smoothing)
        d->used.observations = smoothing->observations > 0 ? smoothing->observations
                                                           : d->total * d->total / d->squares;
    double scale = (smoothing ? d->used.observations : 1) / d->total;
    status = fit_clades(d, smoothing, scale);
    if (!status && d->kind == CLADE_CCD2)
        status = fit_pairs(d, smoothing, scale);
    if (status)
        return status;
    fill_sums(d->split_sum, d->p, d->split_begin, d->split_list, d->clade_keys.count);
    if (d->kind == CLADE_CCD2)
        fill_sums(d->pair_sum, d->pair_p, d->pair_begin, d->pair_list, 2 * d->split_keys.count);
    d->fitted = true;
    return ART_OK;
}
