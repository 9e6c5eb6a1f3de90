/* parsimony_job.h: maximum parsimony by annealed inference: q is fitted to exp(-score) / Z over all
 * trees. Used as infer_job.h. */
#ifndef JOBS_PARSIMONY_JOB_H
#define JOBS_PARSIMONY_JOB_H

#include "jobs/job_parts.h"
#include "jobs/dataset.h"
#include "pars/parsimony.h"
#include "results/evaluation.h"
#include "train/objective.h"
#include "train/run.h"
#include "train/trainer.h"

typedef struct parsimony_settings {
    uint64_t seed;
    parsimony_gap gap;
    topology_config trees; /* the model of topologies */
    train_settings training;
    int particles;
    estimator estimator;
    int64_t report_every; /* steps */
    evaluation_settings evaluation;
} parsimony_settings;

typedef struct parsimony_job parsimony_job;

/* data and threads are borrowed until the job is freed. */
int parsimony_job_create(parsimony_job **out, const dataset *data,
                         const parsimony_settings *settings, pool *threads);
void parsimony_job_free(parsimony_job *j); /* NULL is fine */

run *parsimony_job_run(parsimony_job *j);

typedef struct parsimony_result {
    evaluation evaluation; /* of q: log of the sum of exp(-score), draws with their scores */
    int64_t best_score;
    const int32_t *
        decision; /* [best_trees][N-3] all distinct trees found with that score; owned by the job */
    int best_trees;
    bool is_full; /* the maximum number of trees is kept; there may be more */
} parsimony_result;

void parsimony_result_free(parsimony_result *r); /* safe on a zeroed one */

/* Once the run is done. *out is safe to free in any case. */
int parsimony_job_finish(parsimony_job *j, parsimony_result *out);

extern const char *const PARSIMONY_SUFFIXES[]; /* other than <prefix>.json; NULL at the end */

/* Writes the trained model (with the given settings, a JSON text), the best trees and the scores of
 * the draws. */
int parsimony_job_write(parsimony_job *j, const parsimony_result *found, const char *settings,
                        const char *prefix, diag *d);

/* The results for <prefix>.json; a new object, NULL if memory is short. */
json_t *parsimony_job_results(const parsimony_job *j, const parsimony_result *found);

/* The model is handed over to the caller; nothing can be written afterwards. */
topology_model *parsimony_job_take_model(parsimony_job *j);

#endif
