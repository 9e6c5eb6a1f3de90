/* chain_stage.h: the part of collapsed inference for posteriors that no table of trees can hold:
 * Markov chains over topologies (chain/tree_chains.h), and a density of clades
 * (density/clade/clade_density.h) fitted to their states.
 *
 *     chain_stage *s;
 *     status = chain_stage_create(&s, &problem, &settings, seed, team, threads);
 *     status = chain_stage_start(s, decision, length);
 *     while (!s->rounds.is_done)
 *         status = chain_stage_advance(s);                a second of work, more or less
 *     ... s->states, s->proposal ...
 *     chain_stage_free(s);
 *
 * Work comes in rounds. In a round every chain makes a number of blocks, twice as many as in the
 * round before; its states at the ends of blocks are kept, thinned so that they fit. Then the
 * density is fitted to the states of all chains but the first quarter and to the peaks, and a small
 * number of trees is drawn from it: the pilot draws. In the next round the chains also propose
 * draws of the density (jumps), which lead from one peak of the posterior to another; and the
 * states of that round, which the density has not seen, together with the pilot draws tell the sum
 * of exp g over all trees (bridge.h). Rounds end when the chains agree and that sum is known well
 * enough, after set.rounds.most of them, or after set.rounds.most_blocks blocks. The density of the
 * last round stays the one that was fitted before it; if that round was cut short, so that less
 * than a third of all states are new to it, it is fitted once more, to earlier states.
 *
 * Everything that the next piece of work depends on is saved (chain_stage_fields), and is the same
 * on any number of threads. */
#ifndef COLLAPSED_CHAIN_STAGE_H
#define COLLAPSED_CHAIN_STAGE_H

#include "branch/evidence_batch.h"
#include "branch/length_guess.h"
#include "chain/tree_chains.h"
#include "collapsed/bridge.h"
#include "collapsed/chain_rounds.h"
#include "collapsed/tree_proposal.h"
#include "io/saved_state.h"

#include <stdbool.h>

typedef struct chain_stage {
    const branch_posterior *problem;
    chain_stage_settings set;
    uint64_t seed;
    evidence_batch *team; /* borrowed */
    pool *threads;
    tree_chains *chains;
    tree_proposal *proposal; /* the density; NULL before the first fit */
    chain_states states;
    length_guess *guess;     /* lengths from which fits of draws start, by those of a tree: .. */
    int32_t *guess_decision; /* .. [N-3] where chain 0 was when the density was fitted .. */
    double *guess_length;    /* .. [E] */
    /* Where it is. */
    chain_rounds rounds;
    int32_t *peak; /* [n_peaks][N-3] chain_stage_set_peaks */
    size_t n_peaks;
    int32_t *fitted; /* [n_fitted][N-3] the trees that the density was fitted to, .. */
    size_t n_fitted;
    int64_t fit_block; /* .. states up to this block .. */
    int n_fits;        /* .. so often */
    double *pilot;     /* [n_pilots] log weights of its draws: .. */
    int n_pilots;      /* .. pilot_draws, unless a stop was due */
} chain_stage;

/* Everything is borrowed; team may be used by others between calls. */
int chain_stage_create(chain_stage **out, const branch_posterior *problem,
                       const chain_stage_settings *set, uint64_t seed, evidence_batch *team,
                       pool *threads);
void chain_stage_free(chain_stage *s); /* NULL is fine */

/* Peaks [n][N-3] that the search has found. The density is fitted to each as to one state more, so
 * that chains come to propose what only climbs have seen. Before the start; without it there are
 * none. */
int chain_stage_set_peaks(chain_stage *s, const int32_t *decision, size_t n);

/* The first states of all chains, decision [chains][N-3] and length [chains][E]. */
int chain_stage_start(chain_stage *s, const int32_t *decision, const double *length);

/* A piece of work. Where stop (may be NULL) is due, blocks are shorter (tree_chain_block), and no
 * more pilot draws are made. */
int chain_stage_advance(chain_stage *s, const interrupt *stop);

/* The number of the first state of every chain that the density was not fitted to. */
size_t chain_stage_fresh(const chain_stage *s);

/* The sum of exp g over all trees, from these and from draws [n_draws], log weights, of the
 * density.
 */
int chain_stage_bridge(bridge_estimate *out, const chain_stage *s, const double *draw,
                       size_t n_draws, double planned);

/* Whether a round shows all that is wanted. */
bool chain_stage_is_enough(const chain_stage *s, const chain_round *r);

/* The share of the blocks so far, of all chains, that did not stand (chain/tree_chain.h). */
double chain_stage_returned(const chain_stage *s);

/* Everything the next piece depends on, as fields of a saved state. Load only into a newly created
 * object; no start is needed then. */
int chain_stage_fields(chain_stage *s, saved_state *to);

#endif
