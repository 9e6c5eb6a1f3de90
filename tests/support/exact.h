/* exact.h: small cases in which everything can be enumerated and integrated exactly.
 *
 * Topologies of N = 3..8 taxa are numbered 0 .. (2N-5)!! - 1 by their decisions, the last
 * decision running fastest. Under JC with Exp(rate) branches a branch length b becomes
 * x = exp(-4b/3), with density a x^(a-1) on (0, 1), a = 3 rate / 4, and a site's likelihood is
 * linear in the x of each branch. With M sites the integrand is then a polynomial of degree M
 * in each x, and Gauss-Jacobi quadrature with ceil((M+1)/2) nodes per branch is exact.
 *
 *     small_alignment data;
 *     small_alignment_init(&data, 4, (const char *[]){"AAG", "AAG", "CAT", "CCT"});
 *     double posterior[3], log_evidence = exact_posterior(posterior, &data.a, 10);
 *
 * Whatever goes wrong fails the running test. */
#ifndef TESTS_EXACT_H
#define TESTS_EXACT_H

#include "pars/parsimony.h"
#include "seq/alignment.h"

#include <stdint.h>

enum { EXACT_TAXA = 8, EXACT_SITES = 24, EXACT_NODES = EXACT_SITES / 2 + 1 };

/* An alignment that owns its arrays; it points into itself, so it is not copied. */
typedef struct small_alignment {
    alignment a;
    char *name[EXACT_TAXA];
    char name_text[EXACT_TAXA][4]; /* t0, t1, .. */
    uint8_t state[EXACT_TAXA * EXACT_SITES];
    uint32_t weight[EXACT_SITES];
    uint32_t site_pattern[EXACT_SITES];
} small_alignment;

/* row[i] is the sequence of taxon i in the letters A C G T, R (A or G), N and '-'. */
void small_alignment_init(small_alignment *s, int n_taxa, const char *const *row);

/* (2N-5)!!, and the topology of a number and back. */
int exact_trees(int n_taxa);
void exact_tree(int32_t *decision, int index, int n_taxa);
int exact_index(const int32_t *decision, int n_taxa);

/* Nodes in (0, 1) and weights (their sum 1) with sum_i weight_i node_i^k = a / (a + k) for
 * k = 0 .. 2n-1. By Golub and Welsch: nodes are the eigenvalues of the three-term recurrence. */
void exact_quadrature(double *node, double *weight, int n, double a);

/* log p(data) and posterior [exact_trees] under JC, uniform topologies and Exp(rate) branches;
 * gaps are missing. Cost about n^(2N-4) P flops per tree, n nodes, P patterns: about half a
 * second for N = 6 and 7 sites. */
double exact_posterior(double *posterior, const alignment *a, double rate);

/* Returns log Z and writes probability [exact_trees] = exp(-score) / Z. */
double exact_parsimony(double *probability, const alignment *a, parsimony_gap gap);

#endif
