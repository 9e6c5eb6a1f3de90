/* likelihood.h: log-likelihood of trees, with the gradient of all branch lengths. */
#ifndef PHYLO_LIKELIHOOD_H
#define PHYLO_LIKELIHOOD_H

#include "base/pool.h"
#include "phylo/subst_model.h"
#include "seq/alignment.h"

typedef struct likelihood likelihood;

/* Everything that calls need is allocated here: room for n_trees trees at a time.
 * taxon[i] is the row of the alignment that is taxon i of the trees. The alignment and the
 * model are copied; the pool (may be NULL) is borrowed and must outlive the likelihood. */
int likelihood_create(likelihood **out, const alignment *a, const int *taxon,
                      const subst_model *model, int n_trees, pool *threads);
void likelihood_free(likelihood *l);

/* For each of n_trees trees: value[i] = log p(data | tree_i, length_i); if gradient is not
 * NULL, gradient[i][e] = d value[i] / d length[i][e]. Bit for bit the same on any number of
 * threads and for any batch.
 *   decision [n_trees][N-3], length and gradient [n_trees][2N-3] by edge number. */
void likelihood_batch(likelihood *l, double *value, double *gradient, const int32_t *decision,
                      const double *length, int n_trees);

/* The same for one tree by the plain double kernels: the oracle, and the run-time check. */
int likelihood_plain(double *value, double *gradient, const alignment *a, const int *taxon,
                     const subst_model *model, const int32_t *decision, const double *length);

#endif
