/* parameters.h: the posterior of the tree length and of the free parameters of the substitution
 * model, as a table, as JSON, and as files of MrBayes' kind.
 *
 *     parameter_row *row;
 *     status = parameter_rows(&row, &posterior);           posterior.n_columns of them
 *     free(row);
 *
 * Means and standard deviations are those of all weighted draws, medians and intervals those of the
 * sample. Those are NaN where the weight is on few draws, as in a run that was cut short, and for a
 * parameter that only some of the averaged models have, and few rows. */
#ifndef RESULTS_PARAMETERS_H
#define RESULTS_PARAMETERS_H

#include "base/buffer.h"
#include "base/diag.h"
#include "results/posterior.h"

#include <jansson.h>

typedef struct parameter_row {
    char name[PARAMETER_NAME_SIZE]; /* as MrBayes' .p files have it: TL, kappa, pi(A), .. */
    double mean;
    double error;     /* Monte Carlo standard error of the mean; NaN if it is not known */
    double deviation; /* standard deviation of the posterior */
    double median;
    double low, high; /* 95 % highest posterior density interval */
    double ess;       /* deviation^2 / error^2; without an error the draws that carry the weight */
    double share;     /* posterior_column_share: all this is given the models that have it */
} parameter_row;

/* p is finished. *out [p->n_columns] is the caller's; NULL if there are no columns or memory is
 * short (ART_ERR_NOMEM). */
int parameter_rows(parameter_row **out, const posterior *p);

/* An object for <prefix>.json, by name; a new one, NULL if memory is short. */
json_t *parameters_json(const posterior *p);

/* <prefix>.p and <prefix>.t: the sample as MrBayes writes it, for Tracer and for its own sump and
 * sumt (with nruns=1). */
extern const char *const PARAMETER_SUFFIXES[]; /* the suffixes, NULL at the end */
int parameters_write(const char *prefix, const posterior *p, diag *d);

#endif
