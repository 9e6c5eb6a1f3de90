/* chain_splits.h: probabilities of splits, with their errors, from the two samples of
 * chain_answer.h and the trees that were evaluated.
 *
 * Of the pooled sample, with I = 1 for a tree that has the split and 0 for others,
 *
 *     P = t mean over draws of v I + s mean over states of v I,    v = 1 / (s + t / w~), w~ = w /
 * Z.
 *
 * As s v + t B = 1 with B = 1 / (s w~ + t), and Z makes the mean of v over the draws that of B over
 * the states, this is for any c
 *
 *     P = mean over states of y + t mean over draws of v (I - c),    y = I - t B (I - c).
 *
 * With c the mean of I over the draws by their v, P does not depend on Z to first order, so that
 * the variances of the two means are that of P. That of y is by the effective number of states or
 * by the differences between chains, whichever is larger.
 *
 * Those are the states that the density q was not fitted to. The early ones, to which it was, are
 * states as well: P + part (mean of I over early states - mean of I over the others) has the same
 * expectation for any part. The least variance is that of part = rho n_E / (n_E + n_F), n_E and n_F
 * the numbers of both and rho the slope of y by I, which is about s times the mean of v over the
 * states, the same for all splits: 1 where draws count for nothing, and 0 where states do.
 *
 * The correction by the trees that were evaluated is C = sum of b I, with b in proportion to
 * u / mean u - 1. Where few trees were evaluated its variance V is large, mostly by chance, while
 * true corrections are much alike for all splits: of the size a^2 P (1 - P), with a^2 by the excess
 * of C^2 over V, summed over the splits. So C counts in part, a^2 P (1 - P) / (a^2 P (1 - P) + V),
 * and that part of V is its variance: the mean and the variance of a normal variable that is known
 * to be of this size and was seen with the error V. If all trees were evaluated, the weights v u in
 * place of v would still make the variance larger: by that of u between trees. */
#ifndef COLLAPSED_CHAIN_SPLITS_H
#define COLLAPSED_CHAIN_SPLITS_H

#include "collapsed/chain_answer.h"

/* The same where the states of chains are all there is, of which a quarter is left out: P is their
 * mean. ess is their effective number. */
int chain_splits_of_states(split_table *out, const chain_states *x, double ess);

/* out becomes the splits of all trees of both samples, with frequencies and errors; what it knows
 * of branch lengths stays. correction [a->next] is b of every tree that was evaluated; ess the
 * effective number of the states that are used; `stays` the variance of the mean of u that would
 * stay if all trees were evaluated. */
int chain_splits_estimate(split_table *out, const chain_answer *a, const double *correction,
                          double ess, double stays);

#endif
