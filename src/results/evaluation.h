/* evaluation.h: evaluation of a trained q: the evidence and a weighted posterior sample, drawn in
 * pieces.
 *
 *     evaluator *e;
 *     status = evaluator_create(&e, &source, &names, &settings);
 *     while (!status && !evaluator_is_done(e))
 *         status = evaluator_advance(e);
 *     status = evaluator_finish(e, &found);
 *     evaluator_free(e);
 *     evaluation_free(&found); */
#ifndef RESULTS_EVALUATION_H
#define RESULTS_EVALUATION_H

#include "results/posterior.h"
#include "results/verdict.h"
#include "train/evidence.h"

#include <jansson.h>

typedef struct evaluation_settings {
    int64_t particles; /* of one repeat */
    int64_t repeats;
    int64_t sample; /* draws that are kept */
    int64_t cache;  /* bytes for partial trees */
} evaluation_settings;

typedef struct evaluation {
    evidence evidence;
    posterior posterior;
    verdict verdict; /* not given unless the caller of evaluator_finish has it judged */
} evaluation;

void evaluation_free(evaluation *e); /* safe on a zeroed one */

/* Has the evidence judge itself. */
void evaluation_judge(evaluation *e);

/* The results under their names in <prefix>.json, with the verdict first; k is the K of the bounds.
 * A new object, NULL if memory is short. */
json_t *evaluation_json(const evaluation *e, int64_t k);

/* Sets "sample": mean, median and 95 % HPD interval of log-likelihood and log prior over the rows,
 * if they are a sample of the posterior with branch lengths. */
int evaluation_sample(json_t *out, const posterior *p);

/* Sets those of the evidence alone. */
int evaluation_figures(json_t *out, const evaluation *e, int64_t k);

typedef struct evaluator evaluator;

/* Freezes the tree model until evaluator_free. The draws that are kept are a sample of the
 * posterior if there are branch lengths, and a sample of q if only topologies are evaluated
 * (parsimony). */
int evaluator_create(evaluator **out, const particle_source *source, const taxa *names,
                     const evaluation_settings *settings);
void evaluator_free(evaluator *e); /* NULL is fine */
int evaluator_advance(evaluator *e);
bool evaluator_is_done(const evaluator *e);
double evaluator_draws(const evaluator *e);      /* so far */
size_t evaluator_topologies(const evaluator *e); /* distinct ones so far */

/* Once it is done; *out is safe to free in any case. */
int evaluator_finish(evaluator *e, evaluation *out);

#endif
