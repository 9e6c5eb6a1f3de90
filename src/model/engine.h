/* engine.h: runs the network over entries of a trie, forward and backward, on all threads.
 *
 * The forward pass of an entry is one task, or, where entries are few, its nodes are one task
 * and its edges several. No number depends on how the work was cut. The backward pass is cut
 * into chunks of entries whose bounds depend on the entries alone; every chunk has sums of its
 * own, added in order at the end. */
#ifndef MODEL_ENGINE_H
#define MODEL_ENGINE_H

#include "base/pool.h"
#include "model/nodes.h"
#include "model/panels.h"
#include "model/readout.h"
#include "model/tile.h"
#include "model/trie.h"

enum { ENGINE_CHUNKS = 16 };

/* What one thread needs for itself. */
typedef struct engine_worker {
    nodes_scratch nodes;
    readout_scratch readout;
    tile one;      /* room for one tree */
    int32_t *path; /* [N] */
    real *dlogit;  /* [2N-3] */
    real *dshift;  /* [2d] */
} engine_worker;

typedef struct engine {
    pool *threads;
    panels panels;
    trie trie;
    tile kept;             /* of entries with a slot */
    engine_worker *worker; /* [threads] */
    real *sums;            /* [ENGINE_CHUNKS][sums_size]; NULL before engine_reserve_gradient */
    real *scratch;         /* [sums_scratch] */
} engine;

/* p and threads are borrowed; threads may be NULL. */
int engine_init(engine *e, const params *p, int n_taxa, int d, int heads, pool *threads);
void engine_free(engine *e); /* safe on a zeroed or freed one */

/* Another way to the node embeddings. */
int engine_embedding(engine *e, embedding_method method);

/* Sets the distributions of count entries. With keep, what the backward pass needs is kept in
 * e->kept, which must have room, under the entries' slots. Returns the edges evaluated. */
size_t engine_evaluate(engine *e, const int32_t *entry, size_t count, int keep);

int engine_reserve_gradient(engine *e);

/* Adds to p->grad the gradient of sum over the entries and their edges of weight times log
 * probability. weight [offset[count]] has the edges of entry i at offset[i] .. offset[i+1].
 * Entries with a slot have been evaluated with keep; the others are evaluated here. */
void engine_gradient(engine *e, params *p, const int32_t *entry, const size_t *offset,
                     const double *weight, size_t count);

#endif
