/* model_average.h: inference averaged over substitution models by their evidence, as one run
 * (train/run.h).
 *
 * First all models are compared on one tree (model_screen.h). Then models are run, each exactly as
 * infer_job.h runs it alone, with the same seed, the best first, until those that are left have
 * less than 1 % of the posterior probability together. For that the evidence of a model that was
 * not run is taken as what the tree contributes, plus the most that whole runs have added to that
 * so far, plus what models may differ by in it: 1 nat and twice the range of what they have added,
 * or 3 nats while there was only one run. All models have the same prior
 * probability. With one model there is nothing to compare: its run is the whole.
 *
 *     model_average *a;
 *     status = model_average_create(&a, &data, model, n, &settings, threads);
 *     status = drive_run(&d, model_average_run(a), &observer, diag);
 *     status = model_average_finish(a, &found);
 *     status = model_average_write(a, &found, &about, prefix, diag);
 *     infer_result_free(&found);
 *     model_average_free(a);
 *
 * No trained model is left: there is one for every substitution model.
 *
 * A time limit is divided among the models that are likely to be run, by their probabilities. */
#ifndef JOBS_MODEL_AVERAGE_H
#define JOBS_MODEL_AVERAGE_H

#include "jobs/infer_job.h"

typedef struct model_average model_average;

/* model [n] is copied, data and threads are borrowed until it is freed. The method of the settings
 * is INFER_COLLAPSED. */
int model_average_create(model_average **out, const dataset *data, const free_model *model, int n,
                         const infer_settings *settings, pool *threads);
void model_average_free(model_average *a); /* NULL is fine */

run *model_average_run(model_average *a);

/* Once the run is done, and once only: the average. Its log evidence is that of the mixture of all
 * models. The facts have "models" (model_table_json; of those that were run also verdict and
 * parameters) and "models_left_out". *out is safe to free in any case. */
int model_average_finish(model_average *a, infer_result *out);

/* After model_average_finish, valid until a is freed. */
const infer_context *model_average_context(const model_average *a);

/* As infer_job_write; there is no trained model, and that of earlier results is removed. */
int model_average_write(const model_average *a, const infer_result *found,
                        const infer_description *about, const char *prefix, diag *d);

/* The models in one line: "HKY+FO+G4"; "average over 24 models". */
enum { MODEL_AVERAGE_TITLE = 128 };
void model_average_title(char text[MODEL_AVERAGE_TITLE], const model_average *a);

#endif
