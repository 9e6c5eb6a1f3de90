/* joint_chain.h: a Markov chain over topologies together with their branch lengths and the free
 * parameters of the substitution model.
 *
 * A state is a topology T with lengths, as cube roots x, and parameters z; its target density is
 * exp f(T, x, z), the posterior itself (branch/branch_posterior.h). Nothing is approximated: where
 * the branch lengths of a topology cannot be integrated out well, as with hundreds of taxa and
 * nearly identical sequences, this chain is right and tree_chain.h is not.
 *
 *     joint_chain *c;
 *     joint_settings set = joint_defaults();
 *     status = joint_chain_create(&c, &problem, &set);         one per thread
 *     status = joint_chain_start(c, decision, length);         the first state
 *     for (int i = 0; i < n; i++)
 *         status = joint_chain_block(c, seed, chain, NULL);
 *     ... joint_chain_decision(c), joint_chain_lengths(length, c) ...
 *     joint_chain_free(c);
 *
 * Two kinds of steps; which one is drawn does not depend on the state.
 *
 * A walk along a part of the tour around the tree (tree/rearrange.h), from a directed branch drawn
 * at random. Every branch that it comes down gets a new length, and an inner branch a new
 * resolution of the four subtrees around it as well. With everything else held, the density of
 * resolution r and length x is a mixture of three densities of one variable each, h_r(x). Each is
 * close to a normal distribution, with mean and variance at its mode; (r, x) is proposed from the
 * mixture of these, with the weights h_r(mode) sqrt(2 pi variance), and accepted with
 *
 *     min(1, h_r'(x') / q(r', x') * q(r, x) / h_r(x)).
 *
 * q does not depend on the present r and x. Most proposals are accepted, so that this nearly is a
 * Gibbs sampler. A step of the walk is a permutation of the places of a tree, as in tree_chain.h.
 *
 * A subtree moved. A node v is drawn, and the part below it is cut off, with the branch above it;
 * the two branches that this leaves become one. In the tree without the part, the place of the part
 * is a branch and a share u of its length. One of the branches within `radius` of the present place
 * is drawn, as the centre, and the new place is one of those within `radius` of the centre, with
 * probability proportional to the evidence of the place at u = 1/2, the branch of the part
 * integrated out, times the length of the place. u is drawn evenly, and the length of the branch of
 * the part from the normal approximation of its density there. All of it is the same on the way
 * back, but for the number of places from which the centre is drawn; so the proposal is accepted
 * with
 *
 *     min(1, ratio of f's * w(back) / w(there) * count(there) / count(back)),
 *
 * with w the density with which place, u and length are drawn.
 *
 * At the end of a block, if there are free parameters: z, or one parameter of it, gets a normal
 * step with the covariance of the problem (`spread`), times one of a few factors, and all lengths
 * are multiplied by a factor near 1; both are accepted or rejected together.
 *
 * Nothing is allocated after create. Results depend on the arguments alone. */
#ifndef CHAIN_JOINT_CHAIN_H
#define CHAIN_JOINT_CHAIN_H

#include "base/rng.h"
#include "branch/local_fit.h"

typedef struct joint_settings {
    int block;       /* steps of a block */
    double walk;     /* length of a walk, in parts of all branches; each way along one counts */
    double subtrees; /* share of steps that move a subtree */
    int radius;      /* of subtree moves, in branches */
    int parameters;  /* steps of the free parameters at the end of a block */
} joint_settings;

/* walk 0.1, four of five steps move a subtree, radius 3, blocks of 100 steps, 4 steps of parameters
 * (docs/chain.md has what was measured). */
joint_settings joint_defaults(void);

typedef enum joint_kind {
    JOINT_LENGTH,
    JOINT_RESOLUTION,
    JOINT_SUBTREE,
    JOINT_PARAMETERS,
    JOINT_KINDS,
} joint_kind;

/* Counts since the start. */
typedef struct joint_counts {
    int64_t steps;
    int64_t blocks;
    int64_t tried[JOINT_KINDS];
    int64_t accepted[JOINT_KINDS];
    int64_t moved; /* accepted, with another topology */
} joint_counts;

typedef struct joint_chain joint_chain;

/* Workspace of one thread. The problem is borrowed. ART_ERR_USAGE for fewer than 4 taxa, and for
 * settings without sense. */
int joint_chain_create(joint_chain **out, const branch_posterior *problem,
                       const joint_settings *set);
void joint_chain_free(joint_chain *c); /* NULL is fine */

/* Bytes that it allocates. */
size_t joint_chain_memory(const branch_posterior *problem, const joint_settings *set);

/* Begins at decision [N-3] with length [E] and the parameters at the problem's centre; counts
 * become 0. ART_ERR_NUMERIC if the data are impossible there. */
int joint_chain_start(joint_chain *c, const int32_t *decision, const double *length);

/* One block, with the random numbers of rng_at(seed, RNG_CHAIN, steps so far, chain) for each step,
 * and of RNG_CHAIN_BLOCK with the blocks so far for the parameters. Steps are numbered with 32
 * bits. It ends with the step under way if stop is due; NULL is never due. ART_ERR_NUMERIC if the
 * likelihood ceases to be a number. */
int joint_chain_block(joint_chain *c, uint64_t seed, uint32_t chain, const interrupt *stop);

/* The state, between blocks. */
const int32_t *joint_chain_decision(const joint_chain *c);      /* [N-3] */
void joint_chain_lengths(double *length, const joint_chain *c); /* [E] by edge number */
double joint_chain_log_likelihood(const joint_chain *c);
double joint_chain_log_density(const joint_chain *c);       /* f */
const double *joint_chain_parameters(const joint_chain *c); /* [p] z */
const joint_counts *joint_chain_counts(const joint_chain *c);

/* All that the further course depends on. A chain that was made with the same problem and settings
 * and given these goes on byte for byte as the one that they were taken of. Memory is the
 * caller's. */
typedef struct joint_state {
    int32_t *decision;   /* [N-3] */
    double *cbrt_length; /* [E] cube roots, by edge number */
    double *parameter;   /* [p] */
    double log_likelihood;
    joint_counts counts;
} joint_state;

void joint_chain_save(joint_state *out, const joint_chain *c);

/* ART_ERR_USAGE if these cannot be numbers of a chain. */
int joint_chain_load(joint_chain *c, const joint_state *in);

#endif
