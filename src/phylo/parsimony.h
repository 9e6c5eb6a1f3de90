/* parsimony.h: Fitch scores of trees. */
#ifndef PHYLO_PARSIMONY_H
#define PHYLO_PARSIMONY_H

#include "base/pool.h"
#include "seq/alignment.h"

typedef enum parsimony_gap { GAP_FIFTH, GAP_MISSING } parsimony_gap;

typedef struct parsimony parsimony;

/* As likelihood_create. */
int parsimony_create(parsimony **out, const alignment *a, const int *taxon, parsimony_gap gap,
                     pool *threads);
void parsimony_free(parsimony *p);

/* score[i] of tree i; decision [n_trees][N-3]. */
void parsimony_batch(parsimony *p, int64_t *score, const int32_t *decision, int n_trees);

#endif
