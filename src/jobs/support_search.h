/* support_search.h: the trees from which the tables of a subsplit network come, where none are
 * given: those that the search of collapsed inference finds (collapsed/search.h), climbs from
 * parsimony trees and the neighbours of what they end in.
 *
 * The trees are chosen by their approximate evidence with branch lengths integrated out: the best,
 * until they have SUPPORT_SHARE of the weight of all that were found. A bootstrap (the published
 * way, by another program) needs a climb for every tree and draws trees from another distribution
 * than the posterior; the search takes seconds, and says how much it may have missed.
 *
 *     support_search *x;
 *     status = support_search_create(&x, data, &model, prior, seed, threads);
 *     while (!is_done)
 *         status = support_search_advance(x, &is_done);
 *     status = support_search_trees(&trees, x);
 *     support_search_free(x);
 *
 * The result is the same on any number of threads. */
#ifndef JOBS_SUPPORT_SEARCH_H
#define JOBS_SUPPORT_SEARCH_H

#include "base/pool.h"
#include "jobs/dataset.h"
#include "subst/branch_prior.h"
#include "subst/free_model.h"
#include "tree/tree_set.h"

/* Of the weight of the trees that were found. What is missing lowers the evidence by as much, in
 * nats, at most: the support is larger than the trees that it comes from. */
#define SUPPORT_SHARE 0.999

/* Trees at most, for posteriors that no list holds: their tables have some 10^5 parameters, and a
 * step of training goes through all of them. */
enum { SUPPORT_TREES = 10000 };

typedef struct support_search support_search;

/* data and threads (may be NULL) are borrowed. The model has no free parameters. */
int support_search_create(support_search **out, const dataset *data, const free_model *model,
                          branch_prior prior, uint64_t seed, pool *threads);
void support_search_free(support_search *x); /* NULL is fine */

/* A piece of work. */
int support_search_advance(support_search *x, bool *is_done);

const taxa *support_search_taxa(const support_search *x);

/* Distinct trees so far, and climbs. */
size_t support_search_count(const support_search *x);
int64_t support_search_climbs(const support_search *x);

/* The trees with their weights, on the taxa of the data; share is that of all that were found. *out
 * is safe to free in any case. */
int support_search_trees(tree_set *out, const support_search *x);

/* All that the next piece depends on. */
int support_search_fields(support_search *x, saved_state *s);

#endif
