/* tree_chain.h: a Markov chain over topologies whose branch lengths are integrated out.
 *
 * A state is a topology T; its target density is exp(beta g(T)), with g the diagonal Laplace
 * approximation of the log evidence (branch/topology_evidence.h) and beta the inverse temperature.
 * The chain keeps the topology at the mode of its lengths, with the partials that it needs
 * current, so that rearrangements can be scored before they are made (branch/branch_moves.h).
 *
 *     tree_chain *c;
 *     chain_settings set = chain_defaults();
 *     status = tree_chain_create(&c, &problem, &set);          one per thread
 *     status = tree_chain_start(c, decision, length);          the first state
 *     for (int i = 0; i < n; i++)
 *         status = tree_chain_block(c, seed, chain, NULL);
 *     ... tree_chain_laplace(c), tree_chain_tree(c, decision, length) ...
 *     tree_chain_free(c);
 *
 * Four kinds of steps; which one is drawn does not depend on the state.
 *
 * Interchanges, on a walk. The tour around a tree goes along every branch twice, once in each
 * direction (depth first, the child with the smaller number first). A walk begins at a directed
 * branch drawn at random and goes along a part of the tour. At every inner branch that it comes
 * down, one of the three resolutions of the four subtrees around the branch is chosen with
 * probability proportional to exp(beta score): the present one has the score g(T), the other two
 * those of branch_moves_nni. The lengths are fitted, and the new tree T' is accepted with
 * probability
 *
 *     min(1, exp(beta (g(T') - g(T))) p(back | T') / p(there | T)),
 *
 * where p(back | T') is the probability of the resolution of T, scored at the mode of T'. Why
 * that leaves exp(beta g) invariant: take the tree together with the place of the walk as the
 * state, all places being equally probable. A decision at a branch is reversible, as it stays
 * there; and a step of the walk is a permutation of the places of a tree. Neighbouring branches are
 * decided one after the other because that is cheap: partials towards the walk stay current, and
 * few are made for a step. Scores may be any function of a topology; if lengths are at the mode,
 * they are.
 *
 * A subtree moved. One of the 3N - 6 parts that a branch with its inner end cuts off is drawn. All
 * places within `radius` branches are scored by branch_moves_places, the present one has the score
 * g(T), and one is chosen as above. Accepted with
 *
 *     min(1, exp(beta (g(T') - g(T))) p(back | T') / p(there | T)),
 *
 * the same part being moved back. Were scores exact, this would be the ratio of the sums of
 * exp(beta score) over the two sets of places.
 *
 * A jump: T' drawn from a density q, whatever T is; accepted with
 * min(1, exp(beta (g(T') - g(T))) q(T) / q(T')). It is the way between separate peaks.
 *
 * A part drawn again: an inner node is drawn, and what is below it comes from the same density,
 * given the taxa below it; accepted as a jump, with q of the part. Jumps of all sizes: with many
 * taxa a whole tree is hardly ever accepted, and a part still is.
 *
 * How exact this is. With local = 0 all lengths are fitted at every step, and g is wrong by what
 * `tolerance` leaves (branch_solver_mode). With local = 1 only those near a change are fitted
 * (branch/local_fit.h): the rest of the tree would answer to a change too, by little in each of
 * many branches; what that does to g is small for the two trees of one step, and grows with the
 * taxa. So steps come in blocks, at whose end all branches are fitted. With d the change of g by
 * that fit, the block stands with probability min(1, exp(beta d)), else the chain is again where
 * the block began: to first order in d this is a proposal of the whole block by a chain with an
 * approximate target, corrected. What can be seen from outside are ends of blocks, where g is that
 * of a fit of all branches. chain_counts.drift is the largest |d|.
 *
 * Nothing is allocated after create. Results depend on the arguments alone. */
#ifndef CHAIN_TREE_CHAIN_H
#define CHAIN_TREE_CHAIN_H

#include "base/rng.h"
#include "branch/local_fit.h"

/* The density of jumps. Called by several threads at once if several chains run. */
typedef struct chain_jumps {
    /* A tree, decision [N-3], drawn with r, and its log q. Not 0: none this time. */
    int (*propose)(void *context, int32_t *decision, double *log_q, rng *r);
    double (*log_q)(void *context, const int32_t *decision); /* -inf where it does not reach */
    /* Draws again what is below the inner node v of *t. Returns whether that made it another tree;
     * then *log_ratio is log q of the old part less that of the new one. Nodes keep their numbers
     * (branch/local_fit.h). NULL: there are no such steps. */
    bool (*redraw)(void *context, topology *t, int32_t v, double *log_ratio, rng *r);
    void *context;
} chain_jumps;

typedef struct chain_settings {
    double walk;       /* length of a walk, in parts of all branches; each way along one counts */
    double subtrees;   /* share of steps that move a subtree */
    double jump;       /* share of steps that are jumps; 0 without a density */
    double redraw;     /* share of steps that draw a part again; 0 without a density */
    int radius;        /* of subtree moves, in branches .. */
    double far;        /* .. but for this share of them: .. */
    int far_radius;    /* .. the radius of these, at least the other */
    double tolerance;  /* nats: of fits of all branches */
    int block;         /* steps of a block */
    int local;         /* fits near a change, as above; else of all branches, the plain way */
    double near;       /* nats: of fits near a change .. */
    int rings;         /* .. which begin within so many branches of it */
    chain_jumps jumps; /* borrowed */
} chain_settings;

/* walk 0.2, subtrees 0.2, no jumps, radius 5 and for a tenth of them 15, tolerance 1e-4, blocks of
 * 50 steps, local fits within 0.01 from 1 ring (measured: docs/chain.md). */
chain_settings chain_defaults(void);

typedef enum chain_kind {
    CHAIN_INTERCHANGE,
    CHAIN_SUBTREE,
    CHAIN_JUMP,
    CHAIN_REDRAW,
    CHAIN_KINDS,
} chain_kind;

/* Counts since the start. */
typedef struct chain_counts {
    int64_t steps;
    int64_t tried[CHAIN_KINDS];    /* proposals by kind; a walk has many */
    int64_t moved[CHAIN_KINDS];    /* of these, those of another tree .. */
    int64_t accepted[CHAIN_KINDS]; /* .. and was accepted */
    int64_t failed;                /* fits without a result: proposals that were rejected */
    int64_t blocks;
    int64_t returned;     /* blocks that did not stand */
    double drift;         /* the largest |d| .. */
    double drift_squares; /* .. and the sum of the squares */
} chain_counts;

typedef struct tree_chain tree_chain;

/* Workspace of one thread. The problem is borrowed. ART_ERR_USAGE for fewer than 4 taxa, and
 * for settings without sense. */
int tree_chain_create(tree_chain **out, const branch_posterior *problem, const chain_settings *set);
void tree_chain_free(tree_chain *c); /* NULL is fine */

/* Bytes that it allocates. */
size_t tree_chain_memory(const branch_posterior *problem, const chain_settings *set);

/* Begins at decision [N-3] with a fit of all branches from length [E]; counts become 0, beta 1.
 * ART_ERR_NUMERIC if there is no mode. */
int tree_chain_start(tree_chain *c, const int32_t *decision, const double *length);

/* One block, with the random numbers of rng_at(seed, RNG_CHAIN, steps so far, chain) for each step
 * and rng_at(seed, RNG_CHAIN_BLOCK, blocks so far, chain). Steps are numbered with 32 bits.
 * Where stop (may be NULL) is due, the block ends with the interchange or the step under way, with
 * none at all if it was due before. ART_ERR_NUMERIC if the fit at its end fails, which says that
 * the data or the machine are broken. */
int tree_chain_block(tree_chain *c, uint64_t seed, uint32_t chain, const interrupt *stop);

/* The state. */
double tree_chain_laplace(const tree_chain *c);               /* g */
const int32_t *tree_chain_decision(const tree_chain *c);      /* [N-3], until the next block */
void tree_chain_lengths(double *length, const tree_chain *c); /* [E] by edge number */
const chain_counts *tree_chain_counts(const tree_chain *c);
const local_fit_work *tree_chain_work(const tree_chain *c); /* since create */

double tree_chain_beta(const tree_chain *c);
void tree_chain_set_beta(tree_chain *c, double beta);

/* All that the further course depends on, as plain numbers. A chain that was made with the same
 * problem and settings and given these goes on byte for byte as the one that they were taken of. */
typedef struct chain_state {
    int32_t *decision;   /* [N-3] */
    double *cbrt_length; /* [E] cube roots, by edge number */
    double *curvature;   /* [E] */
    double log_likelihood, log_density, laplace;
    double beta;
    chain_counts counts;
} chain_state;

int chain_state_init(chain_state *s, const branch_posterior *problem);
void chain_state_free(chain_state *s); /* safe on a zeroed one */

void tree_chain_save(chain_state *out, const tree_chain *c);

/* ART_ERR_USAGE if these cannot be numbers of a chain. */
int tree_chain_load(tree_chain *c, const chain_state *in);

/* The parts of a step, for tests that go through all outcomes. A proposal leaves the chain at the
 * proposed tree until tree_chain_settle. */

/* Chooses one of `count` outcomes with the given probabilities. */
typedef int chain_choose(void *context, const double *probability, int count);

typedef struct chain_proposal {
    int moved;          /* whether it is another tree */
    double log_forward; /* log probability of the choices that were made */
    double log_ratio;   /* accepted with min(1, exp of this); -inf if a fit failed */
} chain_proposal;

/* At the branch above v, which has interchanges (tree/rearrange.h). */
void tree_chain_interchange(tree_chain *c, chain_proposal *out, int32_t v, chain_choose *choose,
                            void *context);

/* The part number 0 .. 3N - 7, over up to `radius` branches. */
void tree_chain_subtree(tree_chain *c, chain_proposal *out, int32_t part, int radius,
                        chain_choose *choose, void *context);

/* A tree with its log q; the numbering is canonical. */
void tree_chain_jump(tree_chain *c, chain_proposal *out, const int32_t *decision, double log_q);

/* What is below the inner node v, drawn with r. */
void tree_chain_redraw(tree_chain *c, chain_proposal *out, int32_t v, rng *r);

/* Stays at the proposed tree, or goes back. */
void tree_chain_settle(tree_chain *c, const chain_proposal *proposal, int accept);

/* Proposals that were accepted leave the nodes with the numbers that they had; this makes the
 * numbering of the tree canonical again (tree/topology.h), as it is between blocks. O(N). */
void tree_chain_number(tree_chain *c);

#endif
