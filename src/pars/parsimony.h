/* parsimony.h: Fitch scores of trees: the minimum number of changes that explains each site, summed
 * over the sites.
 *
 *     parsimony *p;
 *     status = parsimony_create(&p, &alignment, taxon, GAP_FIFTH, pool);
 *     parsimony_batch(p, score, decision, n_trees);      any number of times
 *     parsimony_free(p);
 *
 * Sets of states are held as one bit per state and pattern, 64 patterns to a word. Patterns that
 * have the same cost on every tree are counted once, at the beginning. A pattern that occurs w
 * times takes one column for every bit of w, among the columns of that power of two, so that
 * changes are counted by counting bits. The cost of a tree is about N P / 10 machine operations for
 * P patterns. */
#ifndef PARS_PARSIMONY_H
#define PARS_PARSIMONY_H

#include "base/cpu.h"
#include "base/pool.h"
#include "seq/alignment.h"

#include <stdint.h>

/* Treatment of gaps: as a fifth state, which unknown bases (? and N) do not match, or as an unknown
 * base. */
typedef enum parsimony_gap { GAP_FIFTH, GAP_MISSING } parsimony_gap;

typedef struct parsimony parsimony;

/* taxon[i] is the row of the alignment that is taxon i of the trees; NULL keeps the order of the
 * alignment. What is needed of the alignment is copied; the pool (may be NULL) is borrowed and must
 * outlive the parsimony. ART_ERR_USAGE for fewer than 3 taxa. */
int parsimony_create(parsimony **out, const alignment *a, const int *taxon, parsimony_gap gap,
                     pool *threads);
void parsimony_free(parsimony *p); /* NULL is fine */

/* score[i] of tree i; decision [n_trees][N-3]. Parallel over trees. Allocates nothing. */
void parsimony_batch(parsimony *p, int64_t *score, const int32_t *decision, int n_trees);

/* The same for one tree, pattern by pattern: the reference for tests. */
int parsimony_ref(int64_t *score, const alignment *a, const int *taxon, parsimony_gap gap,
                  const int32_t *decision);

/* Uses the kernels of the given level, which the machine must have, instead of the best. */
void parsimony_use(parsimony *p, cpu_level level);

#endif
