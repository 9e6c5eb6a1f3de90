/* likelihood.h: log-likelihood of trees, with the gradient of all branch lengths.
 *
 *     likelihood *l;
 *     status = likelihood_create(&l, &alignment, taxon, &model, 10, pool);
 *     likelihood_batch(l, value, gradient, decision, length, 10);      any number of times
 *     likelihood_free(l);
 *
 * The cost is linear in taxa, patterns and categories: one pass up the tree for the value, one down
 * for all derivatives. Gaps are missing data. Patterns are divided into blocks whose partial
 * likelihoods stay in the cache; a task is one tree on a fixed part of the blocks, and the results
 * of tasks are added in order. So results are the same, bit for bit, on any number of threads and
 * in any batch; they differ by rounding between instruction sets. */
#ifndef LIK_LIKELIHOOD_H
#define LIK_LIKELIHOOD_H

#include "base/cpu.h"
#include "base/pool.h"
#include "subst/subst_model.h"
#include "seq/alignment.h"

#include <stddef.h>
#include <stdint.h>

typedef struct likelihood likelihood;

/* Everything that calls need is allocated here, for batches of n_trees trees (larger batches are
 * processed in parts). taxon[i] is the row of the alignment that is taxon i of the trees; NULL
 * keeps the order of the alignment. What is needed of the alignment and the model is copied; the
 * pool (may be NULL) is borrowed and must outlive the likelihood. ART_ERR_USAGE for fewer than 3
 * taxa. */
int likelihood_create(likelihood **out, const alignment *a, const int *taxon,
                      const subst_model *model, int n_trees, pool *threads);
void likelihood_free(likelihood *l); /* NULL is fine */

/* For each of n_trees trees: value[i] = log p(data | tree_i, length_i); if gradient is not NULL,
 * gradient[i][e] = d value[i] / d length[i][e]. Lengths must not be negative. Data that are
 * impossible on a tree (a difference across branches of length 0) have value -inf, and the sites
 * that are impossible do not contribute to the gradient.
 *   decision [n_trees][N-3], length and gradient [n_trees][2N-3] by edge number. */
void likelihood_batch(likelihood *l, double *value, double *gradient, const int32_t *decision,
                      const double *length, int n_trees);

/* The same for one tree, computed directly from the definition, site by site: the reference for the
 * tests and for the check at run time. Shares no code with the above except the transition
 * matrices. */
int likelihood_ref(double *value, double *gradient, const alignment *a, const int *taxon,
                   const subst_model *model, const int32_t *decision, const double *length);

/* The number of patterns, with gaps as missing data. */
size_t likelihood_patterns(const likelihood *l);

/* Bytes that likelihood_create allocates for this many patterns. */
size_t likelihood_memory(int n_taxa, size_t n_patterns, const subst_model *model, int n_trees,
                         int n_threads);

/* Uses the kernels of the given level, which the machine must have, instead of the best. */
void likelihood_use(likelihood *l, cpu_level level);

#endif
