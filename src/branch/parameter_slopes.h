/* parameter_slopes.h: the derivatives of the log-likelihood of one topology by all branch lengths
 * and by every part of the substitution models and the rate multipliers of its blocks, from one
 * pass over the partials of a tree.
 *
 * Across the branch above node v, with x = up[v], y = down[v] (branch_solver.h) and the transitions
 * P_c in category c of weight w_c, the likelihood of a pattern is
 *
 *     L = invariant + sum_c w_c sum_ij pi_i x_ci P_c,ij y_cj
 *
 * so that all derivatives by P_c are sums over the patterns, with their weights n,
 *
 *     d log L / d P_c,ij = w_c pi_i C_c,ij,     C_c,ij = sum n / L  x_ci y_cj,
 *
 * 16 numbers for each branch and category of a block. Those by the branch length, by the rate of a
 * category and, with the eigenvectors of Q, by Q itself follow from them (docs/parameters.md).
 *
 *     parameter_slopes *w;
 *     status = parameter_slopes_create(&w, &problem);                 one per thread
 *     branch_solver_refresh(s);
 *     by_block = parameter_slopes_compute(w, by_length, s);
 *     parameter_slopes_free(w); */
#ifndef BRANCH_PARAMETER_SLOPES_H
#define BRANCH_PARAMETER_SLOPES_H

#include "branch/branch_solver.h"
#include "subst/block_parameters.h"

typedef struct parameter_slopes parameter_slopes;

/* The problem is borrowed; it is the one of the solvers. */
int parameter_slopes_create(parameter_slopes **out, const branch_posterior *problem);
void parameter_slopes_free(parameter_slopes *w); /* NULL is fine */

/* Bytes that one allocates for a problem. */
size_t parameter_slopes_memory(const branch_posterior *problem);

/* by_length [E] by edge number, at the lengths and the models of s, whose partials are all current.
 * Returns the derivatives by what each block has [K], which are w's until the next call. Costs
 * about as much as a refresh. */
const block_slopes *parameter_slopes_compute(parameter_slopes *w, double *by_length,
                                             const branch_solver *s);

#endif
