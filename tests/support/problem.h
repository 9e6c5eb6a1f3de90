/* problem.h: random alignments and trees to compute on. */
#ifndef TESTS_PROBLEM_H
#define TESTS_PROBLEM_H

#include "base/rng.h"
#include "subst/free_model.h"
#include "seq/alignment.h"

#include <stdint.h>

/* An alignment with n_trees trees on its taxa, in its own order. */
typedef struct problem {
    alignment alignment;
    int n_trees;
    int n_edges;
    int32_t *decision; /* [n_trees][N-3] */
    double *length;    /* [n_trees][2N-3] exponential, mean 0.1 */
} problem;

/* Columns of one prevailing base with deviations, and some gaps, unknowns and ambiguities;
 * weights 1 to 3. Equal columns are not merged. */
problem problem_random(int n_taxa, size_t n_patterns, int n_trees, uint32_t seed);
void problem_free(problem *p);

/* Decisions [N-3] of the tree with the greatest and the least depth. */
void caterpillar(int32_t *decision, int n_taxa);
void balanced(int32_t *decision, int n_taxa);

/* A model from its string; fails the test if it is none. */
subst_model model_of(const char *text, const alignment *a);

/* The same for a model with free parameters. */
free_model free_model_of(const char *text);

/* Models of every kind. */
enum { N_ALL_MODELS = 13 };
extern const char *const ALL_MODELS[N_ALL_MODELS];

#endif
