/* tree_chains.h: several chains over topologies (tree_chain.h) on a team of threads.
 *
 * Chains come in ladders. The chains of a ladder have the temperatures 0, 1, .. with
 * beta = 1 / (1 + heat temperature), and exchange them: after every block, neighbouring
 * temperatures k and k + 1 of a ladder (k even after even blocks, odd after odd ones) are exchanged
 * with probability min(1, exp((beta_k - beta_k+1) (g_k+1 - g_k))). Chains of temperature 0 have the
 * target exp g; hot ones pass between its peaks. Ladders know nothing of each other.
 *
 *     tree_chains *x;
 *     chains_settings set = {chain_defaults(), seed, .ladders = 4, .temperatures = 1};
 *     status = tree_chains_create(&x, &problem, &set, threads);
 *     for (int i = 0; i < 4; i++)
 *         status = tree_chains_start(x, i, decision, length);       chain i
 *     status = tree_chains_run(x, 1000, visit, context, NULL);     blocks of every chain
 *     tree_chains_free(x);
 *
 * The same bytes on any number of threads: a chain draws from streams of its own number, and
 * exchanges and visits happen between blocks, in the order of the chains. */
#ifndef CHAIN_TREE_CHAINS_H
#define CHAIN_TREE_CHAINS_H

#include "base/pool.h"
#include "chain/tree_chain.h"

typedef struct chains_settings {
    chain_settings chain;
    uint64_t seed;
    int ladders;
    int temperatures; /* chains of a ladder; chain l * temperatures + k begins at temperature k */
    double heat;
} chains_settings;

typedef struct tree_chains tree_chains;

/* The problem and the threads (may be NULL) are borrowed. */
int tree_chains_create(tree_chains **out, const branch_posterior *problem,
                       const chains_settings *set, pool *threads);
void tree_chains_free(tree_chains *x); /* NULL is fine */

/* Bytes that they allocate. */
size_t tree_chains_memory(const branch_posterior *problem, const chains_settings *set);

/* The first state of a chain, as tree_chain_start. All chains need one. */
int tree_chains_start(tree_chains *x, int chain, const int32_t *decision, const double *length);

/* The first states of all chains, decision [chains][N-3] and length [chains][E], in parallel. */
int tree_chains_start_all(tree_chains *x, const int32_t *decision, const double *length);

/* A state at the end of a block. */
typedef struct chain_record {
    int ladder;
    int chain;               /* which of all */
    int temperature;         /* 0: the target is exp g */
    int64_t block;           /* 1, 2, .. since the start */
    const int32_t *decision; /* [N-3], valid during the visit as length is */
    const double *length;    /* [E] */
    double laplace;          /* g */
} chain_record;

/* Not 0: the run ends after this block, whose other states are visited still. */
typedef int chain_visit(void *context, const chain_record *state);

/* So many blocks of every chain; then exchanges; then the states of all chains are visited, by
 * ladder and in it by temperature. visit may be NULL. Where stop (may be NULL) is due, blocks are
 * shorter (tree_chain_block), but as many. ART_ERR_STOPPED if a visit ended it; the first error of
 * a chain. */
int tree_chains_run(tree_chains *x, int64_t blocks, chain_visit *visit, void *context,
                    const interrupt *stop);

int tree_chains_count(const tree_chains *x);
const tree_chain *tree_chains_at(const tree_chains *x, int chain);

/* All that the further course depends on. Chains that were made with the same problem and settings
 * and given these go on byte for byte as those that they were taken of. */
typedef struct chains_state {
    int n_chains;
    chain_state *chain;   /* [n_chains] */
    int32_t *temperature; /* [n_chains] */
    int64_t blocks;
    int64_t exchanges, exchanged; /* tried, made */
} chains_state;

int chains_state_init(chains_state *s, const branch_posterior *problem, int n_chains);
void chains_state_free(chains_state *s); /* safe on a zeroed one */

void tree_chains_save(chains_state *out, const tree_chains *x);

/* ART_ERR_USAGE if these cannot be numbers of such chains. */
int tree_chains_load(tree_chains *x, const chains_state *in);

#endif
