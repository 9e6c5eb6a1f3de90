/* rounds.h: inference over topologies alone, branch lengths integrated out (docs/collapsed.md).
 *
 * A table of topologies with their evidence g is filled by exploration (search.h); the network q is
 * fitted to the table's normalised exp g; draws from q, which can reach any tree, show what the
 * table misses and extend it. This is one round; rounds are repeated until these criteria are met:
 *
 *     new_mass  the fraction of the posterior in new trees found by the draws of a round
 *     agree  |log Z as the sum over the table - log Z by importance sampling from q, without what
 *            a full table missed|, or within three standard errors of the latter
 *     error  the expected standard error of the final estimate (sampler.h), unless it is due to
 *            what a full table missed
 *
 * After the rounds the network may be polished (network_fit.h). This is not needed for the
 * estimates, only if the network itself is to be used.
 *
 *     rounds *c;
 *     status = rounds_create(&c, &problem, &alignment, taxon, trees, &settings, threads);
 *     while (c->stage != ROUNDS_DONE)
 *         status = rounds_advance(c, d);          a second of work, more or less
 *     rounds_free(c);
 *
 * Everything that the next piece of work depends on is saved between any two of them, and is the
 * same on any number of threads. rounds_finish_now ends the rounds early: this is how a time limit
 * is kept, and the only way in which time affects results. */
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
    double log_table;     /* log evidence as the sum over the table, before the draws */
    double log_network;   /* log evidence by importance sampling from q alone */
    double network_error; /* its standard error */
    double new_trees;     /* that the draws brought */
    double new_mass;      /* their fraction of the weight, by importance sampling */
    double missed; /* the fraction in new trees that were not added because the table is full */
    double spread; /* standard deviation of one draw's weight outside the table, over Z */
    double fit_kl; /* KL(table || q) */
    double error;  /* expected standard error of the final estimate */
    double done;   /* 1 if all criteria hold */
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
    int64_t looked;          /* draws of the round that have been processed */
    int64_t found;           /* new trees among them: those with the mark TREE_DRAWN */
    log_mean weights;        /* of the draws, by g */
    log_mean outside;        /* the same, 0 for those that were in the table */
    log_mean missed;         /* the same, 0 for those that are in it now */
    size_t improved;         /* trees whose evidence was estimated in the round */
    double inside;           /* standard deviation of a draw's weight in the table, over its mean */
    const interrupt *stop;   /* of climbs and of weighing; NULL, or borrowed */
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

/* The share of the weight in trees that the first search has not expanded, up to which the table is
 * taken to hold the posterior. */
double rounds_open_share(const rounds *c);

/* What ends climbs and the weighing of trees early (may be NULL); borrowed. */
void rounds_set_stop(rounds *c, const interrupt *stop);

/* A piece of work. */
int rounds_advance(rounds *c, diag *d);

/* The rounds end as soon as possible. */
void rounds_finish_now(rounds *c);

/* The criteria new_mass and agree hold: the draws of that round found no trees with considerable
 * probability that fit in the table. */
bool rounds_is_complete(const rounds *c, const round_figures *r);

/* log evidence as the sum over the table. O(trees). */
double rounds_log_table(const rounds *c);

/* Permanently sets the tree model to the average of its weights, from which the final draws are
 * made. Further calls do nothing. */
void rounds_use_averaged_weights(rounds *c);

/* Everything that the next piece of work depends on, as fields of a saved state. */
int rounds_fields(rounds *c, saved_state *s);

#endif
