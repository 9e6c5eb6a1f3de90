/* search.h: finds the topologies that hold the posterior's weight.
 *
 * Climbs start from random stepwise-addition trees (pars/stepwise.h) and go uphill in the
 * diagonal Laplace approximation of the evidence, by interchanges and, where these lead no
 * further, by subtree moves. Around the peaks the neighbourhoods are expanded, best tree
 * first: all interchanges are scored cheaply (branch/branch_moves.h), and those within a window
 * below the best tree enter the table by that score, to be fitted wholly when their own turn
 * comes. The best trees are also widened: the same with subtree moves, fitted at once. New
 * starts follow until they bring nothing new, and at last the scores that still stand in for
 * fits are replaced.
 *
 *     explorer *x;
 *     explore_settings set = explore_defaults(seed);
 *     status = explorer_create(&x, &problem, &alignment, taxon, &table, &set, threads);
 *     status = explorer_run(x, stop, context);                all of it, or in parts:
 *     status = explorer_start(x, 16);
 *     while (explorer_open(x) > 0.001)
 *         status = explorer_expand(x, &found);
 *     explorer_free(x);
 *
 * Work is done in rounds: what a round looks at is fixed before it begins, its tasks do not
 * see each other, and what they bring enters the table in the order of the tasks. So the table
 * is the same, bit for bit, on any number of threads. Between rounds everything that is to be
 * known is in the table and in a few counters: explorer_save, explorer_load. */
#ifndef COLLAPSED_SEARCH_H
#define COLLAPSED_SEARCH_H

#include "base/pool.h"
#include "collapsed/tree_table.h"
#include "branch/branch_posterior.h"

typedef struct explore_settings {
    uint64_t seed;
    double window;    /* nats below the best tree: what enters the table */
    double tolerance; /* of the modes (branch_solver_mode) */
    double open;      /* expansion ends when this share of the table's weight is in trees whose
                         neighbourhoods were not looked at */
    int easy;         /* as long as no more trees than this are expanded, a fiftieth of that */
    double rough;     /* and all of it when this share is in trees that were not fitted */
    int batch;        /* trees that a round expands, at most */
    int starts;       /* climbs before the first expansion */
    int more_starts;  /* climbs in every batch after that */
    int quiet;        /* the last so many climbs brought no more than .. */
    double news;      /* .. this share of the table's weight: then it is done */
    int widen;        /* how many of the best trees are widened */
    int radius;       /* longest subtree move, in branches */
} explore_settings;

explore_settings explore_defaults(uint64_t seed);

/* Counts since the start. */
typedef struct explore_counts {
    int64_t starts;   /* climbs */
    int64_t peaks;    /* different trees that they ended in */
    int64_t scored;   /* neighbours that were scored cheaply */
    int64_t fitted;   /* trees that were fitted wholly */
    int64_t failed;   /* of these without a result (numbers that were none) */
    int64_t expanded; /* trees whose neighbourhoods were looked at */
    int64_t widened;
    int64_t rounds;
} explore_counts;

typedef struct explorer explorer;

/* The problem, the table and the threads (may be NULL) are borrowed; the alignment and taxon
 * (as for branch_problem_init) are not needed after the call. */
int explorer_create(explorer **out, const branch_problem *problem, const alignment *a,
                    const int *taxon, topology_table *table, const explore_settings *settings,
                    pool *threads);
void explorer_free(explorer *x); /* NULL is fine */

/* Bytes that it allocates, the table not counted. */
size_t explorer_memory(const branch_problem *problem, const explore_settings *settings,
                       int n_threads);

/* count more climbs; their peaks enter the table. */
int explorer_start(explorer *x, int count);

/* One round of expansion: the best trees within the window that are not expanded yet, at most
 * settings.batch. *found is how many trees were new. */
int explorer_expand(explorer *x, int64_t *found);

/* The same with subtree moves, for trees among the settings.widen best that are not widened. */
int explorer_widen(explorer *x, int64_t *found);

/* Fits given topologies, decision [count][N-3], and adds those that are new, whatever they are
 * worth, with the mark TABLE_DRAWN; *found is how many were added. g [count] becomes what each
 * is worth: the table's g for those that it had, -inf for a fit without a result. */
int explorer_add(explorer *x, double *g, const int32_t *decision, size_t count, int64_t *found);

/* Lengths [E] to begin the fit of a tree with of which nothing is known. O(trees). */
void explorer_guess(const explorer *x, double *length);

/* Fits the best of the trees that are in the table by their cheap scores only, at most
 * settings.batch. */
int explorer_refine(explorer *x);

/* The share of the table's weight in trees within the window that are not expanded, and in
 * trees that are not fitted. */
double explorer_open(const explorer *x);
double explorer_rough(const explorer *x);

/* One round of whatever comes next; *done becomes 1 when new starts bring nothing new. More may
 * follow after that, if trees were added. */
int explorer_advance(explorer *x, int *done);

/* Called between rounds; not 0 ends the run with ART_ERR_STOPPED. */
typedef int explore_stop(void *context, const explorer *x);

/* Everything, until new starts bring nothing new. stop may be NULL. */
int explorer_run(explorer *x, explore_stop *stop, void *context);

const explore_counts *explorer_counts(const explorer *x);

/* The counters as tensors "explore.*" of a checkpoint, beside those of the table. The explorer
 * must not go on until s is freed. explorer_run then goes on where it was. */
int explorer_save(explorer *x, safetensors *s);
int explorer_load(explorer *x, safetensors *s, const char *file, diag *d);

#endif
