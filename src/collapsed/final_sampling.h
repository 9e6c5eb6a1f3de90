/* final_sampling.h: the final part of collapsed inference, after its rounds (rounds.h): passes of
 * the sampler (sampler.h) until the target standard error is reached; then the branch-length model,
 * which gives lengths to trees outside the table, is fitted to the draws of the last pass.
 *
 *     final_sampling *a;
 *     status = final_sampling_create(&a, c, branches, &names, &settings);
 *     while (a->stage != FINAL_DONE)
 *         status = final_sampling_advance(a, d);           a second of work, more or less
 *     status = final_sampling_finish(a, &found);
 *     final_sampling_free(a);
 *     posterior_free(&found.posterior);
 *
 * final_sampling_fields saves and loads it between any two pieces of work. */
#ifndef COLLAPSED_FINAL_SAMPLING_H
#define COLLAPSED_FINAL_SAMPLING_H

#include "collapsed/sampler.h"
#include "density/branch_model.h"

typedef struct final_settings {
    int particles;  /* of one repeat, at least two */
    int sample;     /* draws that are kept */
    int64_t passes; /* at most */
    double error;   /* target standard error of the log evidence */
    size_t cache;   /* bytes for caching partial trees that are drawn repeatedly */
    uint64_t seed;
} final_settings;

/* The minimum number of draws from the network in the final sampling, with k particles, for
 * rounds_settings.sampled. */
double final_draws(int k);

/* The fraction of the draws taken from the network: the optimal allocation given the standard
 * deviations of the two strata in the last round. */
double final_network_share(const rounds *c);

/* Upper bound on the average number of trees whose branch lengths a pass with k particles will fit.
 * O(trees). */
double final_pass_trees(const rounds *c, int k);

typedef enum final_stage { FINAL_PASSES, FINAL_LENGTHS, FINAL_DONE } final_stage;

/* Number of steps in which the branch-length model is fitted. */
enum { FINAL_LENGTH_STEPS = 1000 };

typedef struct final_sampling {
    rounds *c;
    branch_model *branches;
    final_settings set;
    final_stage stage;
    bool finish_now;
    tree_sampler *sampler;
    task *fit; /* of branch lengths; NULL before, as the trainer */
    trainer *trainer;
} final_sampling;

typedef struct answer {
    evidence evidence;
    posterior posterior; /* owned: posterior_free */
    sampler_facts facts;
} answer;

/* c has ended its rounds and is borrowed, as are branches (initialised). The tree model gets the
 * average of its weights, and is frozen and flattened until final_sampling_free. */
int final_sampling_create(final_sampling **out, rounds *c, branch_model *branches,
                          const taxa *names, const final_settings *settings);
void final_sampling_free(final_sampling *a); /* NULL is fine */

int final_sampling_advance(final_sampling *a, diag *d);

/* Everything the next piece depends on, in addition to rounds_fields, as fields of a saved state,
 * except a request to finish: a resumed run may have more time. Load only into a newly created
 * object, after its table has been loaded. */
int final_sampling_fields(final_sampling *a, saved_state *s);

/* The current pass or step will be the last. There is at least one of each. */
void final_sampling_finish_now(final_sampling *a);

/* Once it is done. *out is safe to free in any case. */
int final_sampling_finish(final_sampling *a, answer *out);

#endif
