/* pattern_symmetry.h: fewer patterns for models that do not tell bases apart.
 *
 * If exchanging bases leaves a model as it is (under JC any exchange, under K80 those that
 * keep transitions transitions), patterns that differ by the exchange have the same likelihood
 * on every tree, and are one pattern with the sum of the weights. */
#ifndef LIK_PATTERN_SYMMETRY_H
#define LIK_PATTERN_SYMMETRY_H

#include "lik/site_patterns.h"
#include "subst/subst_model.h"

enum { BASE_EXCHANGES = 24 };

/* exchange[k][i] is what base i becomes; returns how many leave m as it is, 1 .. 24, the
 * identity among them. Numbers are compared exactly. */
int model_symmetries(int exchange[BASE_EXCHANGES][4], const subst_model *m);

/* Merges the patterns that m cannot tell apart; p has gaps as missing data. The patterns are
 * then in lexicographic order. O(24 * n_taxa * count). */
int site_patterns_fold(site_patterns *p, const subst_model *m);

#endif
