/* pattern_symmetry.h: merges patterns for models that do not distinguish some bases.
 *
 * If a permutation of the bases leaves a model unchanged (under JC any permutation, under K80 those
 * that map transitions to transitions), patterns that differ by the permutation have the same
 * likelihood on every tree, and are merged into one pattern with the sum of the weights. */
#ifndef LIK_PATTERN_SYMMETRY_H
#define LIK_PATTERN_SYMMETRY_H

#include "lik/site_patterns.h"
#include "subst/subst_model.h"

enum { BASE_EXCHANGES = 24 };

/* exchange[k][i] is the image of base i; returns how many permutations leave m unchanged, 1 .. 24
 * including the identity. Numbers are compared exactly. */
int model_symmetries(int exchange[BASE_EXCHANGES][4], const subst_model *m);

/* Merges the patterns that m cannot distinguish; p has gaps as missing data. The patterns are then
 * in lexicographic order. O(24 * n_taxa * count). */
int site_patterns_fold(site_patterns *p, const subst_model *m);

#endif
