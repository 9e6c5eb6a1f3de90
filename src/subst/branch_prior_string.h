/* branch_prior_string.h: priors of branch lengths (branch_prior.h) as text, in MrBayes' words:
 *
 *     exponential(10), exp(10)      independent, with the given rate
 *     gammadir(1,0.1,1,1)           GammaDir(a_T, b_T, a, c), MrBayes' default
 *
 * Names are matched without regard to case, blanks are allowed between the parts, and
 * `unconstrained:` may come first, as MrBayes has it. Everything else is an error. */
#ifndef SUBST_BRANCH_PRIOR_STRING_H
#define SUBST_BRANCH_PRIOR_STRING_H

#include "base/diag.h"
#include "subst/branch_prior.h"

enum { BRANCH_PRIOR_STRING_SIZE = 128 }; /* large enough for any */

/* ART_ERR_INPUT with a message that points into the text (as file, line 1, column). */
int branch_prior_parse(branch_prior *prior, const char *text, diag *d);

/* Writes the prior in a canonical spelling to out[BRANCH_PRIOR_STRING_SIZE]. Parsing it gives the
 * same prior again, bit for bit. Returns out. */
char *branch_prior_print(char out[BRANCH_PRIOR_STRING_SIZE], branch_prior prior);

#endif
