/* model_list.h: several substitution models as one text: model strings (model_string.h) separated
 * by
 * ',' outside braces. "auto" stands for JC, K80, F81, HKY, SYM and GTR, each without rates among
 * sites, with +I, with +G4 and with +I+G4.
 *
 *     free_model *model;
 *     int n;
 *     status = model_list_parse(&model, &n, "HKY+G4,GTR+G4", priors, &alignment, &diag);
 *     free(model);
 */
#ifndef SUBST_MODEL_LIST_H
#define SUBST_MODEL_LIST_H

#include "subst/free_model.h"

enum { MODEL_LIST_MOST = 200 };

extern const char MODEL_LIST_AUTO[]; /* "auto" */

/* *model [*n] is to be freed. priors as for free_model_read; each is of a parameter that at least
 * one of the models estimates, and counts for those that do. ART_ERR_INPUT or ART_ERR_USAGE with a
 * message for an empty part, a model given twice, or one that is none; *model is then NULL. */
int model_list_parse(free_model **model, int *n, const char *text, const char *priors,
                     const alignment *a, diag *d);

/* free_model_prior_text of all models [n], each text once. */
int model_list_prior_text(char *out, size_t size, const free_model *model, int n, int i);

#endif
