/* variational.h: the task of `infer` and `parsimony`: fit q to an unnormalised target
 * (particles.h) by the multi-sample bound (objective.h). */
#ifndef INFER_VARIATIONAL_H
#define INFER_VARIATIONAL_H

#include "infer/best_trees.h"
#include "infer/objective.h"
#include "infer/particles.h"
#include "infer/task.h"

/* k is the number of particles. What source points to is borrowed. *out is freed through its ops.
 */
int variational_create(task **out, const particle_source *source, int k, estimator kind);

/* The best value of the target seen so far (-inf before the first step), and the distinct
 * topologies that reached it: *decision is [returned count][N-3], valid until the next step. */
enum { VARIATIONAL_BEST_TREES = BEST_TREES_KEPT };

double variational_best(const task *t);
int variational_best_trees(const task *t, const int32_t **decision);

#endif
