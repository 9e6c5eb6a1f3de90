#include "chain/convergence.h"

#include "artreeformer.h"
#include "base/hash.h"
#include "base/key_table.h"
#include "base/mem.h"
#include "tree/topology.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- effective sample size ---- */

enum { LEAST_VALUES = 4, BATCHES = 2048 };

/* A series of numbers, or of bits: whose products are counted 64 at a time. */
typedef struct series {
    const double *x;
    const uint64_t *bit; /* NULL: numbers */
    size_t n;
    double mean;
} series;

static double value_at(const series *s, size_t i)
{
    return s->bit ? (double)(s->bit[i / 64] >> (i % 64) & 1) : s->x[i];
}

static double sum_of(const series *s, size_t first, size_t end)
{
    double sum = 0;
    for (size_t i = first; i < end; i++)
        sum += value_at(s, i);
    return sum;
}

static bool is_constant(const series *s)
{
    for (size_t i = 1; i < s->n; i++)
        if (value_at(s, i) < value_at(s, 0) || value_at(s, i) > value_at(s, 0))
            return false;
    return true;
}

/* How many of the first n bits are set. */
static double count_bits(const uint64_t *bit, size_t n)
{
    size_t count = 0;
    for (size_t w = 0; w < n / 64; w++)
        count += (size_t)__builtin_popcountll(bit[w]);
    if (n % 64)
        count += (size_t)__builtin_popcountll(bit[n / 64] << (64 - n % 64));
    return (double)count;
}

/* How many i < n - lag have bits i and i + lag. Bits from n on are 0. */
static double common_bits(const uint64_t *bit, size_t n, size_t lag)
{
    const size_t words = (n + 63) / 64, skip = lag / 64;
    const unsigned shift = (unsigned)(lag % 64);
    size_t count = 0;
    for (size_t w = 0; w + skip < words; w++) {
        uint64_t later = bit[w + skip] >> shift;
        if (shift && w + skip + 1 < words)
            later |= bit[w + skip + 1] << (64 - shift);
        count += (size_t)__builtin_popcountll(bit[w] & later);
    }
    return (double)count;
}

/* sum over i < n - lag of (x_i - mean) (x_i+lag - mean) */
static double lag_product(const series *s, size_t lag)
{
    double sum = 0;
    if (s->bit) {
        /* the sums of the first n - lag values, and of the last */
        const double first = count_bits(s->bit, s->n - lag),
                     last = s->mean * (double)s->n - count_bits(s->bit, lag);
        return common_bits(s->bit, s->n, lag) - s->mean * (first + last) +
               (double)(s->n - lag) * s->mean * s->mean;
    }
    for (size_t i = 0; i + lag < s->n; i++)
        sum += (s->x[i] - s->mean) * (s->x[i + lag] - s->mean);
    return sum;
}

/* The autocorrelation time; NaN if the pairs of correlations are still positive at the last lag
 * that is looked at, most or n - 1. */
static double correlation_time(const series *s, double variance, size_t most)
{
    const size_t end = most < s->n ? most : s->n;
    double time = -1, before = INFINITY;
    for (size_t lag = 0; lag < end; lag += 2) {
        double pair = lag ? lag_product(s, lag) : variance;
        if (lag + 1 < s->n)
            pair += lag_product(s, lag + 1);
        if (pair <= 0)
            return time;
        before = fmin(before, pair);
        time += 2 * before / variance;
    }
    return end < s->n ? (double)NAN : time;
}

/* For series that are correlated over many lags: from the means of batches. n times the variance of
 * the mean is the same for both series, so the times are in proportion to variance per value. */
static double batch_time(const series *s, double variance)
{
    double mean[BATCHES];
    const size_t size = (s->n + BATCHES - 1) / BATCHES, n = s->n / size;
    series batch = {.x = mean, .n = n};
    for (size_t b = 0; b < n; b++) {
        mean[b] = sum_of(s, b * size, (b + 1) * size) / (double)size;
        batch.mean += mean[b] / (double)n;
    }
    const double own = lag_product(&batch, 0);
    if (!(own > 0))
        return 1;
    return correlation_time(&batch, own, n) * (double)size * (own / (double)n) /
           (variance / (double)s->n);
}

static double ess_of(series *s)
{
    if (s->n < LEAST_VALUES || is_constant(s)) /* rounding can give equal numbers a variance */
        return NAN;
    s->mean = sum_of(s, 0, s->n) / (double)s->n;
    const double variance = lag_product(s, 0);
    if (!isfinite(variance) || !(variance > 0))
        return NAN;
    double time = correlation_time(s, variance, SERIES_LAGS);
    if (isnan(time))
        time = batch_time(s, variance);
    return (double)s->n / fmax(1, time);
}

double series_ess(const double *x, size_t n)
{
    series s = {.x = x, .n = n};
    return ess_of(&s);
}

/* ---- R-hat ---- */

typedef struct moments {
    double count, mean, squares;
} moments;

static void moments_add(moments *m, double x)
{
    const double off = x - m->mean;
    m->count++;
    m->mean += off / m->count;
    m->squares += off * (x - m->mean);
}

double series_r_hat(const double *x, size_t n_chains, size_t n)
{
    const size_t half = n / 2;
    moments means = {0};
    double within = 0;
    if (n < LEAST_VALUES || n_chains < 1)
        return NAN;
    for (size_t part = 0; part < 2 * n_chains; part++) {
        const double *first = x + part / 2 * n + (part % 2 ? n - half : 0);
        moments m = {0};
        for (size_t i = 0; i < half; i++)
            moments_add(&m, first[i]);
        within += m.squares / (double)(half - 1) / (2 * (double)n_chains);
        moments_add(&means, m.mean);
    }
    const double h = (double)half, between = means.squares / (means.count - 1);
    if (!isfinite(within) || !isfinite(between))
        return NAN;
    if (within > 0)
        return sqrt((h - 1) / h + between / within);
    return between > 0 ? (double)INFINITY : 1;
}

/* ---- splits ---- */

static const double LEAST_FREQUENCY = 0.1;
static const size_t SERIES_BYTES = (size_t)64 << 20;

/* A split is known by the sum of the random numbers of its taxa, on the side without taxon 0. */
typedef struct split_key {
    uint64_t part[2];
} split_key;

typedef struct comparison {
    const chain_trees *chain;
    size_t n_chains;
    int32_t n_taxa;
    topology tree;
    int32_t *order; /* [2N-3] */
    split_key *key; /* [2N-2] by node */
    split_key *own; /* [N-3] the nontrivial splits of the tree */
    key_table seen; /* in one chain */
    uint32_t *times;
    size_t room;
    key_table candidate; /* with a frequency of LEAST_FREQUENCY in some chain */
    uint32_t *count;     /* [candidates][n_chains] trees with the split */
} comparison;

static int comparison_init(comparison *c, const chain_trees *chain, size_t n_chains, int32_t n_taxa)
{
    *c = (comparison){.chain = chain, .n_chains = n_chains, .n_taxa = n_taxa};
    key_table_init(&c->seen, sizeof(split_key));
    key_table_init(&c->candidate, sizeof(split_key));
    int status = topology_init(&c->tree, n_taxa);
    if (status)
        return status;
    const size_t nodes = (size_t)topology_nodes(n_taxa);
    c->order = mem_zeros(nodes, sizeof *c->order);
    c->key = mem_zeros(nodes, sizeof *c->key);
    c->own = mem_zeros(nodes, sizeof *c->own);
    if (!c->order || !c->key || !c->own)
        return ART_ERR_NOMEM;
    for (uint64_t i = 0; i < (uint64_t)n_taxa; i++)
        for (uint64_t k = 0; k < 2; k++)
            c->key[i].part[k] = hash_mix(hash_mix(2 * i + k + 1) ^ 0x9e3779b97f4a7c15u);
    return ART_OK;
}

static void comparison_free(comparison *c)
{
    topology_free(&c->tree);
    key_table_free(&c->seen);
    key_table_free(&c->candidate);
    free(c->order);
    free(c->key);
    free(c->own);
    free(c->times);
    free(c->count);
}

/* Sets own to the nontrivial splits of a tree. */
static void find_splits(comparison *c, size_t chain, size_t state)
{
    const int32_t n = c->n_taxa;
    size_t count = 0;
    topology_build(&c->tree, c->chain[chain].decision + state * (size_t)(n - 3));
    topology_postorder(c->order, &c->tree);
    for (int32_t i = 0; i < topology_edges(n); i++) {
        const int32_t v = c->order[i];
        if (v < n)
            continue;
        const split_key *a = &c->key[c->tree.child[v][0]], *b = &c->key[c->tree.child[v][1]];
        for (int k = 0; k < 2; k++)
            c->key[v].part[k] = a->part[k] + b->part[k];
        if (c->tree.parent[v] != 0)
            c->own[count++] = c->key[v];
    }
}

/* Counts the splits of one chain. */
static int count_chain(comparison *c, size_t chain)
{
    key_table_clear(&c->seen);
    for (size_t t = 0; t < c->chain[chain].count; t++) {
        find_splits(c, chain, t);
        for (int32_t i = 0; i < c->n_taxa - 3; i++) {
            size_t at;
            const size_t before = c->seen.count;
            uint32_t *times = mem_grow(c->times, &c->room, before, sizeof *times);
            if (!times)
                return ART_ERR_NOMEM;
            c->times = times;
            int status = key_table_add(&c->seen, &c->own[i], &at);
            if (status)
                return status;
            c->times[at] = at == before ? 1 : c->times[at] + 1;
        }
    }
    return ART_OK;
}

static int find_candidates(comparison *c)
{
    int status = ART_OK;
    for (size_t k = 0; k < c->n_chains && !status; k++) {
        status = count_chain(c, k);
        for (size_t i = 0; i < c->seen.count && !status; i++) {
            size_t at;
            if ((double)c->times[i] / (double)c->chain[k].count >= LEAST_FREQUENCY)
                status = key_table_add(&c->candidate, key_table_at(&c->seen, i), &at);
        }
    }
    key_table_free(&c->seen);
    return status;
}

static int count_candidates(comparison *c)
{
    c->count = mem_zeros(c->candidate.count * c->n_chains, sizeof *c->count);
    if (!c->count)
        return ART_ERR_NOMEM;
    for (size_t k = 0; k < c->n_chains; k++)
        for (size_t t = 0; t < c->chain[k].count; t++) {
            find_splits(c, k, t);
            for (int32_t i = 0; i < c->n_taxa - 3; i++) {
                const int64_t at = key_table_find(&c->candidate, &c->own[i]);
                if (at != KEY_NONE)
                    c->count[(size_t)at * c->n_chains + k]++;
            }
        }
    return ART_OK;
}

static double frequency(const comparison *c, size_t split, size_t chain)
{
    return (double)c->count[split * c->n_chains + chain] / (double)c->chain[chain].count;
}

static bool is_uncertain(const comparison *c, size_t split)
{
    double mean = 0;
    for (size_t k = 0; k < c->n_chains; k++)
        mean += frequency(c, split, k);
    mean /= (double)c->n_chains;
    return mean >= LEAST_FREQUENCY && mean <= 1 - LEAST_FREQUENCY;
}

static void compare_frequencies(split_agreement *out, const comparison *c)
{
    double sum = 0, most = 0, widest = 0, variance = 0, expected = 0;
    for (size_t i = 0; i < c->candidate.count; i++) {
        moments m = {0};
        double low = 1, high = 0;
        for (size_t k = 0; k < c->n_chains; k++) {
            const double f = frequency(c, i, k);
            moments_add(&m, f);
            low = fmin(low, f);
            high = fmax(high, f);
        }
        const double deviation = sqrt(m.squares / (m.count - 1));
        sum += deviation;
        most = fmax(most, deviation);
        widest = fmax(widest, high - low);
        if (is_uncertain(c, i)) {
            variance += deviation * deviation;
            expected += m.mean * (1 - m.mean);
        }
    }
    if (variance > 0)
        out->between_ess = (double)c->n_chains * expected / variance;
    out->average_deviation = sum / (double)c->candidate.count;
    out->largest_deviation = most;
    out->largest_difference = widest;
}

/* The series of a chain: bit [splits][words]. slot[candidate] is the place of a split, or -1. */
static void record_series(uint64_t *bit, comparison *c, size_t chain, const int32_t *slot,
                          size_t words)
{
    for (size_t t = 0; t < c->chain[chain].count; t++) {
        find_splits(c, chain, t);
        for (int32_t i = 0; i < c->n_taxa - 3; i++) {
            const int64_t at = key_table_find(&c->candidate, &c->own[i]);
            if (at != KEY_NONE && slot[at] >= 0)
                bit[(size_t)slot[at] * words + t / 64] |= (uint64_t)1 << (t % 64);
        }
    }
}

/* Adds the effective sizes of one chain to ess [splits]. */
static void add_sizes(double *ess, comparison *c, size_t chain, const int32_t *slot, uint64_t *bit,
                      size_t splits)
{
    const size_t n = c->chain[chain].count, words = (n + 63) / 64;
    memset(bit, 0, splits * words * sizeof *bit);
    record_series(bit, c, chain, slot, words);
    for (size_t i = 0; i < splits; i++) {
        series s = {.bit = bit + i * words, .n = n};
        const double size = ess_of(&s);
        ess[i] += isnan(size) ? 1 : size;
    }
}

/* The smallest effective size of `splits` splits, of which the series fit into memory. */
static void least_of_group(double *least, comparison *c, const int32_t *slot, uint64_t *bit,
                           double *ess, size_t splits)
{
    memset(ess, 0, splits * sizeof *ess);
    for (size_t k = 0; k < c->n_chains; k++)
        add_sizes(ess, c, k, slot, bit, splits);
    for (size_t i = 0; i < splits; i++)
        if (!(*least <= ess[i]))
            *least = ess[i];
}

static int find_least_ess(split_agreement *out, comparison *c)
{
    const size_t candidates = c->candidate.count;
    size_t words = 1, splits = 0;
    for (size_t k = 0; k < c->n_chains; k++)
        if ((c->chain[k].count + 63) / 64 > words)
            words = (c->chain[k].count + 63) / 64;
    const size_t fit = SERIES_BYTES / (words * sizeof(uint64_t));
    size_t room = fit < 1 ? 1 : fit;
    room = room < candidates ? room : candidates;
    int32_t *slot = mem_zeros(candidates, sizeof *slot);
    uint64_t *bit = mem_zeros(room * words, sizeof *bit);
    double *ess = mem_zeros(room, sizeof *ess);
    const bool is_short = !slot || !bit || !ess;
    for (size_t i = 0; i < candidates && !is_short; i++)
        slot[i] = -1;
    for (size_t i = 0, first = 0; i < candidates && !is_short; i++) {
        if (is_uncertain(c, i)) {
            slot[i] = (int32_t)splits++;
            out->uncertain++;
        }
        if (splits == room || (splits && i + 1 == candidates)) {
            least_of_group(&out->least_ess, c, slot, bit, ess, splits);
            for (; first <= i; first++)
                slot[first] = -1;
            splits = 0;
        }
    }
    free(slot);
    free(bit);
    free(ess);
    return is_short ? ART_ERR_NOMEM : ART_OK;
}

int split_agreement_of(split_agreement *out, const chain_trees *chain, size_t n_chains,
                       int32_t n_taxa)
{
    comparison c;
    *out = (split_agreement){0, NAN, NAN, NAN, 0, NAN, NAN};
    bool has_trees = n_chains >= 1;
    for (size_t k = 0; k < n_chains; k++)
        has_trees = has_trees && chain[k].count >= 1 && chain[k].count <= UINT32_MAX;
    if (!has_trees || n_taxa < 3)
        return ART_ERR_USAGE;
    int status = comparison_init(&c, chain, n_chains, n_taxa);
    if (!status)
        status = find_candidates(&c);
    if (!status)
        status = count_candidates(&c);
    if (!status && c.candidate.count && n_chains >= 2) {
        out->splits = c.candidate.count;
        compare_frequencies(out, &c);
    }
    if (!status && c.candidate.count)
        status = find_least_ess(out, &c);
    comparison_free(&c);
    return status;
}
