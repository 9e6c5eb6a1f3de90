/* cholesky.h: symmetric positive definite matrices, A = L L^T, stored by rows, L in the lower
 * triangle; nothing above the diagonal is read or written. */
#ifndef BASE_CHOLESKY_H
#define BASE_CHOLESKY_H

#include <stddef.h>

/* The lower triangle of a [n][n] becomes L. Returns 0 if a is not clearly positive definite: a
 * pivot that has lost ten digits to cancellation counts as not positive. O(n^3 / 6). */
int cholesky_factor(double *a, ptrdiff_t n);

/* v [n] becomes L^-1 v, L^-T v. O(n^2 / 2). */
void cholesky_forward(double *v, const double *factor, ptrdiff_t n);
void cholesky_backward(double *v, const double *factor, ptrdiff_t n);

/* inverse [n][n] = a^-1, all of it; scratch [n][n]. Returns 0 as cholesky_factor does. */
int cholesky_invert(double *inverse, const double *a, double *scratch, ptrdiff_t n);

#endif
