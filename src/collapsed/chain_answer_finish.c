#include "artreeformer.h"
#include "base/key_table.h"
#include "base/mem.h"
#include "collapsed/chain_splits.h"
#include "train/importance_weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double LEAST_LOG = -600; /* of a probability: what is less by a factor of exp(100)
                                         still is a number */

/* The trees that were picked and evaluated, as an estimate of the mean of u: each stands for
 * 1 / inclusion of its weight. */
typedef struct ratio_estimate {
    double log_mean; /* log of the mean of u */
    double error;    /* its standard error */
    double stays;    /* the part of the variance that would stay if all trees were picked */
    double k;        /* Pareto k of the u */
    double stands;   /* sum of weight / inclusion */
} ratio_estimate;

/* What a picked tree stands for: its weight over its chance to be picked. */
static double stands_for(const chain_answer *a, const picked_tree *t)
{
    return chain_answer_tree(a, (size_t)t->tree).weight / t->inclusion;
}

/* The variance of the mean of u, given the trees that are picked from. */
static double ratio_variance(const chain_answer *a, const ratio_estimate *r)
{
    double variance = 0;
    for (size_t i = 0; i < a->next; i++)
        variance += pow(stands_for(a, &a->pick[i]) / r->stands *
                            (exp(a->pick[i].log_ratio - r->log_mean) - 1),
                        2);
    return a->next > 1 ? variance * (double)a->next / (double)(a->next - 1) : HUGE_VAL;
}

double chain_answer_pareto(const chain_answer *a)
{
    double *u = mem_zeros(2 * a->next + 1, sizeof *u);
    for (size_t i = 0; u && i < a->next; i++)
        u[i] = a->pick[i].log_ratio;
    const double k = u ? weights_pareto_k(u, u + a->next, (int)a->next) : (double)NAN;
    free(u);
    return k;
}

/* States that are used, of all chains. */
static size_t used_states(const chain_answer *a)
{
    return chain_answer_trees(a) - a->n_draws;
}

/* Their effective number, by their splits: of those that were compared, a part is used. */
static double effective_states(const chain_answer *a)
{
    const chain_round *last = chain_rounds_last(&a->chains->rounds);
    const double used = (double)used_states(a);
    const double compared = last->states * a->chains->states.n_chains;
    return fmax(1, fmin(used, chain_round_ess(last) * used / compared));
}

double chain_answer_pool_size(const chain_answer *a)
{
    return log_mean_ess(&a->mean) + effective_states(a);
}

/* The variance of u / mean u between trees: what it has beyond that by the lengths drawn. */
static double between_trees(const chain_answer *a, const ratio_estimate *r)
{
    double sum = 0;
    for (size_t i = 0; i < a->next; i++) {
        const picked_tree *t = &a->pick[i];
        const double u = exp(t->log_ratio - r->log_mean);
        sum += stands_for(a, t) / r->stands * ((u - 1) * (u - 1) - t->variance * u * u);
    }
    return fmax(sum, 0);
}

static int estimate_ratio(ratio_estimate *out, const chain_answer *a)
{
    double top = -HUGE_VAL, sum = 0;
    *out = (ratio_estimate){.log_mean = NAN, .error = INFINITY, .k = chain_answer_pareto(a)};
    if (isnan(out->k))
        return ART_ERR_NOMEM;
    for (size_t i = 0; i < a->next; i++) {
        top = fmax(top, a->pick[i].log_ratio);
        out->stands += stands_for(a, &a->pick[i]);
    }
    for (size_t i = 0; i < a->next; i++)
        sum += stands_for(a, &a->pick[i]) * exp(a->pick[i].log_ratio - top);
    out->log_mean = top + log(sum / out->stands);
    out->stays = between_trees(a, out) / chain_answer_pool_size(a);
    out->error = sqrt(ratio_variance(a, out) + out->stays);
    return ART_OK;
}

/* The effective size of a weighted sample of n, from the error of its mean weight:
 * error^2 = 1/ess - 1/n. */
static double effective_size(double error, double n)
{
    return 1 / (error * error + 1 / n);
}

static int estimate_splits(chain_answer *a, const ratio_estimate *ratio)
{
    double *correction = mem_zeros(a->next + 1, sizeof *correction);
    if (!correction)
        return ART_ERR_NOMEM;
    for (size_t i = 0; i < a->next; i++)
        correction[i] = stands_for(a, &a->pick[i]) / ratio->stands *
                        (exp(a->pick[i].log_ratio - ratio->log_mean) - 1);
    const int status = chain_splits_estimate(&a->posterior.splits, a, correction,
                                             effective_states(a), ratio->stays);
    free(correction);
    return status;
}

/* What is taken from the logarithms of the trees' probabilities: 0, unless all of these are too
 * small for a number. Then a run that was cut short has met none of the trees that count, and they
 * are compared with the best of them. */
static double common_factor(const chain_answer *a)
{
    double top = -HUGE_VAL;
    for (size_t i = 0; i < chain_answer_trees(a); i++)
        top = fmax(top, chain_answer_tree(a, i).laplace - a->bridge.log_sum);
    return top < LEAST_LOG ? top : 0;
}

/* The trees that were evaluated, each with the mean of its estimates of exp(g) u over all times
 * that it was picked, over exp(log_sum); those whose estimates are all 0 are among `trees` only. */
static int list_picked(tree_set *found, key_table *trees, const chain_answer *a, double log_sum)
{
    double *sum = mem_zeros(2 * a->next + 1, sizeof *sum), *times = sum ? sum + a->next : NULL;
    int status = sum ? ART_OK : ART_ERR_NOMEM;
    for (size_t i = 0; i < a->next && !status; i++) {
        const picked_tree *t = &a->pick[i];
        const pooled_tree from = chain_answer_tree(a, (size_t)t->tree);
        size_t at;
        status = key_table_add(trees, from.decision, &at);
        if (!status) {
            sum[at] += t->times * exp(from.laplace + t->log_ratio - log_sum);
            times[at] += t->times;
        }
    }
    for (size_t i = 0; i < trees->count && !status; i++)
        if (sum[i] > 0)
            status = tree_set_add(found, key_table_at(trees, i), sum[i] / times[i]);
    free(sum);
    return status;
}

/* The trees that were met, each with its probability exp(g) over the sum of exp g; with its u where
 * that is known, over the mean of u. */
static int list_trees(chain_answer *a, const ratio_estimate *ratio)
{
    const size_t all = chain_answer_trees(a);
    const double common = common_factor(a), log_sum = a->bridge.log_sum + common;
    tree_set *old = &a->posterior.trees, found;
    key_table picked;
    key_table_init(&picked, a->chains->states.n_decisions * sizeof(int32_t));
    int status = tree_set_init(&found, &old->taxa);
    if (!status)
        status = list_picked(&found, &picked, a, ratio->log_mean + log_sum);
    for (size_t i = 0; i < all && !status; i++) {
        const pooled_tree t = chain_answer_tree(a, i);
        if (isfinite(t.laplace) && key_table_find(&picked, t.decision) < 0 &&
            tree_set_find(&found, t.decision) < 0)
            status = tree_set_add(&found, t.decision, exp(t.laplace - log_sum));
    }
    key_table_free(&picked);
    found.share = fmin(1, found.total * exp(common));
    tree_set_free(old);
    *old = found;
    return status;
}

static int summarise(evidence *e, chain_check *check, const chain_answer *a,
                     const ratio_estimate *ratio)
{
    double *weight = mem_zeros(2 * a->n_draws + 1, sizeof *weight);
    if (!weight)
        return ART_ERR_NOMEM;
    for (size_t i = 0; i < a->n_draws; i++)
        weight[i] = a->laplace[i] - a->log_q[i];
    check->pareto_k = weights_pareto_k(weight, weight + a->n_draws, (int)a->n_draws);
    free(weight);
    check->ratio_k = ratio->k;
    check->draw_ess = log_mean_ess(&a->mean);
    check->state_ess = effective_states(a);
    check->forward = log_mean_value(&a->mean) - a->bridge.log_sum;
    check->forward_error = log_mean_error(&a->mean);
    check->tree_error = a->bridge.error;
    check->overlap = a->bridge.overlap;
    check->ratio_error = ratio->error;
    check->other_modes = other_modes_share(&a->modes);
    const double error = hypot(check->tree_error, ratio->error);
    *e = (evidence){
        .log_evidence =
            a->bridge.log_sum + ratio->log_mean - log_topologies(a->chains->problem->n_taxa),
        .log_evidence_sd = NAN,
        .log_evidence_se = error,
        .lower_bound_1 = NAN,
        .lower_bound_10 = NAN,
        .lower_bound_k = NAN,
        /* at least one, also where nothing is known of the error */
        .ess = fmax(1, effective_size(error, (double)a->n_draws + check->state_ess)),
        .pareto_k = check->ratio_k,
        .total = (long)(a->n_draws + used_states(a)),
        .outside = NAN,
        .outside_se = NAN,
        .failed = (long)a->failed,
    };
    e->log_mean_weight = e->log_evidence;
    return ART_OK;
}

int chain_answer_finish(chain_answer *a, evidence *e, posterior *p, chain_check *check)
{
    ratio_estimate ratio;
    memset(p, 0, sizeof *p);
    memset(e, 0, sizeof *e);
    *check = (chain_check){0};
    int status = estimate_ratio(&ratio, a);
    if (!status && !isfinite(ratio.log_mean))
        status = ART_ERR_NUMERIC;
    if (!status)
        status = summarise(e, check, a, &ratio);
    if (!status)
        status = estimate_splits(a, &ratio);
    if (!status)
        status = list_trees(a, &ratio);
    if (!status)
        status = posterior_finish(&a->posterior);
    if (status)
        return status;
    a->posterior.sample_ess = fmin(a->posterior.sample_ess, chain_answer_pool_size(a));
    *p = a->posterior;
    memset(&a->posterior, 0, sizeof a->posterior);
    return ART_OK;
}
