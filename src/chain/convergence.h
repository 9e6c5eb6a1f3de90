/* convergence.h: whether chains have converged: effective sample sizes, R-hat, and the agreement of
 * independent chains about splits.
 *
 * Nothing here knows how the chains were made: states are numbers, or topologies as decisions
 * (tree/topology.h). Warm-up is left out by the caller. */
#ifndef CHAIN_CONVERGENCE_H
#define CHAIN_CONVERGENCE_H

#include <stddef.h>
#include <stdint.h>

/* The effective sample size of x[n]: n / tau with the autocorrelation time
 *
 *     tau = -1 + 2 sum over k of (r_2k + r_2k+1)
 *
 * of the autocorrelations r, the sum over pairs as long as they are positive, and none counted as
 * larger than the one before (the initial monotone sequence of Geyer 1992). At most n. NaN if it is
 * not defined: the series is constant, has fewer than 4 values, or one that is not finite.
 *
 * O(n) for every lag, of which there are about tau, and at most SERIES_LAGS. A series that is
 * correlated for longer is averaged over batches, whose autocorrelations then give the variance of
 * its mean: O(n SERIES_LAGS) in the worst case. Allocates nothing. */
enum { SERIES_LAGS = 1024 };
double series_ess(const double *x, size_t n);

/* Split R-hat of x[n_chains][n] (Gelman et al. 2013, section 11.4): every chain is divided into two
 * halves of h = n / 2 values (of an odd number the one in the middle is left out), and
 *
 *     R = sqrt(((h - 1) / h W + B / h) / W)
 *
 * with the mean W of the variances within halves and B = h times the variance of their means. One
 * chain is enough. 1 if all values are equal; infinity if every half is constant, but not all have
 * the same value; NaN for less than 4 values in a chain or one that is not finite. */
double series_r_hat(const double *x, size_t n_chains, size_t n);

/* The topologies that a chain has visited. */
typedef struct chain_trees {
    const int32_t *decision; /* [count][N-3] */
    size_t count;
} chain_trees;

/* How far chains agree about the frequencies of nontrivial splits. NaN where there is nothing to
 * compare. */
typedef struct split_agreement {
    size_t splits; /* compared: those with a frequency of 0.1 or more in at least one chain */
    double average_deviation; /* ASDSF: mean over these splits of the standard deviation between
                                 chains (divisor: chains - 1), as in MrBayes */
    double largest_deviation;
    double largest_difference; /* of the frequencies of a split in two chains */
    size_t uncertain;          /* splits with a mean frequency from 0.1 to 0.9 */
    double least_ess; /* over these, of the series "has the split": the sum over chains. A chain in
                         which the split is always or never there counts as one draw */
    double between_ess; /* effective number of trees of all chains together by what chains differ
                           in: chains times the sum of P (1 - P) over that of the variances between
                           chains, over the uncertain splits. It sees chains that stay apart, which
                           their own series do not show */
} split_agreement;

/* Compares n_chains >= 1 chains with one tree or more each (ART_ERR_USAGE otherwise); of a single
 * chain only least_ess and uncertain are known. A split is recognised by a hash of 128 bits: a
 * confusion among 10^9 splits has a probability below 10^-20. O(N) per tree and pass; two passes
 * and one for every 64 MB of series, of which a state of an uncertain split takes a bit. The splits
 * of one chain are in memory at a time, with about 40 bytes each. */
int split_agreement_of(split_agreement *out, const chain_trees *chain, size_t n_chains,
                       int32_t n_taxa);

#endif
