/* engine.h: runs the network over entries of a trie, forward and backward, on all threads.
 *
 * Entries go through the network in groups of some hundred edges, so that the weights, which are in
 * the second-level cache, are applied to many rows. No number of the forward pass depends on how
 * the work is divided. The backward pass is divided into chunks of entries whose bounds depend only
 * on the entries; every chunk has separate sums, added in order at the end. */
#ifndef ARTREEFORMER_ENGINE_H
#define ARTREEFORMER_ENGINE_H

#include "base/pool.h"
#include "density/artreeformer/nodes.h"
#include "density/artreeformer/panels.h"
#include "density/artreeformer/readout.h"
#include "density/artreeformer/tile.h"
#include "density/artreeformer/trie.h"

enum { ENGINE_CHUNKS = 16 };

/* Workspace of one thread. */
typedef struct engine_worker {
    nodes_scratch nodes;
    readout_scratch readout;
    tile own;      /* room for one group */
    int32_t *path; /* [N] */
    real *dlogit;  /* [edges of a group] */
    size_t *row;   /* [edges of a group] */
} engine_worker;

typedef struct engine {
    pool *threads;
    panels panels;
    trie trie;
    tile kept;             /* of entries with a slot */
    engine_worker *worker; /* [threads] */
    size_t room;           /* entries that bound has room for */
    size_t *bound;         /* [room + 1]: of groups */
    real *sums;            /* [ENGINE_CHUNKS][sums_size]; NULL before engine_reserve_gradient */
    real *scratch;         /* [sums_scratch] */
} engine;

/* p and threads are borrowed; threads may be NULL. */
int engine_init(engine *e, const params *p, int n_taxa, int d, int heads, pool *threads);
void engine_free(engine *e); /* safe on a zeroed or freed one */

/* Frees the memory kept for gradients. */
int engine_forget(engine *e);

/* Selects the method of computing node embeddings. */
int engine_embedding(engine *e, embedding_method method);

/* Makes room for this many entries in one call; and for gradients. */
int engine_reserve(engine *e, size_t entries);
int engine_reserve_gradient(engine *e);

/* Sets the distributions of count entries. With keep, what the backward pass needs is kept in
 * e->kept, which must have room, under the entries' slots. Returns the edges evaluated. */
size_t engine_evaluate(engine *e, const int32_t *entry, size_t count, int keep);

/* Adds to p->grad the gradient of sum over the entries and their edges of weight times log
 * probability. weight [offset[count]] has the edges of entry i at offset[i] .. offset[i+1]. Entries
 * with a slot have been evaluated with keep; the others are evaluated here.
 *
 * The gradient is not propagated through edges that contribute almost nothing (neither chosen nor
 * probable): those with the smallest derivatives, as long as the derivatives left out sum to at
 * most a millionth of mass (in double, to less than rounding errors). mass is the size of the
 * weights, the sum of their |coefficients|. In a trained model these are most edges. Returns the
 * number of edges through which the gradient was propagated. */
size_t engine_gradient(engine *e, params *p, const int32_t *entry, const size_t *offset,
                       const double *weight, size_t count, double mass);

#endif
