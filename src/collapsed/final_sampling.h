/* final_sampling.h: collapsed inference from the end of its rounds (rounds.h) to the answer:
 * passes of the sampler (sampler.h) until the error is as wanted, and the model of branch
 * lengths, for draws beyond the table, fitted to the draws of the last pass.
 *
 *     answering *a;
 *     status = answering_create(&a, c, branches, &names, &settings);
 *     while (a->stage != ANSWER_DONE)
 *         status = answering_advance(a, d);           a second of work, more or less
 *     status = answering_finish(a, &found);
 *     answering_free(a);
 *     posterior_free(&found.posterior);
 *
 * answering_save and _load keep it between any two pieces of work. */
#ifndef COLLAPSED_FINAL_SAMPLING_H
#define COLLAPSED_FINAL_SAMPLING_H

#include "collapsed/sampler.h"
#include "density/branch_model.h"

typedef struct answer_settings {
    int particles;  /* of one repeat, two at least */
    int sample;     /* draws that are kept */
    int64_t passes; /* at most */
    double error;   /* standard error of the log evidence that is wanted */
    size_t cache; /* bytes for partial trees that are drawn again and again; few are kept anyway */
    uint64_t seed;
} answer_settings;

/* The draws from the network that an answer will have at least, with k particles, for
 * collapsed_settings.sampled. */
double answer_draws(int k);

/* The network's share of the draws, from what the last round showed: the optimal one by the spreads
 * of the two strata. */
double answer_share(const collapsed *c);

/* Trees that a pass with k particles will find the branch lengths of, at most, on the average.
 * O(trees). */
double answer_pass_trees(const collapsed *c, int k);

typedef enum answer_stage { ANSWER_PASSES, ANSWER_LENGTHS, ANSWER_DONE } answer_stage;

/* Steps that the model of branch lengths is fitted in. */
enum { ANSWER_LENGTH_STEPS = 1000 };

typedef struct answering {
    collapsed *c;
    branch_model *branches;
    answer_settings set;
    answer_stage stage;
    bool hurry;
    table_sampler *sampler;
    task *fit; /* of branch lengths; NULL before, as the trainer */
    trainer *trainer;
} answering;

typedef struct answer {
    evidence evidence;
    posterior posterior; /* owned: posterior_free */
    sampler_facts facts;
} answer;

/* c has ended its rounds and is borrowed, as are branches (initialised). The tree model gets the
 * average of its weights, and is frozen and flattened until answering_free. */
int answering_create(answering **out, collapsed *c, branch_model *branches, const taxa *names,
                     const answer_settings *settings);
void answering_free(answering *a); /* NULL is fine */

int answering_advance(answering *a, diag *d);

/* Everything the next piece depends on, beside what collapsed_save has, as tensors of a checkpoint,
 * but for a hurry: who goes on may have more time. Loading is for one that was just made, from a
 * table that was loaded before. */
int answering_save(answering *a, safetensors *s);
int answering_load(answering *a, safetensors *s, const char *file, diag *d);

/* The pass, or the step, that is under way is the last. There is at least one of each. */
void answering_hurry(answering *a);

/* Once it is done. *out is safe to free in any case. */
int answering_finish(answering *a, answer *out);

#endif
