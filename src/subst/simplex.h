/* simplex.h: numbers y_k > 0 with sum 1, Dirichlet distributed, in coordinates without a
 * constraint.
 *
 * y_k is proportional to exp(l_k + offset_k). The reference has no coordinate, its l is 0; the n -
 * 1 others have theirs in the order of k. A beta distribution is a Dirichlet distribution of two
 * numbers, and the logistic map is this one with a reference of 1 - y.
 *
 *     const simplex s = {.n = 4, .reference = 3};            Dirichlet(1,1,1,1)
 *     value = simplex_log_density(&s, l);
 *     simplex_add_gradient(dl, &s, l); */
#ifndef SUBST_SIMPLEX_H
#define SUBST_SIMPLEX_H

#include "base/rng.h"

typedef struct simplex {
    int n;
    int reference;
    const double *shape;  /* [n] parameters of the Dirichlet distribution; NULL for 1 each */
    const double *offset; /* [n]; NULL for 0 each */
} simplex;

/* log_y [n] at l [n-1]. */
void simplex_place(double *log_y, const simplex *s, const double *l);

/* The log density in l: that of y and the Jacobian. */
double simplex_log_density(const simplex *s, const double *l);

/* dl [n-1] += its gradient. */
void simplex_add_gradient(double *dl, const simplex *s, const double *l);

/* Draws l [n-1]. */
void simplex_draw(double *l, const simplex *s, rng *stream);

#endif
