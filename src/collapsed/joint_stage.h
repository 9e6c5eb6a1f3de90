/* joint_stage.h: the part of collapsed inference for trees whose branch lengths cannot be
 * integrated out well: chains over topologies together with their lengths and parameters
 * (chain/joint_chain.h). Their states are the posterior sample; there is no marginal likelihood.
 *
 *     joint_stage *s;
 *     status = joint_stage_create(&s, &problem, &settings, seed, threads);
 *     status = joint_stage_start(s, decision, length);
 *     while (!s->rounds.is_done)
 *         status = joint_stage_advance(s, NULL);                a second of work, more or less
 *     status = joint_stage_finish(s, names, rows, &evidence, &posterior);
 *     joint_stage_free(s);
 *
 * Work comes in rounds (chain_rounds.h), until the chains agree and are worth enough independent
 * trees. A quarter of every chain is left out of all results.
 *
 * Everything that the next piece of work depends on is saved (joint_stage_fields), and is the same
 * on any number of threads. */
#ifndef COLLAPSED_JOINT_STAGE_H
#define COLLAPSED_JOINT_STAGE_H

#include "base/pool.h"
#include "chain/joint_chain.h"
#include "collapsed/chain_rounds.h"
#include "results/posterior.h"
#include "train/evidence.h"

typedef struct joint_stage {
    const branch_posterior *problem;
    joint_stage_settings set;
    uint64_t seed;
    pool *threads;
    joint_chain **chain;   /* [set.chains] */
    int *status;           /* [set.chains] of the last block */
    const interrupt *stop; /* of the piece of work under way */
    double *length;        /* [E] */
    chain_states states;
    chain_rounds rounds;
} joint_stage;

/* Everything is borrowed. ART_ERR_USAGE for settings without sense. */
int joint_stage_create(joint_stage **out, const branch_posterior *problem,
                       const joint_stage_settings *set, uint64_t seed, pool *threads);
void joint_stage_free(joint_stage *s); /* NULL is fine */

/* Steps of a block: fewer with many taxa, as each takes longer, and with few, where a few of them
 * leave nothing of the tree as it was. */
int joint_stage_block(const joint_stage_settings *set, int n_taxa);

/* Bytes that it allocates. */
size_t joint_stage_memory(const branch_posterior *problem, const joint_stage_settings *set);

/* The first states of all chains: decision [chains][N-3], length [chains][E]. */
int joint_stage_start(joint_stage *s, const int32_t *decision, const double *length);

/* A piece of work. Blocks end with the step under way if stop is due; NULL is never due. */
int joint_stage_advance(joint_stage *s, const interrupt *stop);

/* Whether a round shows all that is wanted. */
bool joint_stage_is_enough(const joint_stage *s, const chain_round *r);

/* The posterior, with `rows` states as its sample; *out is safe to free in any case. In *e there is
 * no estimate of the evidence (NaN), only how many states there are and what they are worth. */
int joint_stage_finish(const joint_stage *s, const taxa *names, int rows, evidence *e,
                       posterior *out);

/* Everything the next piece depends on, as fields of a saved state. Load only into a newly created
 * object; no start is needed then. */
int joint_stage_fields(joint_stage *s, saved_state *to);

#endif
