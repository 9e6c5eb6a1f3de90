/* driver.h: collapsed inference as one run (train/run.h): rounds of search, fitting and drawing
 * (rounds.h), then the final sampling (final_sampling.h); or chains, of one kind or the other
 * (chain_stage.h, joint_stage.h), from the first search on or after the final sampling.
 *
 *     run *r;
 *     status = collapsed_run_create(&r, &problem, &models, &settings, threads);
 *     ... drive it to its end (train/drive.h) ...
 *     status = collapsed_run_finish(r, &found);
 *     r->ops->free(r);
 *
 * Where the substitution model has free parameters, a first stage finds those of a good tree
 * (parameter_stage.h).
 *
 * Everything that the next piece of work depends on is saved between any two of them, and is the
 * same on any number of threads. Time affects the results in only one way: with a time limit, or
 * when asked to finish, the rounds end early, and then the passes of the final sampling. */
#ifndef COLLAPSED_DRIVER_H
#define COLLAPSED_DRIVER_H

#include "collapsed/chain_answer.h"
#include "collapsed/final_sampling.h"
#include "collapsed/joint_stage.h"
#include "train/run.h"

#include <stdbool.h>

/* The data and the models; all borrowed. alignment, taxon and names are not needed after the
 * creation. Models are initialised. */
typedef struct collapsed_problem {
    branch_posterior *posterior; /* free parameters get their centre during the run */
    const alignment *alignment;
    const int *taxon; /* as for branch_posterior_init */
    const taxa *names;
    topology_model *trees;
    branch_model *branches;
} collapsed_problem;

int collapsed_run_create(run **out, const collapsed_problem *problem,
                         const collapsed_settings *settings, pool *threads);

/* Once the run is done: the results; *out is safe to free (posterior_free) in any case. */
int collapsed_run_finish(run *r, answer *out);

/* Whether the models were trained: only the way of a table does that. */
bool collapsed_run_has_network(const run *r);

/* Further results in addition to the evidence: the way that was chosen, the rounds, the search
 * (run_facts.h). A new object, NULL if memory is short. */
json_t *collapsed_run_facts(const run *r, const answer *found);

#endif
