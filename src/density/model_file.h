/* model_file.h: trained models as files, `<prefix>.model.safetensors`.
 *
 * Tensors: the weights of the tree model under `tree.`, those of the branch model, if there is one,
 * under `branch.`, and the moving average of the tree model's weights, if one was kept, under
 * `ema.tree.`. Models whose tables follow from trees have these there too, under `tree.`: the
 * clades, root splits, parents and pairs of an "sbn" with their probabilities (density/sbn), the
 * clades and splits of "ccd0", "ccd1" and "ccd2" with their weights (density/clade), the trees of
 * the sample with their counts of "artreeformer-counts" and "artree-counts" (density/counted), and
 * the tables of an "sbn" too if their `tables` is above 0.
 * Metadata (all
 * strings):
 *
 *     format              "pt", as tools that load such files into torch expect
 *     version             of the program that wrote the file
 *     kind                of the tree model; if it is absent, `model`, as in files of the published
 *                         ARTree; if that is absent too, the first of the table
 *     taxa                the names in the order of the model, a JSON list
 *     n_taxa
 *     branch_kind         of the branch model; if it is absent, the one that belongs to the tree
 *                         model (density/factory.h)
 *     ...                 the configurations of the two, by their keys: hidden_dim and n_head of
 *                         "artreeformer", branch_hidden_dim of "lognormal" (density/factory.h)
 *     substitution_model  the model string of the run; absent for models without branch lengths
 *     settings            the settings of the run, a JSON object; may be absent
 *
 *     model_file m;
 *     status = model_file_read(&m, path, MODEL_AVERAGE, team, d);
 *     status = topology_model_score(m.trees, ...);
 *     model_file_free(&m); */
#ifndef DENSITY_MODEL_FILE_H
#define DENSITY_MODEL_FILE_H

#include "base/diag.h"
#include "density/factory.h"
#include "subst/branch_prior.h"
#include "tree/taxa.h"

#include <stdbool.h>

/* The contents of a file; all borrowed. */
typedef struct model_contents {
    const taxa *taxa;
    const topology_model *trees;
    const real *average;          /* [trees->params.total] or NULL */
    const branch_model *branches; /* NULL if there is none */
    const char *substitution;     /* NULL if there is none */
    const char *settings;         /* JSON; NULL if there are none */
} model_contents;

/* Writes the file, completely or not at all. */
int model_file_write(const char *path, const model_contents *c, diag *d);

/* Which weights of the tree model to use: the moving average if there is one (it is the better
 * density), or those of the last step. */
typedef enum model_weights { MODEL_AVERAGE, MODEL_LAST } model_weights;

/* A model that was read; everything is owned. */
typedef struct model_file {
    taxa taxa;
    topology_model *trees;
    branch_model *branches; /* NULL if there is none */
    bool averaged;          /* the weights of the tree model are the moving average */
    char *version;          /* NULL if the file does not state it */
    char *substitution;
    char *settings;
} model_file;

/* Builds the models of a file and loads their weights, strictly: every tensor must be present with
 * the right shape, and there must be no others. Messages name the file and the field. *m is always
 * set, and empty on failure. team is borrowed and may be NULL. */
int model_file_read(model_file *m, const char *path, model_weights which, pool *team, diag *d);

/* The same with the caller's tables of kinds in place of TOPOLOGY_KINDS and BRANCH_KINDS. */
typedef struct model_kinds {
    const topology_kind *trees; /* ends with a row without a name, as branches */
    const branch_kind *branches;
} model_kinds;

int model_file_read_kinds(model_file *m, const char *path, model_weights which,
                          const model_kinds *kinds, pool *team, diag *d);
void model_file_free(model_file *m); /* safe on a zeroed or freed one */

/* The prior of branch lengths that the model was trained with: "branch_prior" of its settings, or
 * the rate "prior_rate" of an exponential one; the default if they state neither. ART_ERR_INPUT if
 * it cannot be read. */
#define MODEL_PRIOR_RATE 10.0
int model_file_prior(branch_prior *out, const model_file *m, diag *d);

#endif
