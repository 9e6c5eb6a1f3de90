/* variational_task.h: the task of `infer` and `parsimony`: fit q to an unnormalised target
 * (particles.h) by the multi-sample bound (objective.h). */
#ifndef TRAIN_VARIATIONAL_TASK_H
#define TRAIN_VARIATIONAL_TASK_H

#include "train/best_trees.h"
#include "train/objective.h"
#include "train/particles.h"
#include "train/task.h"

/* k is the number of particles. What source points to is borrowed. ART_ERR_UNSUPPORTED
 * for models without gradient. *out is freed through its ops. */
int variational_create(task **out, const particle_source *source, int k, estimator kind);

/* The best value of the target seen so far (-inf before the first step), and the distinct
 * topologies that reached it: *decision is [returned count][N-3], valid until the next step. */
enum { VARIATIONAL_BEST_TREES = BEST_TREES_KEPT };

double variational_best(const task *t);
int variational_best_trees(const task *t, const int32_t **decision);

#endif
