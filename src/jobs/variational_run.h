/* variational_run.h: training by a variational bound, then the evaluation of what was learned, as
 * one run (train/run.h): `infer --method vbpi` and `parsimony`. */
#ifndef JOBS_VARIATIONAL_RUN_H
#define JOBS_VARIATIONAL_RUN_H

#include "results/evaluation.h"
#include "train/trainer_run.h"

/* All borrowed until the run is freed, except the settings. A checkpoint keeps the training; an
 * interrupted evaluation is started again. With 0 repeats there is no evaluation. */
int variational_run_create(run **out, trainer *t, const training_view *view,
                           const particle_source *source, const taxa *names,
                           const evaluation_settings *settings);

/* To be called once, when the run is done; *out is safe to free in any case. */
int variational_run_finish(run *r, evaluation *out);

#endif
