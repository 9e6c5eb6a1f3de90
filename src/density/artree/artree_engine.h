/* artree_engine.h: runs ARTree's network over entries of a trie, forward and backward, on all
 * threads.
 *
 * An entry needs the states of its parent, so the levels of the trie are done one after the other,
 * and the entries of a level side by side. Backward the levels are done in reverse; every entry
 * leaves the gradient of the states that it was given, and its parent adds up what its children
 * have left, in the order of their edges. The gradient of the weights is summed over chunks of the
 * entries of each level whose bounds depend only on the entries; every chunk has a separate sheet,
 * added in order at the end. So no number depends on the number of threads. */
#ifndef ARTREE_ARTREE_ENGINE_H
#define ARTREE_ARTREE_ENGINE_H

#include "base/pool.h"
#include "density/artree/artree_group.h"

enum { ARTREE_CHUNKS = 16 };

/* Workspace of one thread. */
typedef struct artree_worker {
    artree_scratch scratch;
    artree_tile own; /* room for one group */
} artree_worker;

typedef struct artree_engine {
    pool *threads;
    artree_weights weights;
    trie trie;
    artree_tile kept;      /* by the rows of the trie (trie_row), of entries evaluated with keep */
    artree_worker *worker; /* [threads] */
    size_t room;           /* entries that bound has room for */
    size_t *bound;         /* [room + 1]: of groups */
    size_t room_rows;      /* node rows that dstate has room for */
    real *dstate;          /* [room_rows][d]: by the rows of the trie */
    real *sums;            /* [ARTREE_CHUNKS] sheets; NULL before artree_engine_reserve_gradient */
} artree_engine;

/* p and threads are borrowed; threads may be NULL. */
int artree_engine_init(artree_engine *e, const params *p, int n_taxa, int d, pool *threads);
void artree_engine_free(artree_engine *e); /* safe on a zeroed or freed one */

/* Makes room for this many entries in one call; and for gradients with this many node rows. */
int artree_engine_reserve(artree_engine *e, size_t entries);
int artree_engine_reserve_gradient(artree_engine *e, size_t rows);

/* Sets states and distributions of count entries, which are listed level by level; their parents
 * are evaluated or come before them. With keep, what the backward pass needs is kept in e->kept,
 * which must have room for all rows of the trie. Returns the edges evaluated. */
size_t artree_engine_evaluate(artree_engine *e, const int32_t *entry, size_t count, int keep);

/* Adds to p->grad the gradient of sum over the entries and their edges of weight times log
 * probability. The entries are evaluated, and listed and marked by trie_batch_collect; weight
 * [offset[count]] has the edges of entry i at offset[i] .. offset[i+1]. With kept they have been
 * evaluated with keep; otherwise the forward pass is done again, from the states of the parents. */
void artree_engine_gradient(artree_engine *e, params *p, const int32_t *entry, const size_t *offset,
                            const double *weight, size_t count, int kept);

#endif
