/* blend.h: better estimates of the evidence g of the most probable trees in a table.
 *
 * Sampling (branch/topology_evidence.h) is unbiased but noisy; Laplace's approximations are not
 * noisy, and their error is nearly the same for all trees of a data set. With a_i an
 * approximation, m_i the sampled value, d_i = m_i - a_i, their mean offset c over the posterior
 * and the variance v of the true d_i about c (the variance of the d_i less that of the sampling,
 * and less some standard errors of the difference, for few draws say little about it; no tree
 * counts as farther off than some errors; and v has a least value: blend_settings),
 *
 *     g_i = a_i + c + (d_i - c) v / (v + s_i^2)
 *
 * where s_i is the standard error of the sampling: sampling decides where it is more accurate
 * than the scatter of the approximation, and otherwise only the offset comes from it. c and v
 * are found twice: for the full approximation, over the trees that have it, and for the
 * diagonal one, over trees with draws, each for as many trees without draws as it stands for.
 * The trees without draws get laplace + c. All of it is derived in docs/blend.md. */
#ifndef COLLAPSED_BLEND_H
#define COLLAPSED_BLEND_H

#include "collapsed/settings.h"
#include "collapsed/tree_table.h"
#include "branch/evidence_batch.h"

/* The data of one tree of the table other than its laplace. */
typedef struct tree_estimate {
    size_t tree;
    double full;       /* full Laplace approximation; NaN if it was not computed */
    double laplace;    /* the diagonal one, as trees without draws have it */
    double stands_for; /* trees like this one that have no draws: (1 - w) / w if it was drawn with
                          probability w */
    log_mean draws;    /* at least one */
} tree_estimate;

/* Offset and scatter of one approximation. */
typedef struct approximation {
    double offset;       /* c */
    double offset_error; /* its standard error */
    double scatter;      /* the square root of v */
    double error;    /* the same without the correction for few draws: for trees without draws */
    double variance; /* of one draw's weight over its mean squared */
} approximation;

typedef struct table_improvement {
    size_t trees; /* that have draws */
    double share; /* of the table's weight, before */
    approximation full, diagonal;
    double ess;     /* mean effective sample size per draw */
    int64_t failed; /* trees for which no mode was found, left unchanged */
} table_improvement;

/* Sets g and error of the given trees, and the table's offset for the others. All earlier g are
 * forgotten. The estimates are of different trees, n >= 1. Fills the approximations of out. */
int table_blend(table_improvement *out, tree_table *t, const tree_estimate *estimate, size_t n,
                const blend_settings *set);

/* Blends for the best trees, by laplace, until they hold set->share of the weight, at most
 * set->most of them; set->draws >= 2 for each, from streams of (seed, RNG_TREE_LENGTHS, step,
 * place). Also replaces their lengths and laplace by a fresh fit. The same on any number of
 * threads. Allocates for set->most trees at most. Where stop (may be NULL) is due, the best trees
 * alone that are done by then are blended, two at least. */
int table_improve(table_improvement *out, tree_table *t, evidence_batch *team,
                  const blend_settings *set, uint64_t seed, uint32_t step, const interrupt *stop);

#endif
