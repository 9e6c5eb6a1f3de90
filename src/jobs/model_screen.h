/* model_screen.h: a quick comparison of substitution models by the evidence of one tree.
 *
 * The tree is a good one under the model with the most parameters (collapsed/parameter_stage.h).
 * For every model its branch lengths and the parameters are then integrated out by importance
 * sampling from the joint mode (branch/topology_evidence.h). Other trees contribute to the evidence
 * too, in much the same way for models that fit about as well: the differences between models of
 * what one tree contributes are close to those of their evidences, and far off only where models
 * prefer other trees, which those that are far from the best may.
 *
 *     model_screen *s;
 *     status = model_screen_create(&s, &data, model, n, &settings);
 *     while (!s->is_done)
 *         status = model_screen_advance(s, &stop);         looks for the tree, or judges a model
 *     s->value[i] ..
 *     model_screen_free(s);
 *
 * The result depends on the arguments alone, unless stop was due: models that were not reached then
 * have no value. */
#ifndef JOBS_MODEL_SCREEN_H
#define JOBS_MODEL_SCREEN_H

#include "collapsed/parameter_stage.h"
#include "jobs/infer_job.h"

typedef struct model_screen {
    const dataset *data;     /* borrowed, as are the models */
    const free_model *model; /* [n_models] */
    int n_models;
    branch_prior prior;
    search_settings search;
    uint64_t seed;
    int richest;              /* number of the model with the most parameters */
    branch_posterior problem; /* under it */
    parameter_stage *stage;   /* NULL if that has none, and once the tree is known */
    int32_t *decision;        /* [N-3] the tree */
    double *length;           /* [E] with its lengths under the richest model */
    bool has_tree;
    int next;      /* model to be judged */
    double *value; /* [n_models] log of what the tree contributes to the evidence; -inf where no
                      mode was found or none was looked for */
    bool is_done;
} model_screen;

int model_screen_create(model_screen **out, const dataset *data, const free_model *model,
                        int n_models, const infer_settings *settings);
void model_screen_free(model_screen *s); /* NULL is fine */

int model_screen_advance(model_screen *s, const interrupt *stop);

/* Everything as fields of a saved state, except for work on a tree that is not known yet. */
int model_screen_fields(model_screen *s, saved_state *state);

#endif
