/* infer_job.h: Bayesian inference from an alignment, by either method: creates the models, the run
 * that trains them or explores topologies (train/run.h), and the result.
 *
 *     infer_job *j;
 *     status = infer_job_create(&j, &data, &model, &settings, threads);
 *     status = drive_run(&d, infer_job_run(j), &observer, diag);
 *     status = infer_job_finish(j, &found);
 *     status = infer_job_write(j, &found, &description, prefix, diag);
 *     infer_result_free(&found);
 *     infer_job_free(j); */
#ifndef JOBS_INFER_JOB_H
#define JOBS_INFER_JOB_H

#include "base/buffer.h"
#include "collapsed/driver.h"
#include "jobs/job_parts.h"
#include "jobs/dataset.h"
#include "results/evaluation.h"
#include "results/model_table.h"
#include "subst/free_model.h"
#include "train/objective.h"
#include "train/trainer.h"
#include "tree/rooting.h"
#include "tree/tree_set.h"

typedef enum infer_method { INFER_COLLAPSED, INFER_VBPI } infer_method;

typedef struct infer_settings {
    infer_method method;
    uint64_t seed;
    branch_prior prior;     /* of the branch lengths */
    topology_config trees;  /* the model of topologies */
    branch_config branches; /* and of branch lengths */
    /* Collapsed. */
    collapsed_settings collapsed;
    /* VBPI. */
    train_settings training;
    int particles;
    estimator estimator;
    int64_t report_every; /* steps */
    evaluation_settings evaluation;
    const tree_set *support; /* of a model with tables: the trees that they come from, on the taxa
                                of the data; not needed after infer_job_create. NULL: found by a
                                search (support_search.h) */
} infer_settings;

typedef struct infer_job infer_job;

/* data and threads are borrowed until the job is freed; the model is copied. INFER_VBPI needs a
 * model without free parameters: otherwise ART_ERR_USAGE. A model of topologies with tables needs
 * INFER_VBPI, and gradients: otherwise ART_ERR_UNSUPPORTED. */
int infer_job_create(infer_job **out, const dataset *data, const free_model *model,
                     const infer_settings *settings, pool *threads);
void infer_job_free(infer_job *j); /* NULL is fine */

run *infer_job_run(infer_job *j);

typedef struct infer_result {
    evaluation evaluation;
    json_t *facts; /* further results of the method; owned */
} infer_result;

void infer_result_free(infer_result *r); /* safe on a zeroed one */

/* Once the run is done. *out is safe to free in any case. */
int infer_job_finish(infer_job *j, infer_result *out);

/* The description of the run in the files. All borrowed. */
typedef struct infer_description {
    const char *alignment;  /* the name of its file */
    const char *model;      /* the substitution model as text */
    const char *settings;   /* a JSON object, for the model file; NULL: the prior alone */
    const rooting *rooting; /* of the trees in the files; NULL: unrooted */
} infer_description;

/* What the files of a result depend on besides the result. All borrowed. */
typedef struct infer_context {
    const dataset *data;
    const infer_settings *settings;
    const free_model *model; /* [n_models] that were considered */
    int n_models;
    const model_table *models; /* that were compared; NULL if there was one model only */
} infer_context;

/* Writes all files but the trained model, or adds the text of the report to out, or makes the
 * results for <prefix>.json (a new object, NULL if memory is short); those of a job below are
 * these. */
int infer_result_write(const infer_result *found, const infer_context *of,
                       const infer_description *about, const char *prefix, diag *d);
int infer_result_report(buffer *out, const infer_result *found, const infer_context *of,
                        const infer_description *about);
json_t *infer_result_json(const infer_result *found, const infer_context *of, const char *model);

/* Removes the model file of earlier results with this prefix, if there is one. */
int infer_remove_model(const char *prefix);

/* The suffixes of the files other than <prefix>.json; NULL at the end. */
extern const char *const INFER_SUFFIXES[];

/* Writes them all: the trained model if there is one, the posterior sample, the summary, the
 * report. */
int infer_job_write(infer_job *j, const infer_result *found, const infer_description *about,
                    const char *prefix, diag *d);

/* The text of the report is added to out. */
int infer_job_report(buffer *out, const infer_job *j, const infer_result *found,
                     const infer_description *about);

/* The results for <prefix>.json; a new object, NULL if memory is short. */
json_t *infer_job_results(const infer_job *j, const infer_result *found, const char *model);

/* Whether there is a trained model. Inference by chains over topologies trains none; the model file
 * is then not written. Known once the run is done. */
bool infer_job_has_model(const infer_job *j);

/* The trained models are handed over to the caller; nothing can be written afterwards. */
void infer_job_take_models(infer_job *j, topology_model **trees, branch_model **branches);

#endif
