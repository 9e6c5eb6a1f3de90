/* search.h: finds the topologies with most of the posterior probability.
 *
 * Climbs start from random stepwise-addition trees (pars/stepwise.h) and go uphill in the diagonal
 * Laplace approximation of the evidence, by nearest-neighbour interchanges and, when these give no
 * improvement, by subtree moves; more of them where few come near the best of their peaks. Around
 * the peaks the neighbourhoods are expanded, best tree first: all interchanges are scored cheaply
 * (branch/branch_moves.h), and those within a window below the best tree enter the table with that
 * score, to be fully fitted when they are expanded themselves. The best trees are also widened: the
 * same with subtree moves, fitted immediately. New starts follow until they find nothing new, and
 * finally the remaining approximate scores are replaced by fits.
 *
 *     tree_search *x;
 *     collapsed_settings set = collapsed_defaults(seed);
 *     status = tree_search_create(&x, &problem, &alignment, taxon, &table, &set, threads);
 *     status = tree_search_run(x, stop, context);                all of it, or in parts:
 *     status = tree_search_start(x, 16);
 *     while (tree_search_unexpanded(x) > 0.001)
 *         status = tree_search_expand(x, &found);
 *     tree_search_free(x);
 *
 * Work is done in rounds: the trees of a round are fixed before it begins, its tasks are
 * independent, and their results enter the table in the order of the tasks. So the table is the
 * same, bit for bit, on any number of threads. Between rounds the whole state is in the table and
 * in a few counters: tree_search_fields. */
#ifndef COLLAPSED_SEARCH_H
#define COLLAPSED_SEARCH_H

#include "base/pool.h"
#include "collapsed/basins.h"
#include "collapsed/settings.h"
#include "collapsed/tree_table.h"
#include "branch/branch_posterior.h"

/* Counts since the start. */
typedef struct search_counts {
    int64_t starts;   /* climbs */
    int64_t peaks;    /* different trees that they ended in */
    int64_t scored;   /* neighbours that were scored cheaply */
    int64_t fitted;   /* trees that were fully fitted */
    int64_t failed;   /* fits without a result (NaN or infinite) */
    int64_t expanded; /* trees whose neighbourhoods were examined */
    int64_t widened;
    int64_t shaken; /* peaks around which others were looked for */
    int64_t rounds;
} search_counts;

typedef struct tree_search tree_search;

/* Uses the seed and the part `search` of the settings. The problem, the table and the threads
 * (may be NULL) are borrowed; the alignment and taxon
 * (as for branch_posterior_init) are not needed after the call. */
int tree_search_create(tree_search **out, const branch_posterior *problem, const alignment *a,
                       const int *taxon, tree_table *table, const collapsed_settings *settings,
                       pool *threads);
void tree_search_free(tree_search *x); /* NULL is fine */

/* Gives the memory of the threads back. The search cannot go on; what it has counted stays. */
void tree_search_release(tree_search *x);

/* Bytes that the search allocates, without the table. */
size_t tree_search_memory(const branch_posterior *problem, const search_settings *settings,
                          int n_threads);

/* Climbs are given up when it is due (borrowed; NULL: never). If not one has come to its end by
 * then, a parsimony tree as it is stands in for a peak, so that there is a tree in any case. */
void tree_search_set_stop(tree_search *x, const interrupt *stop);

/* count more climbs; their peaks enter the table. */
int tree_search_start(tree_search *x, int count);

/* One round of expansion: the best trees within the window that are not expanded yet, at most
 * search.batch. *found is how many trees were new. */
int tree_search_expand(tree_search *x, int64_t *found);

/* The same with subtree moves, for trees among the search.widen best that are not widened. */
int tree_search_widen(tree_search *x, int64_t *found);

/* Fits given topologies, decision [count][N-3], and adds those that are new, regardless of their
 * evidence, with the mark TREE_DRAWN; *found is how many were added. g [count] is set to the
 * evidence of each: the g of the table for trees already in it, -inf for a fit without a result. */
int tree_search_add(tree_search *x, double *g, const int32_t *decision, size_t count,
                    int64_t *found);

/* Lengths [E] from which to start the fit of an unknown tree. O(trees). */
void tree_search_guess(const tree_search *x, double *length);

/* Fits the best of the trees that are in the table by their cheap scores only, at most
 * search.batch. */
int tree_search_refine(tree_search *x);

/* The fraction of the table's weight in trees within the window that are not expanded, and in trees
 * that are not fitted. */
double tree_search_unexpanded(const tree_search *x);
double tree_search_unfitted(const tree_search *x);

/* The share of the posterior that is probably in peaks that no climb has found (basins.h); NaN
 * before the search is done. */
double tree_search_missing(const tree_search *x);

/* Looks for other peaks around the best ones, by shaking (branch/climb.h): where climbs end all
 * over, there are peaks nearby that none of them has met. */
int tree_search_shake(tree_search *x);

/* Whether that is still to be done before chains begin: around a few peaks at least. */
bool tree_search_wants_shakes(tree_search *x);

/* How many climbs have found the top (peak_list_found), and the share of the posterior that may be
 * missing by that alone. */
double tree_search_found(const tree_search *x);
double tree_search_unfound(const tree_search *x);

/* Whether climbs end all over: few of those that were done have found the top. */
bool tree_search_is_rugged(const tree_search *x);

/* Whether climbs or shakes are still to come before the first expansion. */
bool tree_search_is_starting(tree_search *x);

/* The peaks that climbs have ended at, or shaking has found; they outlive tree_search_release. */
const peak_list *tree_search_peaks(const tree_search *x);

/* One round of the next kind of work; *done becomes 1 when new starts find nothing new. The search
 * can continue after that if trees were added. */
int tree_search_advance(tree_search *x, int *done);

/* Called between rounds; not 0 ends the run with ART_ERR_STOPPED. */
typedef int search_stop(void *context, const tree_search *x);

/* Runs the whole search, until new starts find nothing new. stop may be NULL. */
int tree_search_run(tree_search *x, search_stop *stop, void *context);

const search_counts *tree_search_counts(const tree_search *x);

/* The counters as fields "search.*" of a saved state, in addition to those of the table.
 * tree_search_run then resumes the search. */
int tree_search_fields(tree_search *x, saved_state *s);

#endif
