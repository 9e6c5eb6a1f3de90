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
 *     collapsed *c;
 *     status = collapsed_create(&c, &problem, &alignment, taxon, trees, &settings, threads);
 *     while (c->stage != COLLAPSED_DONE)
 *         status = collapsed_advance(c, d);          a second of work, more or less
 *     collapsed_free(c);
 *
 * Everything that the next piece of work depends on is saved between any two of them, and the
 * same on any number of threads. collapsed_hurry ends the rounds early: that is how a time
 * limit is kept, and the only way in which time has an influence on results. */
#ifndef COLLAPSED_ROUNDS_H
#define COLLAPSED_ROUNDS_H

#include "collapsed/search.h"
#include "collapsed/blend.h"
#include "collapsed/network_fit.h"

#include <stdbool.h>

typedef struct collapsed_settings {
    uint64_t seed;
    explore_settings explore;
    size_t capacity;    /* trees of the table */
    int64_t expansions; /* of trees in one round, at most */
    table_fit_settings fit;
    int draws;  /* from q in one round */
    int rounds; /* at most */
    /* The criteria. */
    double news;
    double agree;
    double error;
    double sampled; /* draws from q that the final answer can have, for `error` */
} collapsed_settings;

/* The defaults of those that users choose. */
#define COLLAPSED_NEWS   0.02
#define COLLAPSED_ERROR  0.02
#define COLLAPSED_MEMORY ((int64_t)512 << 20) /* bytes of the table */
enum { COLLAPSED_USUAL_ROUNDS = 8 };

collapsed_settings collapsed_defaults(uint64_t seed);

typedef enum collapsed_stage {
    COLLAPSED_EXPLORE,
    COLLAPSED_IMPROVE,
    COLLAPSED_FIT,
    COLLAPSED_DRAW,
    COLLAPSED_POLISH,
    COLLAPSED_DONE
} collapsed_stage;

/* What a round showed. All are doubles, so that a checkpoint holds them as one tensor. */
typedef struct collapsed_round {
    double trees;         /* in the table, at the end */
    double steps;         /* of fitting so far */
    double log_table;     /* log evidence by the table's sum, before the draws */
    double log_network;   /* log evidence by importance sampling from q alone */
    double network_error; /* its standard error */
    double new_trees;     /* that the draws brought */
    double news;          /* their share of the weight, by importance sampling */
    double missed;        /* the share of new trees that the table did not take: it is full */
    double spread;        /* standard deviation of one draw's weight outside the table, over Z */
    double gap;           /* KL(table || q) */
    double error;         /* expected standard error of the final answer */
    double done;          /* 1 if all criteria hold */
} collapsed_round;

enum { COLLAPSED_ROUNDS = 64, COLLAPSED_COUNTS = 7, COLLAPSED_LEVELS = 3 * LOG_MEAN_NUMBERS + 1 };

typedef struct collapsed {
    const branch_problem *problem;
    topology_model *trees; /* borrowed; holds the last weights, not their average, but for draws */
    collapsed_settings set;
    pool *threads;
    topology_table table;
    explorer *explorer;
    evidence_team *team;
    table_fit fit;
    /* The draws of a round. */
    int32_t *drawn; /* [draws][N-3] */
    double *log_q;  /* [draws] */
    bool has_draws; /* made for this round */
    /* Where it is. */
    collapsed_stage stage;
    bool hurry;
    bool ended; /* the rounds */
    bool is_settled;
    int n_rounds;
    collapsed_round round[COLLAPSED_ROUNDS];
    int64_t expanded_before; /* at the beginning of the round */
    int64_t looked;          /* draws of the round that have been dealt with */
    int64_t found;           /* new trees that they brought: those with the mark TABLE_DRAWN */
    log_mean weights;        /* of the draws, by g */
    log_mean outside;        /* the same, 0 for those that were in the table */
    log_mean missed;         /* the same, 0 for those that are in it now */
    size_t improved;         /* trees that were weighed in the round */
    double inside;           /* standard deviation of a draw's weight in the table, over its mean */
    int64_t saved_counts[COLLAPSED_COUNTS];
    double saved_levels[COLLAPSED_LEVELS];
} collapsed;

/* Problem, tree model (initialised) and threads are borrowed; alignment and taxon (as for
 * branch_problem_init) are not needed after the call. */
int collapsed_create(collapsed **out, const branch_problem *problem, const alignment *a,
                     const int *taxon, topology_model *trees, const collapsed_settings *settings,
                     pool *threads);
void collapsed_free(collapsed *c); /* NULL is fine */

/* A piece of work. */
int collapsed_advance(collapsed *c, diag *d);

/* The rounds end as soon as they can. */
void collapsed_hurry(collapsed *c);

/* The criteria news and agree hold: the draws of that round found nothing that matters and that
 * the table could take. */
bool collapsed_is_complete(const collapsed *c, const collapsed_round *r);

/* log evidence by the table's sum. O(trees). */
double collapsed_log_table(const collapsed *c);

/* The tree model gets the average of its weights, for good: the one to draw from at the end. Once
 * is enough. */
void collapsed_settle(collapsed *c);

int collapsed_save(collapsed *c, safetensors *s);
int collapsed_load(collapsed *c, safetensors *s, const char *file, diag *d);

#endif
