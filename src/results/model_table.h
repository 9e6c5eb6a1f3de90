/* model_table.h: the substitution models that were compared by their evidence, most probable first:
 * as <prefix>.models.tsv, as JSON, and in the report as text and HTML.
 *
 *     model_table t = {.row = row, .count = n, .left_out = 0.002};
 *     status = model_table_write(prefix, &t, d);
 *
 * All models have the same prior probability. Those that were not run have no probability; all of
 * them together have at most left_out. */
#ifndef RESULTS_MODEL_TABLE_H
#define RESULTS_MODEL_TABLE_H

#include "base/buffer.h"
#include "base/diag.h"

#include <jansson.h>
#include <stdbool.h>

typedef enum model_status {
    MODEL_RUN,         /* its evidence is that of a whole run */
    MODEL_SCREENED,    /* judged by one tree, and not run */
    MODEL_NOT_REACHED, /* the time limit came first */
} model_status;

typedef struct model_row {
    const char *name; /* borrowed */
    int n_parameters; /* estimated, besides the branch lengths */
    double screened;  /* log of the part of the evidence that one tree, the same for all models,
                         contributes; NaN if there is none */
    double log_evidence;
    double log_evidence_se; /* NaN if it is not known */
    double probability;
    double probability_se; /* from the errors of the evidences */
    model_status status;
    bool converged; /* the verdict on its run */
} model_row;

typedef struct model_table {
    const model_row *row; /* [count]; borrowed */
    int count;
    double left_out; /* bound on the probability of the models that were not run */
} model_table;

extern const char MODEL_TABLE_SUFFIX[]; /* ".models.tsv" */
int model_table_write(const char *prefix, const model_table *t, diag *d);

/* An array of objects with the names of the columns; a new one, NULL if memory is short. */
json_t *model_table_json(const model_table *t);

/* Sections of the report. */
void model_table_text(buffer *out, const model_table *t);
void model_table_html(buffer *out, const model_table *t);

#endif
