#include "collapsed/chain_states.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "chain/convergence.h"
#include "tree/saved_trees.h"

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

int chain_states_init(chain_states *x, const branch_posterior *p, int n_chains,
                      const state_room *room, bool with_lengths)
{
    *x = (chain_states){.n_chains = n_chains, .n_decisions = (size_t)p->n_taxa - 3, .every = 1};
    if (with_lengths) {
        x->n_edges = (size_t)p->n_edges;
        x->n_free = (size_t)p->free.n_free;
    }
    const size_t bytes =
        (x->n_decisions + 1) * sizeof *x->decision + (x->n_edges + x->n_free) * sizeof *x->length;
    const size_t fit = room->memory / ((size_t)n_chains * bytes);
    x->room = fit < room->least ? room->least : fit > room->most ? room->most : fit;
    const size_t all = (size_t)n_chains * x->room;
    x->decision = mem_zeros(all * x->n_decisions, sizeof *x->decision);
    x->value = mem_zeros(all, sizeof *x->value);
    x->length = mem_zeros(all * x->n_edges + 1, sizeof *x->length);
    x->parameter = mem_zeros(all * x->n_free + 1, sizeof *x->parameter);
    return x->decision && x->value && x->length && x->parameter ? ART_OK : ART_ERR_NOMEM;
}

void chain_states_free(chain_states *x)
{
    free(x->decision);
    free(x->value);
    free(x->length);
    free(x->parameter);
    memset(x, 0, sizeof *x);
}

size_t chain_states_first(const chain_states *x)
{
    return x->count / 4;
}

/* Puts a state at a place; what is not kept has the size 0. */
static void put(chain_states *x, size_t to, const kept_state *s)
{
    memcpy(x->decision + to * x->n_decisions, s->decision, x->n_decisions * sizeof *x->decision);
    x->value[to] = s->value;
    if (x->n_edges)
        memcpy(x->length + to * x->n_edges, s->length, x->n_edges * sizeof *x->length);
    if (x->n_free)
        memcpy(x->parameter + to * x->n_free, s->parameter, x->n_free * sizeof *x->parameter);
}

/* Of the states of every chain every other one goes. */
static void thin(chain_states *x)
{
    for (int c = 0; c < x->n_chains; c++)
        for (size_t i = 0; i < x->count / 2; i++) {
            const size_t from = chain_states_at(x, c, 2 * i + 1);
            put(x, chain_states_at(x, c, i),
                &(kept_state){.decision = x->decision + from * x->n_decisions,
                              .value = x->value[from],
                              .length = x->length + from * x->n_edges,
                              .parameter = x->parameter + from * x->n_free});
        }
    x->count /= 2;
    x->every *= 2;
}

void chain_states_keep(chain_states *x, const kept_state *state)
{
    if (state->block % x->every)
        return;
    if (state->chain == 0 && x->count == x->room)
        thin(x);
    if (state->block % x->every)
        return;
    put(x, chain_states_at(x, state->chain, x->count), state);
    x->count += state->chain == x->n_chains - 1;
}

void chain_states_fields(chain_states *x, saved_state *to)
{
    int64_t count = (int64_t)x->count;
    state_i64_in(to, "count", &count, 0, (int64_t)x->room);
    state_i64_in(to, "every", &x->every, 1, INT64_MAX);
    x->count = (size_t)count;
    for (int c = 0; c < x->n_chains; c++) {
        char name[STATE_NAME];
        const size_t at = chain_states_at(x, c, 0);
        snprintf(name, sizeof name, "decision.%d", c);
        state_trees(to, name, x->decision + at * x->n_decisions, x->count, (int)x->n_decisions + 3);
        snprintf(name, sizeof name, "value.%d", c);
        state_f64_array(to, name, x->value + at, x->count, 1);
        snprintf(name, sizeof name, "length.%d", c);
        if (x->n_edges)
            state_f64_array(to, name, x->length + at * x->n_edges, x->count, x->n_edges);
        snprintf(name, sizeof name, "parameter.%d", c);
        if (x->n_free)
            state_f64_array(to, name, x->parameter + at * x->n_free, x->count, x->n_free);
    }
}

int chain_states_compare(chain_round *r, const chain_states *x, int n_taxa)
{
    const size_t first = chain_states_first(x), each = x->count - first;
    const size_t n_chains = (size_t)x->n_chains;
    chain_trees *chain = mem_zeros(n_chains, sizeof *chain);
    double *value = mem_zeros(n_chains * each, sizeof *value), sum = 0;
    split_agreement found;
    int status = chain && value ? ART_OK : ART_ERR_NOMEM;
    for (size_t c = 0; c < n_chains && !status; c++) {
        const double *own = x->value + chain_states_at(x, (int)c, first);
        const double ess = series_ess(own, each);
        memcpy(value + c * each, own, each * sizeof *value);
        for (size_t i = 0; i < each; i++)
            sum += own[i];
        r->ess_values += isnan(ess) ? 1 : ess;
        chain[c] = (chain_trees){chain_states_tree(x, (int)c, first), each};
    }
    if (!status)
        status = split_agreement_of(&found, chain, n_chains, n_taxa);
    if (!status) {
        r->states = (double)each;
        r->mean = sum / (double)(n_chains * each);
        r->asdsf = found.splits ? found.average_deviation : 0;
        r->largest = found.splits ? found.largest_deviation : 0;
        r->r_hat = series_r_hat(value, n_chains, each);
        r->ess_splits = fmin(r->ess_values, isnan(found.least_ess) ? HUGE_VAL : found.least_ess);
        r->ess_between = isnan(found.between_ess) ? HUGE_VAL : found.between_ess;
    }
    free(chain);
    free(value);
    return status;
}

void chain_round_fields(chain_round *r, int n_rounds, saved_state *to)
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
