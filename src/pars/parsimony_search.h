/* parsimony_search.h: a search for the trees of the least parsimony score.
 *
 *     parsimony_search *x;
 *     status = parsimony_search_create(&x, &alignment, row, GAP_FIFTH, &settings, threads);
 *     while (!status && !parsimony_search_is_done(x))
 *         status = parsimony_search_step(x, NULL);
 *     found = parsimony_search_found(x);
 *     parsimony_search_free(x);
 *
 * *Starts.* A start is a tree by random stepwise addition, improved by moving subtrees and then by
 * bisection and reconnection (fitch_tree.h), and then by rounds of the ratchet (Nixon 1999): some
 * sites, chosen at random, are left out; the tree is improved on the others; from there it is
 * improved on all. The result replaces the tree if it is not worse. Starts know nothing of each
 * other. They go in batches of SEARCH_LANES, a round of all at a time.
 *
 * *Plateau.* When the best score was found from settings.hits starts, all neighbours of the trees
 * with that score are looked at, then the neighbours of those that have it too, until there is no
 * new one. If one has a better score, starts begin to be counted again.
 *
 * *End.* If each island of optimal trees (optimal_trees.h) was found from at least two starts, the
 * search is done; otherwise there may be islands that no start has found, and another batch
 * follows, up to settings.starts.
 *
 * That is no proof: a score that many independent starts agree on is very likely the optimum. The
 * result depends on the seed and the settings, not on the number of threads. */
#ifndef PARS_PARSIMONY_SEARCH_H
#define PARS_PARSIMONY_SEARCH_H

#include "base/interrupt.h"
#include "base/pool.h"
#include "io/saved_state.h"
#include "pars/optimal_trees.h"
#include "pars/parsimony.h"

enum { SEARCH_LANES = 8 };

typedef struct parsimony_search_settings {
    uint64_t seed;
    int hits;     /* starts that must agree on the best score; 1 and more */
    int starts;   /* at most */
    int rounds;   /* of the ratchet in each start; 0 and more */
    double drop;  /* the share of sites that a round leaves out; 0 to 1 */
    size_t trees; /* fully resolved trees that are kept at most; 1 and more */
} parsimony_search_settings;

enum {
    SEARCH_HITS = 10,
    SEARCH_STARTS = 500,
    SEARCH_ROUNDS = 25,
    SEARCH_TREES = 10000,
    SEARCH_TREES_MOST = 10000000,
};
#define SEARCH_DROP 0.3

typedef enum parsimony_stage { STAGE_STARTS, STAGE_PLATEAU, STAGE_DONE } parsimony_stage;

typedef struct parsimony_found {
    parsimony_stage stage;
    int64_t score;   /* the best; INT64_MAX before the first round */
    int starts;      /* complete, or cut short by the end of the time */
    int hits;        /* of them, that ended with the best score */
    int round;       /* rounds of the present batch that are done */
    size_t explored; /* resolved trees whose neighbours were all looked at */
    int32_t islands; /* of those explored so far */
    int32_t rare;    /* of them, that fewer than two starts have ended on */
    bool is_cut;     /* the time was over before the search was done */
    const optimal_trees *trees;
} parsimony_found;

typedef struct parsimony_search parsimony_search;

/* row[i] is the row of the alignment that is taxon i; NULL keeps the order. The alignment is not
 * referenced after the call; the pool (may be NULL) must outlive the search. ART_ERR_USAGE for
 * fewer than 3 taxa. */
int parsimony_search_create(parsimony_search **out, const alignment *a, const int *row,
                            parsimony_gap gap, const parsimony_search_settings *settings,
                            pool *threads);
void parsimony_search_free(parsimony_search *x); /* NULL is fine */

/* A round of a batch of starts, or the neighbours of a few trees. If stop (may be NULL) is due, the
 * step is short and the search is done, with what it has. */
int parsimony_search_step(parsimony_search *x, const interrupt *stop);

bool parsimony_search_is_done(const parsimony_search *x);

/* Ends the search with what it has. After at least one step. */
void parsimony_search_end(parsimony_search *x);

parsimony_found parsimony_search_found(const parsimony_search *x);

/* Which branches of a tree of the search stay when it is collapsed: keeps [2N-3] by edge number. */
void parsimony_search_branches(parsimony_search *x, bool *keeps, const int32_t *decision);

/* The fields "search.*" and "optimal.*" of a saved state. */
int parsimony_search_fields(parsimony_search *x, saved_state *s);

#endif
