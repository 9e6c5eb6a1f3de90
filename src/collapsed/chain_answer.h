/* chain_answer.h: the results of collapsed inference from chains over topologies and a density of
 * clades (chain_stage.h): evidence, posterior and their errors.
 *
 *     chain_answer *a;
 *     status = chain_answer_create(&a, stage, &names, &settings);
 *     while (a->stage != CHAIN_ANSWER_DONE)
 *         status = chain_answer_advance(a);               a second of work, more or less
 *     status = chain_answer_finish(a, &evidence, &posterior, &check);
 *     chain_answer_free(a);
 *
 * Two samples of topologies are at hand, both for the diagonal Laplace approximation g of the log
 * evidence of a tree: the states of the chains, all alike, and independent draws from the density
 * q, each with the weight w = exp(g) / q. Both together give the sum Z of exp g over all trees
 * (bridge.h); the mean of w alone is the same sum, with another error. Of the two samples together,
 * each with the share that its effective size earns, trees are picked in proportion to their
 * weights; for each, branch lengths are drawn from its own proposal (branch/topology_evidence.h),
 * whose mean weight is an unbiased estimate of the tree's evidence. That is repeated with other
 * picks until the error is as wanted. With u that estimate over exp g,
 *
 *     evidence = Z * mean of u over the trees picked * prior of a topology,
 *
 * and the errors of the two factors add up as if they were independent: they share trees, which
 * matters only if u goes with the weights. docs/collapsed.md derives it and the errors of splits.
 */
#ifndef COLLAPSED_CHAIN_ANSWER_H
#define COLLAPSED_CHAIN_ANSWER_H

#include "collapsed/chain_stage.h"
#include "collapsed/other_modes.h"
#include "results/posterior.h"
#include "train/evidence.h"

typedef enum chain_answer_stage {
    CHAIN_ANSWER_DRAWS,   /* trees from the density */
    CHAIN_ANSWER_LENGTHS, /* branch lengths of the trees that were picked */
    CHAIN_ANSWER_DONE,
} chain_answer_stage;

/* A tree that was picked. */
typedef struct picked_tree {
    int64_t tree;     /* number of a draw, or draws + number of a state */
    int times;        /* picked */
    double inclusion; /* probability of being picked at all */
    double log_ratio; /* log u; NaN before its lengths were drawn, -inf where none had weight */
    double variance;  /* of log u, by the lengths drawn; 0 where it is not known */
} picked_tree;

typedef struct chain_answer {
    chain_stage *chains;
    const taxa *names;
    collapsed_settings set;
    chain_answer_stage stage;
    bool end_draws, end_lengths; /* as soon as possible */
    int pass_draws;              /* of a pass */
    bool is_cut;                 /* a time limit ended draws or picks that would have followed */
    /* The draws. */
    size_t n_draws, room;
    int32_t *decision;      /* [n_draws][N-3] */
    double *laplace;        /* [n_draws] g; -inf where no mode was found */
    double *log_q;          /* [n_draws] */
    log_mean mean;          /* of the weights */
    bridge_estimate bridge; /* by the draws and the states, after the last pass */
    double *state_weight;   /* log w of the states; NULL before the last pass has ended */
    /* The trees that were picked, each time in random order. */
    picked_tree *pick;
    int passes; /* in which trees were picked */
    size_t n_picks, next;
    log_mean ratio;    /* of u, each pick once */
    other_modes modes; /* of the first of them */
    int64_t failed;
    posterior posterior;
} chain_answer;

/* How the two samples agree, for the verdict. */
typedef struct chain_check {
    double draw_ess;      /* effective number of draws */
    double state_ess;     /* and of the states of all chains together */
    double pareto_k;      /* of the weights of the draws */
    double ratio_k;       /* of the estimates u */
    double forward;       /* nats: log of the sum of exp g by the draws alone, less that by the
                             bridge .. */
    double forward_error; /* .. and the standard error of the former */
    double overlap;       /* of density and posterior */
    double tree_error;    /* standard error of the log of the sum of exp g */
    double ratio_error;   /* of the log of the mean of u */
    double other_modes;   /* share of the posterior in modes that were left out */
} chain_check;

/* Of a tree. */
static inline size_t chain_answer_decisions(const chain_answer *a)
{
    return a->chains->states.n_decisions;
}

/* Draws of a pass: fewer with many taxa. */
int chain_answer_pass(const collapsed_settings *set, int n_taxa);

/* From `most` with few taxa down to `least`, as the cost of a tree grows. */
int chain_answer_affordable(const chain_answer *a, int most, int least);

enum { ANSWER_PIECE = 64 }; /* trees in a piece of work, at most */

/* Trees in the next piece, of those that are left: fewer where each takes longer. */
size_t chain_answer_piece(const chain_answer *a, size_t left);

/* The stage is done and borrowed, as are the names. */
int chain_answer_create(chain_answer **out, chain_stage *chains, const taxa *names,
                        const collapsed_settings *set);
void chain_answer_free(chain_answer *a); /* NULL is fine */

/* A piece of work. Where stop (may be NULL) is due, it ends with the trees that are done; if there
 * are none at all, what must be there is made at the least cost (EVIDENCE_ROUGH). */
int chain_answer_advance(chain_answer *a, const interrupt *stop);

/* No more trees are drawn than those of the current piece of work; nor are branch lengths drawn for
 * more. This request is not saved: a resumed run may have more time. */
void chain_answer_end_lengths(chain_answer *a);

/* The two samples together: the draws, then the states of every chain that the density was not
 * fitted to, as one weighted sample for exp g. The weights sum to 1 as far as the equation for Z is
 * solved. Tree i of chain_answer_trees. */
typedef struct pooled_tree {
    const int32_t *decision; /* [N-3] */
    double laplace;          /* g */
    double weight;
    int32_t part; /* of a chain that it is from (results/posterior.h); 0 for a draw */
} pooled_tree;
size_t chain_answer_trees(const chain_answer *a);
pooled_tree chain_answer_tree(const chain_answer *a, size_t i);

/* The sum of exp g over all trees, from the draws so far and the states. */
int chain_answer_bridge(bridge_estimate *out, const chain_answer *a);

/* Of the log evidence, so far, without the part that more picks do not change; +inf at first. */
double chain_answer_error(const chain_answer *a);

/* The effective number of draws and states from which trees are picked. */
double chain_answer_pool_size(const chain_answer *a);

/* Whether the lengths that were drawn are no use, or leave other modes out: chains with branch
 * lengths are needed. */
bool chain_answer_lengths_failed(const chain_answer *a);

/* Pareto k of the estimates u of the trees that were picked; NaN if memory is short. O(picks log
 * picks). */
double chain_answer_pareto(const chain_answer *a);

int chain_answer_finish(chain_answer *a, evidence *e, posterior *p, chain_check *check);

/* Everything the next piece depends on, in addition to chain_stage_fields. */
int chain_answer_fields(chain_answer *a, saved_state *s);

#endif
