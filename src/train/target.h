/* target.h: the target value of a tree: the log-likelihood of the alignment, or the negative
 * parsimony score. The variational task uses only this interface. */
#ifndef TRAIN_TARGET_H
#define TRAIN_TARGET_H

#include "base/pool.h"
#include "pars/parsimony.h"
#include "subst/subst_model.h"
#include "seq/alignment.h"

#include <stdint.h>

typedef struct target target;

typedef struct target_ops {
    /* value[i] of k trees, and with gradient not NULL its derivatives with respect to the branch
     * lengths.
     *   decision [k][N-3]; length, gradient [k][2N-3], unused where has_lengths is false. */
    void (*evaluate)(target *t, double *value, double *gradient, const int32_t *decision,
                     const double *length, int k);

    /* The value of one tree by the reference kernels. */
    int (*reference)(target *t, double *value, const int32_t *decision, const double *length);

    void (*free)(target *t);
} target_ops;

struct target {
    const target_ops *ops;
    int n_taxa;
    int has_lengths;
};

/* taxon[i] is the row of the alignment that is taxon i. The alignment, taxon and model must outlive
 * the target. Memory is allocated for k >= 1 trees at a time; larger batches are processed in
 * parts. *out is freed with target_free. */
int target_likelihood(target **out, const alignment *a, const int *taxon, const subst_model *model,
                      int k, pool *threads);
int target_parsimony(target **out, const alignment *a, const int *taxon, parsimony_gap gap, int k,
                     pool *threads);

void target_free(target *t); /* NULL is fine */

#endif
