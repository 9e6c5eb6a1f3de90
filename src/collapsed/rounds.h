/* rounds.h: inference over topologies alone, branch lengths integrated out (docs/collapsed.md).
 *
 * A table of topologies with their evidence g is filled by exploration (search.h); the network q
 * is fitted to the table's normalised exp g; draws from q, which can reach any tree, show what
 * the table misses and extend it. That is a round; rounds follow until the criteria hold:
 *
 *     news   the share of the posterior's weight in trees that a round's draws brought
 *     agree  |log Z by the table's sum - log Z by importance sampling from q, without what a full
 *            table missed|, or within three standard errors of the latter
 *     error  the standard error that the final answer will have (sampler.h), unless it comes
 *            of what a full table missed
 *
 * After the rounds the network may be polished (network_fit.h). The answer does not need that; who
 * wants the network itself does.
 *
 *     rounds *c;
 *     status = rounds_create(&c, &problem, &alignment, taxon, trees, &settings, threads);
 *     while (c->stage != ROUNDS_DONE)
 *         status = rounds_advance(c, d);          a second of work, more or less
 *     rounds_free(c);
 *
 * Everything that the next piece of work depends on is saved between any two of them, and the
 * same on any number of threads. rounds_finish_now ends the rounds early: that is how a time
 * limit is kept, and the only way in which time has an influence on results. */
#ifndef COLLAPSED_ROUNDS_H
#define COLLAPSED_ROUNDS_H

#include "collapsed/settings.h"
#include "collapsed/search.h"
#include "collapsed/blend.h"
#include "collapsed/network_fit.h"

#include <stdbool.h>

typedef enum rounds_stage {
    ROUNDS_EXPLORE,
    ROUNDS_IMPROVE,
    ROUNDS_FIT,
    ROUNDS_DRAW,
    ROUNDS_POLISH,
    ROUNDS_DONE
} rounds_stage;

/* What a round showed. */
typedef struct round_figures {
    double trees;         /* in the table, at the end */
    double steps;         /* of fitting so far */
    double log_table;     /* log evidence by the table's sum, before the draws */
    double log_network;   /* log evidence by importance sampling from q alone */
    double network_error; /* its standard error */
    double new_trees;     /* that the draws brought */
    double new_mass;      /* their share of the weight, by importance sampling */
    double missed;        /* the share of new trees that the table did not take: it is full */
    double spread;        /* standard deviation of one draw's weight outside the table, over Z */
    double fit_kl;        /* KL(table || q) */
    double error;         /* expected standard error of the final answer */
    double done;          /* 1 if all criteria hold */
} round_figures;

enum { ROUNDS_MOST = 64 };

typedef struct rounds {
    const branch_posterior *problem;
    topology_model *trees; /* borrowed; holds the last weights, not their average, but for draws */
    collapsed_settings set;
    pool *threads;
    tree_table table;
    tree_search *search;
    evidence_batch *team;
    network_fit fit;
    /* The draws of a round. */
    int32_t *drawn; /* [draws][N-3] */
    double *log_q;  /* [draws] */
    bool has_draws; /* made for this round */
    /* Where it is. */
    rounds_stage stage;
    bool finish_now;
    bool ended; /* the rounds */
    bool is_settled;
    int n_rounds;
    round_figures round[ROUNDS_MOST];
    int64_t expanded_before; /* at the beginning of the round */
    int64_t looked;          /* draws of the round that have been dealt with */
    int64_t found;           /* new trees that they brought: those with the mark TREE_DRAWN */
    log_mean weights;        /* of the draws, by g */
    log_mean outside;        /* the same, 0 for those that were in the table */
    log_mean missed;         /* the same, 0 for those that are in it now */
    size_t improved;         /* trees that were weighed in the round */
    double inside;           /* standard deviation of a draw's weight in the table, over its mean */
} rounds;

/* Problem, tree model (initialised) and threads are borrowed; alignment and taxon (as for
 * branch_posterior_init) are not needed after the call. */
int rounds_create(rounds **out, const branch_posterior *problem, const alignment *a,
                  const int *taxon, topology_model *trees, const collapsed_settings *settings,
                  pool *threads);
void rounds_free(rounds *c); /* NULL is fine */

/* Draws from the network that the answer will have at least: the error of a round is foretold for
 * so many. */
double rounds_answer_draws(const rounds *c);

/* A piece of work. */
int rounds_advance(rounds *c, diag *d);

/* The rounds end as soon as they can. */
void rounds_finish_now(rounds *c);

/* The criteria news and agree hold: the draws of that round found nothing that matters and that
 * the table could take. */
bool rounds_is_complete(const rounds *c, const round_figures *r);

/* log evidence by the table's sum. O(trees). */
double rounds_log_table(const rounds *c);

/* The tree model gets the average of its weights, for good: the one to draw from at the end. Once
 * is enough. */
void rounds_use_averaged_weights(rounds *c);

/* Everything that the next piece of work depends on, as fields of a saved state. */
int rounds_fields(rounds *c, saved_state *s);

#endif
