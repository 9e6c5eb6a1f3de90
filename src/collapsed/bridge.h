/* bridge.h: bridge sampling (Meng and Wong 1996): the sum Z of exp g over all trees from two
 * samples, independent draws of a density q and states of chains whose target is exp g.
 *
 * With w = exp(g) / q of a tree, s and t the shares of the effective number of states and of the
 * draws, Z solves
 *
 *     Z = mean over draws of w / (s w / Z + t)  /  mean over states of 1 / (s w / Z + t).
 *
 * Both means are of numbers that are bounded, by Z / s and by 1 / t: a draw with a very large
 * weight, or a tree that the density can hardly reach, does not decide. What counts is how far the
 * two samples overlap. In return the states must be a sample of the posterior, and must not be
 * those that q was fitted to.
 *
 * The same weights make of both samples together one sample of the posterior (Shirts and Chodera
 * 2008): bridge_weight. docs/collapsed.md derives it and the errors. */
#ifndef COLLAPSED_BRIDGE_H
#define COLLAPSED_BRIDGE_H

#include <stddef.h>

typedef struct bridge_estimate {
    double log_sum;     /* log Z */
    double error;       /* standard error of it: of both parts together .. */
    double draw_error;  /* .. of the draws .. */
    double state_error; /* .. and of the states: by their series within chains or by the differences
                           between chains, whichever is larger */
    double overlap;     /* sum over trees of p q / (s p + t q), p = exp(g) / Z: 1 if p and q are
                           equal, 0 if nothing is shared */
    double states;      /* effective number of states */
    double share;       /* s: of the states in both samples together */
} bridge_estimate;

/* Both samples together are a sample of the mixture s exp(g) / Z + t q. A tree with the given log w
 * has this many times the probability in the posterior that it has there: at most 1 / s. */
double bridge_weight(const bridge_estimate *b, double log_w);

/* log w of the draws [n_draws] (-inf is fine) and of the states [n_chains][n_states]. `planned` is
 * the number of draws that decides about the shares: n_draws, or more if a few of them are to tell
 * what the error of the states will be with many. Everything is NaN or infinite if a sample is too
 * small (fewer than 2 draws, 4 states). ART_ERR_NOMEM. */
int bridge_of(bridge_estimate *out, const double *draw, size_t n_draws, double planned,
              const double *state, size_t n_chains, size_t n_states);

#endif
