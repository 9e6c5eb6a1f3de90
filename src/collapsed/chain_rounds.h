/* chain_rounds.h: the rounds in which chains of either kind work, and what each of them showed.
 * Every round has as many blocks as all before it, and ends with a comparison of the chains.
 *
 *     chain_rounds x = chain_rounds_first(&set);
 *     while (!x.is_done) {
 *         while (!chain_rounds_is_over(&x, &set, states.count))
 *             ... a block of every chain, x.blocks++, chain_states_keep ...
 *         chain_round r = {.blocks = (double)x.blocks};
 *         status = chain_round_compare(&r, &states, n_taxa);
 *         chain_rounds_end(&x, &set, &r, is_enough);
 *     } */
#ifndef COLLAPSED_CHAIN_ROUNDS_H
#define COLLAPSED_CHAIN_ROUNDS_H

#include "collapsed/chain_states.h"

#include <stdbool.h>

enum { CHAIN_ROUNDS_MOST = 24 };

/* What a round of the chains showed. */
typedef struct chain_round {
    double blocks;     /* of each chain, so far */
    double states;     /* kept of each chain, without the first quarter */
    double mean;       /* of the values of these */
    double asdsf;      /* average standard deviation of split frequencies between chains, and */
    double largest;    /* the largest */
    double r_hat;      /* of the values; of chains with lengths the largest of these, of the tree
                          length and of the parameters */
    double ess_values; /* effective number of states: by the series of the same, the smallest, .. */
    double ess_splits; /* .. of the split for which it is smallest, if that is less .. */
    double ess_between; /* .. and by the differences between the chains (convergence.h) */
    /* With pilot draws of the density that was fitted before the round (bridge.h); NaN, 0 and
     * infinity without any. */
    double log_sum; /* log of the sum of exp g over all trees */
    double overlap; /* of density and posterior */
    double error;   /* part of the states in the standard error of log_sum */
} chain_round;

/* Fills what the states tell; the rest stays as it is. */
int chain_round_compare(chain_round *r, const chain_states *x, int n_taxa);

/* The effective number of trees that the states of a round are worth. */
static inline double chain_round_ess(const chain_round *r)
{
    return r->ess_splits < r->ess_between ? r->ess_splits : r->ess_between;
}

typedef struct chain_rounds {
    int64_t blocks; /* made by every chain */
    int64_t wanted; /* of them at the end of the round */
    int count;      /* rounds that have ended */
    chain_round round[CHAIN_ROUNDS_MOST];
    bool is_done;
    bool finish_now; /* the round ends with the blocks that there are, and no other follows */
} chain_rounds;

/* Whether the rounds make sense. */
bool chain_rounds_are_valid(const chain_round_settings *set);

chain_rounds chain_rounds_first(const chain_round_settings *set);

/* Blocks of every chain in a piece of work, about half a second on two threads: by the size of the
 * data, not by the clock, so that the pieces are the same on every machine. */
int64_t chain_piece_blocks(const branch_posterior *p);

/* Whether the round has the blocks that it should have, with so many states of each chain. */
bool chain_rounds_is_over(const chain_rounds *x, const chain_round_settings *set, size_t states);

/* Whether the round that ends now is the last in any case. */
bool chain_rounds_is_last(const chain_rounds *x, const chain_round_settings *set);

/* Whether the chains agree after a round. */
bool chain_round_agrees(const chain_round *r, const chain_round_settings *set);

/* The round has ended; is_enough: it shows all that is wanted. */
void chain_rounds_end(chain_rounds *x, const chain_round_settings *set, const chain_round *r,
                      bool is_enough);

/* The last round that has ended; NULL if there is none. */
const chain_round *chain_rounds_last(const chain_rounds *x);

/* Everything but finish_now, as fields of a saved state. */
void chain_rounds_fields(chain_rounds *x, const chain_round_settings *set, saved_state *to);

#endif
