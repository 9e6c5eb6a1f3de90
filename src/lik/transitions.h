/* transitions.h: the transition probabilities along a branch, in all rate categories of a model, in
 * the form that both pruning engines (likelihood.h and partials.h) read: per category two numbers
 * under JC, otherwise a matrix of 16 (vec4.h).
 *
 *     double *transition = ..;                          [transitions_size(m)] per branch
 *     transitions_fill(transition, m, length);
 *
 * A length is in expected substitutions per site; in category c it is multiplied by r_c. */
#ifndef LIK_TRANSITIONS_H
#define LIK_TRANSITIONS_H

#include "subst/subst_model.h"

#include <stddef.h>

/* Numbers of a branch's transitions in all categories. */
size_t transitions_size(const subst_model *m);

/* out [transitions_size]: exp(Q r_c b) for every category c, b >= 0. */
void transitions_fill(double *out, const subst_model *m, double b);

/* out [transitions_size]: their derivatives with respect to b. */
void transitions_derivative(double *out, const subst_model *m, double b);

/* The number of different mu = lambda_j r_c: 1 per category under JC, otherwise 3. */
int transitions_rates(const subst_model *m);

/* The factors of partial_growth (partials.h) at length b, [transitions_rates] each:
 * value = exp(mu b) - 1, first = mu exp(mu b), second = mu^2 exp(mu b). */
void transitions_growth(double *value, double *first, double *second, const subst_model *m,
                        double b);

#endif
