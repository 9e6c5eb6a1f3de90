#include "collapsed/chain_states.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "tree/saved_trees.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
