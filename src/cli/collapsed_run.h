/* collapsed_run.h: `infer --method collapsed`: exploration, rounds of fitting and drawing, and
 * the final answer, with progress, checkpoints and a time limit. */
#ifndef CLI_COLLAPSED_RUN_H
#define CLI_COLLAPSED_RUN_H

#include "cli/job.h"
#include "collapsed/final_sampling.h"

typedef struct collapsed_options {
    double se;
    double new_mass;
    double fit_kl; /* that is polished to; 0: chosen by whether there is a time limit */
    int64_t rounds;
    int64_t fit_steps;
    int64_t fit_batch;
    double fit_rate;
    int64_t memory;
} collapsed_options;

#define COLLAPSED_DEFAULTS                                                                    \
    {                                                                                         \
        .se = DEFAULT_STANDARD_ERROR, .new_mass = DEFAULT_NEW_MASS, .rounds = DEFAULT_ROUNDS, \
        .fit_steps = NETWORK_FIT_STEPS, .fit_batch = NETWORK_FIT_BATCH,                       \
        .fit_rate = NETWORK_FIT_RATE, .memory = DEFAULT_TABLE_MEMORY                          \
    }

/* --se --new-mass --fit-kl --rounds --fit-steps --fit-batch --fit-rate --table-memory */
extern const option COLLAPSED_OPTIONS[];

/* Infers with j's data, tree model, and branch model, which are fitted; e becomes the answer.
 * *facts is a new object with what is reported besides the evidence. */
int collapsed_run(job *j, evaluation *e, json_t **facts, const collapsed_options *o,
                  const evaluation_settings *set, const subst_model *model, branch_prior prior);

#endif
