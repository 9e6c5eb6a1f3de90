/* methods.h: a paragraph about an inference for the methods section of a publication, with the
 * references that it cites. */
#ifndef JOBS_METHODS_H
#define JOBS_METHODS_H

#include "base/buffer.h"
#include "results/evaluation.h"
#include "results/model_table.h"
#include "seq/alignment.h"
#include "subst/free_model.h"
#include "tree/rooting.h"

typedef enum methods_way { METHODS_TABLE, METHODS_CHAINS, METHODS_JOINT, METHODS_VBPI } methods_way;

/* All borrowed. */
typedef struct methods_facts {
    const alignment *alignment;
    const char *model;      /* the substitution model as text (subst/model_string.h) */
    const char *prior;      /* of the branch lengths, as text (subst/branch_prior_string.h) */
    const free_model *free; /* [n_models] parameters that are estimated, with their priors */
    int n_models;
    const model_table *models; /* that were averaged over; NULL: one model */
    methods_way way;
    uint64_t seed;
    const evaluation *evaluation;
    const rooting *rooting; /* NULL: unrooted */
} methods_facts;

/* Adds the paragraph, in one line, an empty line, and one line for every reference. */
void methods_write(buffer *out, const methods_facts *f);

#endif
