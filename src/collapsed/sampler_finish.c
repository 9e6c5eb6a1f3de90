#include "artreeformer.h"
#include "collapsed/sampler_state.h"
#include "train/importance_weights.h"

#include <math.h>
#include <string.h>

double tree_sampler_error(const tree_sampler *s)
{
    return log_mean_error(&s->mean);
}

double tree_sampler_pareto(tree_sampler *s)
{
    const int n = s->passes * s->batch.k; /* as much room is behind them */
    return weights_pareto_k(s->weight, s->weight + n, n);
}

double tree_sampler_ess(const tree_sampler *s)
{
    return weights_ess(s->weight, s->passes * s->batch.k);
}

int tree_sampler_passes(const tree_sampler *s)
{
    return s->passes;
}

bool tree_sampler_between(const tree_sampler *s)
{
    return s->stage == SAMPLER_DRAW && s->next == 0;
}

double tree_sampler_draws(const tree_sampler *s)
{
    const double table = (double)SAMPLER_REPEATS * s->k_table, all = s->batch.k;
    double done = 0;
    if (s->stage == SAMPLER_TABLE)
        done = s->next;
    else if (s->stage == SAMPLER_OUTSIDE)
        done = table + (s->kept ? (all - table) * s->next / s->kept : 0);
    return s->passes * all + done;
}

const particles *tree_sampler_particles(const tree_sampler *s)
{
    return &s->batch;
}

/* What trees have in common in the errors of splits: the error of the offset of all trees without
 * draws, which moves these against the others; and the share of peaks that were probably never
 * found (search.h), which all would agree or disagree with a split. plain has the trees without
 * draws alone. */
static void add_common_errors(split_table *splits, const split_table *plain, double offset_error,
                              double missing)
{
    missing = isnan(missing) ? 0 : missing; /* an unfinished search has no errors at all */
    for (size_t i = 0; i < splits->count; i++) {
        const uint64_t *bits = split_table_bits(splits, i);
        if (split_is_trivial(bits, splits->n_taxa))
            continue;
        const int64_t at = split_table_find(plain, bits);
        const double p = split_frequency(splits, i);
        const double moved = (at < 0 ? 0 : plain->weight[at]) - plain->total * p;
        const double off = offset_error * moved / splits->total, lost = missing * fmax(p, 1 - p);
        splits->common[i] = off * off + lost * lost;
    }
}

/* The probabilities that are reported: the blended ones of the table, importance weights
 * outside. */
static int report(tree_sampler *s, double outside, sampler_facts *facts)
{
    const tree_table *t = &s->c->table;
    tree_set *raw = &s->posterior.trees, better;
    split_table *splits = &s->posterior.splits;
    const double all = tree_table_log_sum(t, 0, 0), total = raw->total;
    split_table plain;
    int status = split_table_init(&plain, t->n_taxa);
    if (status)
        return status;
    status = tree_set_init(&better, &raw->taxa);
    tree_table_forget_lengths(&s->c->table); /* the set of trees takes as much */
    split_table_reset(splits);
    for (size_t i = 0; i < t->count && !status; i++) {
        const double p = exp(t->log_evidence[i] - all) * (1 - outside);
        const double error = t->error[i] < 0 ? facts->blend.diagonal.error : (double)t->error[i];
        status = tree_set_add(&better, tree_table_decision(t, i), p);
        if (!status)
            status = split_table_add_uncertain(splits, tree_table_decision(t, i), NULL, p,
                                               p * error * p * error);
        if (!status && t->error[i] < 0)
            status = split_table_add(&plain, tree_table_decision(t, i), NULL, p);
    }
    for (size_t i = 0; i < raw->count && !status; i++) {
        const int32_t *decision = tree_set_decision(raw, i);
        if (tree_table_find(t, decision) >= 0)
            continue;
        facts->outside_trees++;
        status = tree_set_add(&better, decision, raw->weight[i] / total);
        if (!status)
            status = split_table_add(splits, decision, NULL, raw->weight[i] / total);
    }
    if (!status)
        add_common_errors(splits, &plain, facts->blend.diagonal.offset_error,
                          tree_search_missing(s->c->search));
    split_table_free(&plain);
    tree_set_free(raw);
    *raw = better;
    return status;
}

/* That tree i of the table was in none of the passes, over that it was in one. */
static double odds_against(const tree_sampler *s, size_t i)
{
    const double wanted = exp(s->log_p[i]) * SAMPLER_REPEATS * s->k_table; /* draws in a pass */
    const double never = pow(1 - fmin(wanted, 1), s->passes);
    return never / (1 - never);
}

int tree_sampler_finish(tree_sampler *s, evidence *e, posterior *p, sampler_facts *facts)
{
    const size_t trees = s->c->table.count;
    size_t n = 0;
    memset(p, 0, sizeof *p);
    *facts = (sampler_facts){.passes = s->passes};
    if (s->passes == 0 || !(s->mean.sum > 0))
        return ART_ERR_NUMERIC;
    evidence_summarise(e, s->weight, s->set.particles, s->passes * SAMPLER_REPEATS);
    e->log_evidence = e->log_mean_weight;
    e->log_evidence_se = tree_sampler_error(s);
    /* b K draws of K: their mean weight times b is their part of the evidence */
    const double share = (double)s->k_network / s->set.particles;
    e->outside = share * exp(log_mean_value(&s->outside) - e->log_evidence);
    e->outside_se = e->outside > 0 ? e->outside * log_mean_error(&s->outside) : 0;
    e->failed = s->failed;
    for (size_t i = 0; i < trees; i++)
        if (s->estimate[i].draws.count) {
            s->estimate[n] = s->estimate[i];
            s->estimate[n++].stands_for = odds_against(s, i);
        }
    int status = n ? table_blend(&facts->blend, &s->c->table, s->estimate, n, &s->c->set.blend)
                   : ART_ERR_NUMERIC;
    facts->blend.trees = n;
    if (!status)
        status = report(s, e->outside, facts);
    if (!status)
        status = posterior_finish(&s->posterior);
    if (!status) {
        *p = s->posterior;
        memset(&s->posterior, 0, sizeof s->posterior);
    }
    return status;
}
