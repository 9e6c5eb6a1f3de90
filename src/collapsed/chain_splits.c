#include "collapsed/chain_splits.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* Sums over the trees that have a split; the total of a table is the sum over all. */
typedef struct sums {
    split_table draws;      /* t v / draws, and its square */
    split_table correction; /* b, and its square */
    split_table *chain;     /* [n_chains] 1, and B */
    split_table *squares;   /* [n_chains] B^2 */
    split_table *early;     /* [n_chains] 1, of the states that the density was fitted to */
    int n_chains;
    double part; /* rho n_E / (n_E + n_F): what of the early states' difference counts .. */
    double gain; /* .. and rho times that: of the variance of I, what it saves */
} sums;

static void sums_free(sums *s)
{
    split_table_free(&s->draws);
    split_table_free(&s->correction);
    for (int c = 0; c < s->n_chains; c++) {
        if (s->chain)
            split_table_free(&s->chain[c]);
        if (s->squares)
            split_table_free(&s->squares[c]);
        if (s->early)
            split_table_free(&s->early[c]);
    }
    free(s->chain);
    free(s->squares);
    free(s->early);
}

static int sums_init(sums *s, const chain_answer *a)
{
    const int32_t n_taxa = a->chains->problem->n_taxa;
    *s = (sums){.n_chains = a->chains->states.n_chains};
    s->chain = mem_zeros((size_t)s->n_chains, sizeof *s->chain);
    s->squares = mem_zeros((size_t)s->n_chains, sizeof *s->squares);
    s->early = mem_zeros((size_t)s->n_chains, sizeof *s->early);
    int status =
        s->chain && s->squares && s->early ? split_table_init(&s->draws, n_taxa) : ART_ERR_NOMEM;
    if (!status)
        status = split_table_init(&s->correction, n_taxa);
    for (int c = 0; c < s->n_chains && !status; c++) {
        status = split_table_init(&s->chain[c], n_taxa);
        if (!status)
            status = split_table_init(&s->squares[c], n_taxa);
        if (!status)
            status = split_table_init(&s->early[c], n_taxa);
    }
    return status;
}

/* Adds a tree of the pooled sample to the sums, and with its weight to out. */
static int add_tree(sums *s, split_table *out, const chain_answer *a, size_t i)
{
    const pooled_tree from = chain_answer_tree(a, i);
    int status = split_table_add_uncertain(out, from.decision, NULL, from.weight, 0);
    if (status)
        return status;
    if (i < a->n_draws)
        return split_table_add(&s->draws, from.decision, NULL, from.weight);
    const double share = a->bridge.share; /* s v + t B = 1 */
    const double v = bridge_weight(&a->bridge, a->state_weight[i - a->n_draws]);
    const double b = fmax(0, (1 - share * v) / (1 - share));
    const size_t each = (chain_answer_trees(a) - a->n_draws) / (size_t)s->n_chains;
    const size_t chain = (i - a->n_draws) / each;
    status = split_table_add_uncertain(&s->chain[chain], from.decision, NULL, 1, b);
    return status ? status : split_table_add(&s->squares[chain], from.decision, NULL, b * b);
}

/* Adds the states that the density was fitted to, but for those that are left out at the start, and
 * finds what they count. Their splits come into out without a weight. */
static int add_early(sums *s, split_table *out, const chain_answer *a)
{
    const chain_states *x = &a->chains->states;
    const size_t first = chain_states_first(x), fresh = chain_stage_fresh(a->chains);
    double b = 0, states = 0;
    int status = ART_OK;
    for (int c = 0; c < s->n_chains; c++) {
        for (size_t i = first; i < fresh && !status; i++) {
            const int32_t *decision = chain_states_tree(x, c, i);
            status = split_table_add(&s->early[c], decision, NULL, 1);
            if (!status)
                status = split_table_add_uncertain(out, decision, NULL, 0, 0);
        }
        b += s->chain[c].doubt;
        states += s->chain[c].total;
    }
    if (status || first >= fresh)
        return status;
    const double early = (double)(fresh - first), all = (double)(x->count - first);
    const double rho = fmax(0, 1 - (1 - a->bridge.share) * b / states);
    s->part = rho * early / all;
    s->gain = rho * s->part;
    return ART_OK;
}

typedef struct pair {
    double weight, variance;
} pair;

static pair sums_of(const split_table *t, const uint64_t *bits)
{
    const int64_t at = split_table_find(t, bits);
    return at < 0 ? (pair){0, 0} : (pair){t->weight[at], t->variance[at]};
}

/* What the early states of chain k add to the mean of y: their frequency of a split less that of
 * the others. */
static double early_difference(const sums *s, const uint64_t *bits, int k)
{
    return s->part > 0 ? s->part * (sums_of(&s->early[k], bits).weight / s->early[k].total -
                                    sums_of(&s->chain[k], bits).weight / s->chain[k].total)
                       : 0;
}

/* The same of all chains. */
static double early_mean(const sums *s, const uint64_t *bits)
{
    double mean = 0;
    for (int k = 0; k < s->n_chains; k++)
        mean += early_difference(s, bits, k) / s->n_chains;
    return mean;
}

/* Rare splits come and go together, so that the states have seen fewer independent cases of them
 * than their number says: half a tree is added to both sides, as to one in RARE of the effective
 * states, and the variance of one is at least that, or RARE_VARIANCE if that is less. It also
 * covers splits that all states have, or none. */
static const double RARE = 20, RARE_VARIANCE = 0.05;

/* The variance of a mean over states with the given variance of one; `between` is what the
 * differences between chains say, `frequency` that of the split. */
static double mean_variance(double variance, double between, double frequency, double ess)
{
    const double seen = ess / RARE, rare = (seen * frequency + 0.5) / (seen + 1);
    const double least = fmin(rare * (1 - rare), RARE_VARIANCE);
    return fmax(fmax(variance, least) / ess, between);
}

/* The variance of the mean of n values of chains. */
static double between_chains(const double *mean, int n)
{
    double all = 0, between = 0;
    for (int k = 0; k < n; k++)
        all += mean[k] / n;
    for (int k = 0; k < n; k++)
        between += (mean[k] - all) * (mean[k] - all) / (n * (n - 1.0));
    return between;
}

/* The variance of the mean of y over the states, early ones included. */
static double state_variance(const sums *s, const uint64_t *bits, double share, double c,
                             double ess)
{
    const double t = 1 - share;
    double mean[CHAINS_MOST], all = 0, squares = 0, frequency = 0;
    const int n = s->n_chains;
    for (int k = 0; k < n; k++) {
        const split_table *chain = &s->chain[k];
        const pair has = sums_of(chain, bits); /* states, and their B */
        const double states = chain->total, b_all = chain->doubt;
        const double b2 = sums_of(&s->squares[k], bits).weight, b2_all = s->squares[k].total;
        mean[k] = (has.weight - t * (has.variance - c * b_all)) / states;
        squares += (has.weight - 2 * t * (1 - c) * has.variance + t * t * (1 - c) * (1 - c) * b2 +
                    t * t * c * c * (b2_all - b2)) /
                   (states * n);
        all += mean[k] / n;
        frequency += has.weight / (states * n);
        mean[k] += early_difference(s, bits, k);
    }
    const double saved = s->gain * frequency * (1 - frequency);
    return mean_variance(fmax(0, squares - all * all - saved), between_chains(mean, n), frequency,
                         ess);
}

/* The variance of P without the correction. */
static double split_variance(const sums *s, const uint64_t *bits, double share, double p,
                             double ess)
{
    const pair draws = sums_of(&s->draws, bits);
    const double c = s->draws.total > 0 ? draws.weight / s->draws.total : p;
    return draws.variance * (1 - 2 * c) + s->draws.doubt * c * c +
           state_variance(s, bits, share, c, ess);
}

/* The correction of a split that has the frequency p without it, and its variance. */
static pair correction_of(const sums *s, const uint64_t *bits, double p)
{
    const pair sum = sums_of(&s->correction, bits);
    return (pair){sum.weight, fmax(0, sum.variance * (1 - 2 * p) + s->correction.doubt * p * p)};
}

/* a^2, and a standard error more, as if there were as many independent corrections as splits, or
 * trees if these are fewer. */
static double size_of_corrections(const sums *s, const split_table *out, size_t trees)
{
    double excess = 0, noise = 0, room = 0, splits = 0;
    for (size_t i = 0; i < out->count; i++) {
        const uint64_t *bits = split_table_bits(out, i);
        const double p = split_frequency(out, i);
        if (split_is_trivial(bits, out->n_taxa) || !(p > 0 && p < 1))
            continue;
        const pair c = correction_of(s, bits, p);
        excess += c.weight * c.weight - c.variance;
        noise += c.variance;
        room += p * (1 - p);
        splits++;
    }
    return room > 0 ? (fmax(0, excess) + sqrt(2 / fmin(splits, (double)trees)) * noise) / room : 0;
}

/* What counts of a correction, as above. */
static pair shrunk(pair c, double size)
{
    const double part = c.variance > 0 ? size / (size + c.variance) : 1;
    return (pair){part * c.weight, part * c.variance};
}

int chain_splits_estimate(split_table *out, const chain_answer *a, const double *correction,
                          double ess, double stays)
{
    sums s;
    const size_t all = chain_answer_trees(a);
    int status = sums_init(&s, a);
    split_table_reset(out);
    for (size_t i = 0; i < all && !status; i++)
        status = add_tree(&s, out, a, i);
    if (!status)
        status = add_early(&s, out, a);
    for (size_t i = 0; i < a->next && !status; i++) {
        const int32_t *decision = chain_answer_tree(a, (size_t)a->pick[i].tree).decision;
        status = split_table_add(&s.correction, decision, NULL, correction[i]);
    }
    for (size_t i = 0; i < out->count && !status; i++) {
        const uint64_t *bits = split_table_bits(out, i);
        if (!split_is_trivial(bits, out->n_taxa))
            out->weight[i] =
                out->total * fmax(0, fmin(split_frequency(out, i) + early_mean(&s, bits), 1));
    }
    const double size = status ? 0 : size_of_corrections(&s, out, a->next);
    for (size_t i = 0; i < out->count && !status; i++) {
        const uint64_t *bits = split_table_bits(out, i);
        if (split_is_trivial(bits, out->n_taxa))
            continue;
        const double before = split_frequency(out, i);
        const pair c = shrunk(correction_of(&s, bits, before), size * before * (1 - before));
        const double p = fmax(0, fmin(before + c.weight, 1)); /* corrections are noisy */
        out->weight[i] = p * out->total;
        out->common[i] =
            split_variance(&s, bits, a->bridge.share, p, ess) + c.variance + stays * p * (1 - p);
    }
    sums_free(&s);
    return status;
}

/* The splits of the states of one chain, which are added to out too. */
static int add_chain(split_table *out, split_table *own, const chain_states *x, int chain)
{
    int status = split_table_init(own, out->n_taxa);
    for (size_t i = chain_states_first(x); i < x->count && !status; i++) {
        const int32_t *decision = chain_states_tree(x, chain, i);
        status = split_table_add_uncertain(out, decision, NULL, 1, 0);
        if (!status)
            status = split_table_add(own, decision, NULL, 1);
    }
    return status;
}

int chain_splits_of_states(split_table *out, const chain_states *x, double ess)
{
    split_table chain[CHAINS_MOST] = {{0}};
    double mean[CHAINS_MOST];
    int status = ART_OK;
    split_table_reset(out);
    for (int c = 0; c < x->n_chains && !status; c++)
        status = add_chain(out, &chain[c], x, c);
    for (size_t i = 0; i < out->count && !status; i++) {
        const uint64_t *bits = split_table_bits(out, i);
        const double p = split_frequency(out, i);
        if (split_is_trivial(bits, out->n_taxa))
            continue;
        for (int c = 0; c < x->n_chains; c++)
            mean[c] = sums_of(&chain[c], bits).weight / chain[c].total;
        out->common[i] = mean_variance(p * (1 - p), between_chains(mean, x->n_chains), p, ess);
    }
    for (int c = 0; c < x->n_chains; c++)
        split_table_free(&chain[c]);
    return status;
}
