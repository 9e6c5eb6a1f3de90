/* fit_job.h: a density of topologies fitted to a weighted sample of trees: creates the model, the
 * run that fits it (train/run.h) and the result. Models with tables are fitted by their own
 * iterations (table_run.h); others, and those that have gradients too, are trained.
 *
 * A network that is trained long enough learns its sample by heart, and gives hardly any
 * probability to other trees. How much they should have, the sample says itself: Good and Turing's
 * estimate, the share of trees that were sampled once (counted_unseen). With `stops`, training ends
 * once what the averaged weights give to trees outside of the sample has come down to it
 * (trainer_cool).
 *
 *     fit_job *j;
 *     status = fit_job_create(&j, &trees, &truth, &settings, threads);
 *     status = drive_run(&d, fit_job_run(j), &observer, diag);
 *     status = fit_job_finish(j, &found);
 *     status = fit_job_write(j, settings as JSON, prefix, diag);
 *     fit_job_free(j); */
#ifndef JOBS_FIT_JOB_H
#define JOBS_FIT_JOB_H

#include "jobs/job_parts.h"
#include "train/density_task.h"
#include "train/divergence.h"
#include "train/run.h"
#include "train/trainer.h"
#include "tree/tree_set.h"

typedef struct fit_settings {
    uint64_t seed;
    topology_config trees;   /* the model of topologies */
    train_settings training; /* the rest is for models that are trained */
    int batch;               /* trees of a step */
    batch_picks picks;
    bool counts;          /* a network is joined with the counts of the sample in the end
                             (density/counted/counted_model.h) */
    bool stops;           /* training ends early when the network knows the sample: see below */
    int64_t report_every; /* steps */
    int64_t truth_every;  /* steps between two comparisons with the truth; made only at reports */
} fit_settings;

typedef struct fit_job fit_job;

/* trees, truth (NULL or empty: there is none) and threads are borrowed until the job is freed. */
int fit_job_create(fit_job **out, const tree_set *trees, const tree_set *truth,
                   const fit_settings *settings, pool *threads);
void fit_job_free(fit_job *j); /* NULL is fine */

run *fit_job_run(fit_job *j);

typedef struct fit_result {
    int64_t steps;       /* of training, or iterations */
    double objective;    /* of the last iteration; NaN if there is none */
    double observations; /* trees of the sample, where its counts are in the model; 0 elsewhere */
    double unseen;  /* the estimate of what trees outside of the sample have; 0: there is none .. */
    double outside; /* .. what they have in the network in the end; NaN: not measured .. */
    int64_t stopped_at; /* .. and the step at which it was not more than estimated, and the end
                           began; 0: it never was */
    bool has_truth, has_average;
    divergence last;     /* divergence of the truth from the model with its last weights .. */
    divergence averaged; /* .. and with their moving average */
} fit_result;

/* Once the run is done: measures the divergence from the truth, if there is one. */
int fit_job_finish(fit_job *j, fit_result *out);

extern const char
    *const FIT_SUFFIXES[]; /* suffixes of the files other than <prefix>.json; NULL at the end */

int fit_job_write(fit_job *j, const char *settings, const char *prefix, diag *d);

/* The results for <prefix>.json; a new object, NULL if memory is short. */
json_t *fit_job_results(const fit_job *j, const fit_result *found);

/* The model, with the moving average of its weights if there is one, is handed over to the caller;
 * nothing can be written afterwards. */
topology_model *fit_job_take_model(fit_job *j);

/* What identifies a set of trees as data: sizes and a hash of names, trees and weights. A new
 * object, NULL if memory is short. */
json_t *tree_set_identity(const tree_set *t);

#endif
