/* beagle_tree.h: the likelihood of a tree and the gradient of its branch lengths by BEAGLE, as
 * an oracle for tests and a rival for timings.
 *
 * BEAGLE 3 computes partial likelihoods towards a root and derivatives at one edge. All
 * derivatives in linear time are had from it by also computing, with the same operation, the
 * partial likelihoods of everything that is not below an edge, and then asking at every edge. */
#ifndef BENCH_BEAGLE_TREE_H
#define BENCH_BEAGLE_TREE_H

#include "subst/subst_model.h"
#include "seq/alignment.h"

#include <libhmsbeagle/beagle.h>

typedef struct beagle_tree beagle_tree;

/* One CPU core, double precision, without scaling (enough for some hundred taxa), the widest
 * vectors that BEAGLE has. taxon[i] is the row of taxon i, NULL for the alignment's own order.
 * Returns 0, or BEAGLE's negative error. */
int beagle_tree_create(beagle_tree **out, const alignment *a, const int *taxon,
                       const subst_model *m);
void beagle_tree_free(beagle_tree *b); /* NULL is fine */

/* As likelihood_batch for one tree; gradient may be NULL. */
int beagle_tree_evaluate(beagle_tree *b, double *value, double *gradient, const int32_t *decision,
                         const double *length);

/* BEAGLE's name for what it computes with, for example "CPU-4State-SSE-Double". */
const char *beagle_tree_implementation(const beagle_tree *b);

#endif
