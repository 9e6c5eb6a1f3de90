#include "collapsed/chain_rounds.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "chain/convergence.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Blocks of all chains times taxa, patterns and rate categories, in a piece of work. */
static const double PIECE_SIZE = 1e5;

int64_t chain_piece_blocks(const branch_posterior *p)
{
    return 1 + (int64_t)(PIECE_SIZE / (p->n_taxa * branch_posterior_work(p)));
}

bool chain_rounds_are_valid(const chain_round_settings *set)
{
    return set->most >= 1 && set->most <= CHAIN_ROUNDS_MOST && set->first_blocks >= 8;
}

chain_rounds chain_rounds_first(const chain_round_settings *set)
{
    return (chain_rounds){.wanted = set->first_blocks};
}

bool chain_rounds_is_over(const chain_rounds *x, const chain_round_settings *set, size_t states)
{
    return x->blocks >= x->wanted || (x->finish_now && states >= set->shortest);
}

bool chain_rounds_is_last(const chain_rounds *x, const chain_round_settings *set)
{
    return x->finish_now || x->count + 1 == set->most || x->blocks >= set->most_blocks;
}

bool chain_round_agrees(const chain_round *r, const chain_round_settings *set)
{
    return r->asdsf <= set->asdsf && r->r_hat <= set->r_hat;
}

void chain_rounds_end(chain_rounds *x, const chain_round_settings *set, const chain_round *r,
                      bool is_enough)
{
    x->is_done = is_enough || chain_rounds_is_last(x, set);
    x->round[x->count++] = *r;
    x->wanted = x->blocks * 2;
}

const chain_round *chain_rounds_last(const chain_rounds *x)
{
    return x->count ? &x->round[x->count - 1] : NULL;
}

/* A number of a state: its value; then, where they are kept, tree length and parameters. */
static double number_of(const chain_states *x, size_t at, size_t which)
{
    double sum = 0;
    if (which == 0)
        return x->value[at];
    if (which > 1)
        return x->parameter[at * x->n_free + which - 2];
    for (size_t e = 0; e < x->n_edges; e++)
        sum += x->length[at * x->n_edges + e];
    return sum;
}

/* How the chains agree about their numbers: by the worst of them. value [chains][each] is scratch,
 * and has the values of the states in the end. */
static void compare_numbers(chain_round *r, const chain_states *x, double *value)
{
    const size_t first = chain_states_first(x), each = x->count - first;
    const size_t n_chains = (size_t)x->n_chains, numbers = x->n_edges ? 2 + x->n_free : 1;
    r->r_hat = 0;
    r->ess_values = HUGE_VAL;
    for (size_t k = numbers; k-- > 0;) {
        double ess = 0;
        for (size_t c = 0; c < n_chains; c++) {
            double *own = value + c * each;
            for (size_t i = 0; i < each; i++)
                own[i] = number_of(x, chain_states_at(x, (int)c, first + i), k);
            const double worth = series_ess(own, each);
            ess += isnan(worth) ? 1 : worth;
        }
        const double r_hat = series_r_hat(value, n_chains, each);
        r->r_hat = isnan(r_hat) || r_hat > r->r_hat ? r_hat : r->r_hat;
        r->ess_values = fmin(r->ess_values, ess);
    }
}

int chain_round_compare(chain_round *r, const chain_states *x, int n_taxa)
{
    const size_t first = chain_states_first(x), each = x->count - first;
    const size_t n_chains = (size_t)x->n_chains;
    chain_trees *chain = mem_zeros(n_chains, sizeof *chain);
    double *value = mem_zeros(n_chains * each, sizeof *value), sum = 0;
    split_agreement found;
    int status = chain && value ? ART_OK : ART_ERR_NOMEM;
    for (size_t c = 0; c < n_chains && !status; c++)
        chain[c] = (chain_trees){chain_states_tree(x, (int)c, first), each};
    if (!status)
        status = split_agreement_of(&found, chain, n_chains, n_taxa);
    if (!status) {
        compare_numbers(r, x, value);
        for (size_t i = 0; i < n_chains * each; i++)
            sum += value[i];
        r->states = (double)each;
        r->mean = sum / (double)(n_chains * each);
        r->asdsf = found.splits ? found.average_deviation : 0;
        r->largest = found.splits ? found.largest_deviation : 0;
        r->ess_splits = fmin(r->ess_values, isnan(found.least_ess) ? HUGE_VAL : found.least_ess);
        r->ess_between = isnan(found.between_ess) ? HUGE_VAL : found.between_ess;
    }
    free(chain);
    free(value);
    return status;
}

static void round_fields(chain_round *r, int n_rounds, saved_state *to)
{
    const struct {
        const char *name;
        double *first;
    } column[] = {
        {"blocks", &r->blocks},
        {"states", &r->states},
        {"mean", &r->mean},
        {"asdsf", &r->asdsf},
        {"largest", &r->largest},
        {"r_hat", &r->r_hat},
        {"ess_values", &r->ess_values},
        {"ess_splits", &r->ess_splits},
        {"ess_between", &r->ess_between},
        {"log_sum", &r->log_sum},
        {"overlap", &r->overlap},
        {"error", &r->error},
    };
    for (size_t i = 0; i < sizeof column / sizeof column[0]; i++)
        for (int k = 0; k < n_rounds; k++) {
            char name[STATE_NAME];
            snprintf(name, sizeof name, "round.%d.%s", k, column[i].name);
            state_f64(to, name, (double *)((char *)column[i].first + (size_t)k * sizeof *r));
        }
}

void chain_rounds_fields(chain_rounds *x, const chain_round_settings *set, saved_state *to)
{
    state_bool(to, "is_done", &x->is_done);
    state_int_in(to, "rounds", &x->count, 0, set->most);
    state_i64_in(to, "made", &x->blocks, 0, INT64_MAX);
    state_i64_in(to, "wanted", &x->wanted, 0, INT64_MAX);
    round_fields(x->round, x->count, to);
}
