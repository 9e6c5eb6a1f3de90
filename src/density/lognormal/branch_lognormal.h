/* branch_lognormal.h: independent lognormal branch lengths whose parameters come from a graph
 * network on the tree (branch_net.h), with the interface of branch_model.h.
 *
 *     log length_e = mean_e - 2 + exp(log_std_e) eps_e,   eps_e ~ N(0, 1)
 *     log q = sum_e [ -eps_e^2 / 2 - log_std_e - log(2 pi) / 2 - log length_e ]
 *
 * The network's outputs are clamped to BRANCH_MEAN and BRANCH_LOG_STD before use, so that no
 * exponential overflows for any weights; values outside these bounds (a median of e^50, a standard
 * deviation of 20 in the logarithm) do not describe branch lengths of any real tree. Where the
 * clamp acts, the gradient is zero.
 *
 * Equal topologies of a batch are evaluated once. The forward passes of a batch are kept for the
 * backward if they are few (at most BRANCH_KEPT distinct trees and BRANCH_KEPT_BYTES); otherwise
 * the backward runs them again, so that memory does not grow with the batch. */
#ifndef LOGNORMAL_BRANCH_LOGNORMAL_H
#define LOGNORMAL_BRANCH_LOGNORMAL_H

#include "density/branch_model.h"

#define BRANCH_MEAN_MIN    (-50.0)
#define BRANCH_MEAN_MAX    50.0
#define BRANCH_LOG_STD_MIN (-15.0)
#define BRANCH_LOG_STD_MAX 3.0

enum { BRANCH_KEPT = 32, BRANCH_KEPT_BYTES = 1 << 26, BRANCH_HIDDEN_MAX = 1 << 14 };

/* n_taxa >= 3, hidden >= 1. team may be NULL and must outlive the model. All parameters are zero
 * until they are initialised or loaded. The model has no configuration yet: it is set by
 * branch_model_create (density/factory.h), which all callers use except the tests of this model. */
int branch_lognormal_create(branch_model **out, int n_taxa, int hidden, pool *team);

/* The same without LayerNorm in the convolutions: the model that ARTree was published with. */
int branch_lognormal_create_plain(branch_model **out, int n_taxa, int hidden, pool *team);

/* mean and log_std [k][2N-3] of given trees, clamped. What backward needs is kept. */
int branch_lognormal_moments(branch_model *m, double *mean, double *log_std,
                             const int32_t *decision, int k);

/* After sample, score or moments: adds the gradient of sum (dmean mean + dlog_std log_std) to
 * params.grad. dmean and dlog_std [k][2N-3]. */
int branch_lognormal_moments_backward(branch_model *m, const double *dmean, const double *dlog_std);

#endif
