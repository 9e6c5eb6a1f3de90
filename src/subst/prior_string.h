/* prior_string.h: priors of the parameters of substitution models (free_model.h) as text:
 *
 *     kappa=beta(1,1)                      of kappa / (1 + kappa); K80, HKY
 *     rates=dirichlet(1,1,1,1,1,1)         exchange rates AC, AG, AT, CG, CT, GT
 *     frequencies=dirichlet(1,1,1,1)       A, C, G, T
 *     alpha=exponential(1)                 the rate of the distribution
 *     pinvar=uniform(0,1)                  between these
 *
 * Several are separated by ',' or ';'. Those above are the defaults. dirichlet with one number has
 * all its parameters equal to it. Names are matched without regard to case, blanks are allowed
 * between the parts. Everything else is an error.
 *
 *     status = free_model_read(&f, "GTR+G4", "alpha=exponential(2)", &alignment, &diag);
 *
 * A further prior is one more row of the table in prior_string.c. */
#ifndef SUBST_PRIOR_STRING_H
#define SUBST_PRIOR_STRING_H

#include "subst/free_model.h"

/* For the help of a program. */
#define PRIOR_STRING_EXAMPLES                                                         \
    "kappa=beta(2,1),alpha=exponential(2); others are rates=dirichlet(1,1,1,1,1,1), " \
    "frequencies=dirichlet(1,1,1,1) and pinvar=uniform(0,1)"

/* Changes those priors that the text states; sets bit i of *given for row i of the table.
 * ART_ERR_INPUT with a message that points into the text (as file, line 1, column). */
int prior_string_parse(model_priors *p, unsigned *given, const char *text, diag *d);

/* ART_ERR_INPUT if a prior was given for something that the model does not estimate. */
int prior_string_match(const free_model *f, unsigned given, diag *d);

/* The name of the prior with this bit of *given. */
const char *prior_string_name(unsigned bit);

/* The priors of what any of these models [n] of one list estimates, one at a time in the order
 * above: *name and, in out, the distribution of number i, "kappa" and "beta(1,1)". Returns 1, or 0
 * if there is none. */
enum { PRIOR_TEXT_SIZE = 256 };
int prior_string_print(const char **name, char out[PRIOR_TEXT_SIZE], const free_model *model, int n,
                       int i);

/* free_model_parse with the priors of a text, NULL for the defaults; every prior must be of a free
 * parameter. */
int free_model_read(free_model *f, const char *text, const char *priors, const alignment *a,
                    diag *d);

#endif
