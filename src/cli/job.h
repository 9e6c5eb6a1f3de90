/* job.h: what a training run is made of, for infer, fit and parsimony alike. */
#ifndef CLI_JOB_H
#define CLI_JOB_H

#include "cli/dataset.h"
#include "cli/evaluation.h"
#include "cli/run.h"
#include "cli/training.h"
#include "train/variational_task.h"

/* All zero at first; members are made in this order and freed by job_free. */
typedef struct job {
    run run;
    dataset data; /* infer and parsimony */
    topology_model *trees;
    branch_model *branches; /* infer */
    target *goal;           /* infer and parsimony */
    particle_source source; /* the same */
    task *task;
    trainer *trainer;
} job;

/* Makes and initialises the tree model. */
int job_trees(job *j, int n_taxa, const training_settings *o);

/* The trees that a target takes at once, of a step of training or of the evidence. */
int job_batch(const variational_options *o);

/* Makes the trainer of j->task and trains to the end. */
int job_train(job *j, const train_settings *plan, const run_view *view);

/* The variational task on j->source, and its training. */
int job_train_variational(job *j, train_settings *plan, const variational_options *o,
                          const run_view *view);

/* Evidence and posterior sample of j->source; stops when the run should. */
int job_evaluate(job *j, evaluation *e, const taxa *names, const evaluation_settings *set);

/* Writes <prefix>.model.safetensors, with the moving average if there is one. substitution may
 * be NULL. */
int job_save_model(job *j, const taxa *names, const char *substitution);

/* The results of an inference: the figures of the evaluation, the model, and the facts that its
 * method has besides (NULL fails). A new object, NULL if memory is short. */
json_t *job_results(const evaluation *e, const evaluation_settings *set, const char *model,
                    json_t *facts);

void job_free(job *j);

#endif
