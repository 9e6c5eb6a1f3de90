/* collapsed_answer.h: collapsed inference from the end of its rounds (collapsed.h) to the answer:
 * passes of the sampler (table_sampler.h) until the error is as wanted, and the model of branch
 * lengths, for draws beyond the table, fitted to the draws of the last pass.
 *
 *     while (c->stage != COLLAPSED_DONE)
 *         status = collapsed_advance(c, d);
 *     status = collapsed_answer(&answer, c, branches, &names, &settings, NULL, d);
 *     posterior_free(&answer.posterior); */
#ifndef INFER_COLLAPSED_ANSWER_H
#define INFER_COLLAPSED_ANSWER_H

#include "infer/table_sampler.h"
#include "model/branch_model.h"

typedef struct answer_settings {
    int particles;  /* of one repeat, two at least */
    int sample;     /* draws that are kept */
    int64_t passes; /* at most */
    double error;   /* standard error of the log evidence that is wanted */
    size_t cache;   /* bytes for partial trees that are drawn again and again */
    uint64_t seed;
} answer_settings;

/* The draws from the network that an answer will have at least, with k particles, for
 * collapsed_settings.sampled. */
double answer_draws(int k);

typedef enum answer_part { ANSWER_PASSES, ANSWER_LENGTHS, ANSWER_PARTS } answer_part;

/* Who looks on. Members may be NULL. */
typedef struct answer_watch {
    void *context;
    sampler_stop *stop;          /* asked often: true ends it with ART_ERR_STOPPED */
    bool (*late)(void *context); /* asked after each pass: true, and it was the last */
    void (*see)(void *context, answer_part part, int64_t done, double error);
} answer_watch;

/* Steps that the model of branch lengths is fitted in, for `see`. */
enum { ANSWER_LENGTH_STEPS = 1000 };

typedef struct answer {
    evidence evidence;
    posterior posterior; /* owned: posterior_free */
    sampler_facts facts;
} answer;

/* c has ended its rounds; its tree model keeps the average of its weights. branches (initialised)
 * is fitted. watch may be NULL. *out is safe to free in any case. */
int collapsed_answer(answer *out, collapsed *c, branch_model *branches, const taxa *names,
                     const answer_settings *settings, const answer_watch *watch, diag *d);

#endif
