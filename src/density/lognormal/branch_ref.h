/* branch_ref.h: the lognormal branch model computed directly from its definition, in double, with
 * embeddings in R^N: the reference for the tests and the run-time check of branch_lognormal.h. */
#ifndef LOGNORMAL_BRANCH_REF_H
#define LOGNORMAL_BRANCH_REF_H

#include "nn/params.h"

#include <stdint.h>

/* The network's outputs by edge for one tree: mean [2N-3], log_std [2N-3], not clamped.
 *   p: the table of branch_net_tensors(n_taxa, hidden); decision [N-3].
 * Allocates its scratch. O(N^2 H + N H^2). */
int branch_plain_moments(double *mean, double *log_std, const params *p, int n_taxa, int hidden,
                         const int32_t *decision);

#endif
