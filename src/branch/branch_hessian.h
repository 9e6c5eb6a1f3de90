/* branch_hessian.h: all second derivatives of the density of a topology's branch lengths.
 *
 * With X_j = d down[v] / d b_j, for all branches j below node v (branch_solver.h), the mixed
 * second derivatives of a pattern's likelihood L are inner products:
 *
 *     of two branches i, j on different sides of node v, i below child a, j below child b:
 *         sum pi (P_v up[v]) Y_i Y_j,   Y_i = d (P_a down[a]) / d b_i
 *     of the branch above v and a branch j below v or v itself:
 *         sum pi (Q up[v]) Y_j,         Y_j = d (P_v down[v]) / d b_j
 *
 * (reversibility moves the derivative of P_v to the other side). So one pass up the tree that
 * propagates the Y of all branches below gives every pair, and the sums over patterns, categories
 * and bases are products of matrices. Cost: E^2 / 2 inner products over all patterns, and the
 * sum of the sizes of all subtrees in steps along the tree. docs/collapsed.md has the
 * derivation. */
#ifndef BRANCH_BRANCH_HESSIAN_H
#define BRANCH_BRANCH_HESSIAN_H

#include "branch/branch_solver.h"

typedef struct branch_hessian branch_hessian;

/* Workspace of one thread; the problem is borrowed. */
int branch_hessian_create(branch_hessian **out, const branch_posterior *problem);
void branch_hessian_free(branch_hessian *h); /* NULL is fine */

/* Bytes that are allocated for a problem. */
size_t branch_hessian_memory(const branch_posterior *problem);

/* gradient [E] and hessian [E][E] of f with respect to x, by edge number, at the lengths of s,
 * whose partials are all current (branch_solver_refresh). ART_ERR_STOPPED if the stop of s was
 * due. */
int branch_hessian_compute(branch_hessian *h, double *gradient, double *hessian,
                           const branch_solver *s);

#endif
