/* chain_states.h: the states of several chains that are kept, thinned so that they fit into memory.
 *
 *     chain_states x;
 *     status = chain_states_init(&x, &problem, 4, &room);
 *     chain_states_keep(&x, &state);                 of every chain in turn, after every block
 *     chain_states_free(&x); */
#ifndef COLLAPSED_CHAIN_STATES_H
#define COLLAPSED_CHAIN_STATES_H

#include "branch/branch_posterior.h"
#include "collapsed/settings.h"
#include "io/saved_state.h"

enum { CHAINS_MOST = 64 };

/* Of every chain as many. */
typedef struct chain_states {
    int n_chains;
    size_t n_decisions;
    size_t n_edges, n_free; /* E and p; 0 if lengths and parameters are not kept */
    size_t count, room;     /* of each chain */
    int64_t every;          /* blocks between two of them */
    int32_t *decision;      /* [n_chains][room][N-3] */
    double *value;          /* [n_chains][room] g, or the log-likelihood */
    double *length;         /* [n_chains][room][E] */
    double *parameter;      /* [n_chains][room][p] */
} chain_states;

/* A state at the end of a block of a chain. */
typedef struct kept_state {
    int chain;
    int64_t block; /* 1, 2, .. */
    const int32_t *decision;
    double value;
    const double *length, *parameter; /* NULL if they are not kept */
} kept_state;

/* with_lengths: lengths and parameters are kept too. */
int chain_states_init(chain_states *x, const branch_posterior *p, int n_chains,
                      const state_room *room, bool with_lengths);
void chain_states_free(chain_states *x); /* safe on a zeroed one */

/* The state that a chain has after a block, of chain 0, 1, .. in turn. */
void chain_states_keep(chain_states *x, const kept_state *state);

/* The number of the first state of every chain that counts: a quarter is left out. */
size_t chain_states_first(const chain_states *x);

static inline size_t chain_states_at(const chain_states *x, int chain, size_t i)
{
    return (size_t)chain * x->room + i;
}

static inline const int32_t *chain_states_tree(const chain_states *x, int chain, size_t i)
{
    return x->decision + chain_states_at(x, chain, i) * x->n_decisions;
}

static inline double chain_states_value(const chain_states *x, int chain, size_t i)
{
    return x->value[chain_states_at(x, chain, i)];
}

/* Everything, as fields of a saved state. Load only into newly initialised ones. */
void chain_states_fields(chain_states *x, saved_state *to);

#endif
