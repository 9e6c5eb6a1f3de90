/* support_run.h: a run that first finds the trees a model's tables come from (support_search.h) and
 * then becomes the run that trains the model, which cannot be made before. */
#ifndef JOBS_SUPPORT_RUN_H
#define JOBS_SUPPORT_RUN_H

#include "jobs/support_search.h"
#include "train/run.h"

/* Makes the training run from the trees, which live as long as the support run. */
typedef int support_begin(void *context, const tree_set *trees, run **training);

/* Takes the search over, also on failure; context is borrowed. The training run belongs to it and
 * is freed with it. */
int support_run_create(run **out, support_search *search, support_begin *begin, void *context);

/* The trees; NULL while they are looked for. */
const tree_set *support_run_trees(const run *r);

#endif
