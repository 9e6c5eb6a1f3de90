/* final_sampling.h: the final part of collapsed inference, after its rounds (rounds.h): a look at
 * other modes of branch lengths (other_modes.h); passes of the sampler (sampler.h) until the target
 * standard error is reached; then the branch-length model, which gives lengths to trees outside the
 * table, is fitted to the draws of the last pass.
 *
 *     final_sampling *a;
 *     status = final_sampling_create(&a, c, branches, &names);
 *     while (a->stage != FINAL_DONE)
 *         status = final_sampling_advance(a, d);           a second of work, more or less
 *     status = final_sampling_finish(a, &found);
 *     final_sampling_free(a);
 *     posterior_free(&found.posterior);
 *
 * final_sampling_fields saves and loads it between any two pieces of work. */
#ifndef COLLAPSED_FINAL_SAMPLING_H
#define COLLAPSED_FINAL_SAMPLING_H

#include "collapsed/other_modes.h"
#include "collapsed/sampler.h"
#include "density/branch_model.h"
#include "results/verdict.h"

/* The network's share of the draws, from what the last round showed: the optimal one by the spreads
 * of the two strata. */
double final_network_share(const rounds *c);

/* Trees that a pass will find the branch lengths of, at most, on the average. O(trees). */
double final_pass_trees(const rounds *c);

typedef enum final_stage {
    FINAL_MODES,
    FINAL_PASSES,
    FINAL_LENGTHS,
    FINAL_DONE,
} final_stage;

typedef struct final_sampling {
    rounds *c;
    branch_model *branches;
    const collapsed_settings *set; /* those of c */
    final_stage stage;
    bool finish_now;
    other_modes modes;
    tree_sampler *sampler;
    task *fit; /* of branch lengths; NULL before, as the trainer */
    trainer *trainer;
} final_sampling;

typedef struct answer {
    evidence evidence;
    posterior posterior; /* owned: posterior_free */
    sampler_facts facts;
    verdict verdict;
} answer;

/* With the settings of c, which has ended its rounds and is borrowed, as are branches
 * (initialised); its parts `sampler`, `final` and `blend`, seed and error are used. The tree model
 * gets the average of its weights, and is frozen and flattened until final_sampling_free. */
int final_sampling_create(final_sampling **out, rounds *c, branch_model *branches,
                          const taxa *names);
void final_sampling_free(final_sampling *a); /* NULL is fine */

int final_sampling_advance(final_sampling *a, diag *d);

/* Everything the next piece depends on, in addition to rounds_fields, as fields of a saved state,
 * except a request to finish: a resumed run may have more time. Load only into a newly created
 * object, after its table has been loaded. */
int final_sampling_fields(final_sampling *a, saved_state *s);

/* Whether chains with branch lengths are to take over: too much of the posterior is in other modes
 * of branch lengths, or, after enough passes to tell, the weights of the draws have too heavy a
 * tail. O(draws log draws). */
bool final_sampling_failed(const final_sampling *a);

/* The current pass or step will be the last. There is at least one of each. */
void final_sampling_finish_now(final_sampling *a);

/* Once it is done. *out is safe to free in any case. */
int final_sampling_finish(final_sampling *a, answer *out);

#endif
