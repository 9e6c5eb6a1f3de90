/* evidence.h: the log marginal likelihood by importance sampling from a trained q, and the weighted
 * draws that describe the posterior.
 *
 * R repeats of K particles. The K-sample bound of a repeat is the log of its mean weight; the
 * published value is their mean, with the standard deviation over repeats. A repeat draws its
 * particles in batches of at most EVIDENCE_BATCH; this affects only the run time. */
#ifndef TRAIN_EVIDENCE_H
#define TRAIN_EVIDENCE_H

#include "train/particles.h"

#include <stdbool.h>

enum { EVIDENCE_BATCH = 100 };

typedef struct evidence_settings {
    int particles; /* K, 1000 as published */
    int repeats;   /* R, 100 as published */
} evidence_settings;

typedef struct evidence {
    double log_evidence;    /* mean over repeats of the K-sample bound; of collapsed inference
                               (sampler.h) log_mean_weight */
    double log_evidence_sd; /* its standard deviation over repeats; NaN for one repeat */
    double log_evidence_se; /* sd / sqrt(R) */
    double log_mean_weight; /* log of the mean of all R K weights: less biased than the mean of the
                               bounds */
    double lower_bound_1;   /* mean log weight */
    double lower_bound_10;  /* mean 10-sample bound; NaN where K < 10 */
    double lower_bound_k;   /* mean K-sample bound */
    double ess;             /* effective sample size of all weights */
    double pareto_k;        /* of all weights */
    long total;             /* R K */
    /* Of collapsed inference; otherwise NaN, 0, false. */
    double outside;    /* fraction of the posterior in trees that are not in the table */
    double outside_se; /* its standard error */
    long failed; /* draws for which no mode of the branch lengths was found: their weight is 0 */
    bool unfinished; /* the rounds ended while draws still found trees with considerable probability
                      */
    bool cut;        /* a time limit ended them, or the draws, before their criteria held */
} evidence;

/* In pieces: one batch of particles each.
 *
 *     evidence_sampling *s;
 *     status = evidence_sampling_create(&s, &source, &settings);
 *     while (!status && !evidence_sampling_is_done(s))
 *         status = evidence_sampling_advance(s, &batch);          the batch, with its weights
 *     evidence_sampling_finish(s, &e);
 *     evidence_sampling_free(s);
 *
 * Does not freeze the model (the caller does so for speed) and saves nothing. Draws from the
 * streams RNG_EVIDENCE and RNG_EVIDENCE_BRANCH: repeat r is step r. ART_ERR_USAGE for more draws
 * than an int can count. */
typedef struct evidence_sampling evidence_sampling;

int evidence_sampling_create(evidence_sampling **out, const particle_source *source,
                             const evidence_settings *settings);
void evidence_sampling_free(evidence_sampling *s); /* NULL is fine */
bool evidence_sampling_is_done(const evidence_sampling *s);
int evidence_sampling_advance(evidence_sampling *s, const particles **batch);
void evidence_sampling_finish(evidence_sampling *s, evidence *out);

/* All of it at once. */
int evidence_run(evidence *out, const particle_source *source, const evidence_settings *settings);

/* The results for `repeats` times k log weights; weight is [2 repeats k], its second half is
 * overwritten. */
void evidence_summarise(evidence *out, double *weight, int k, int repeats);

/* Whether Pareto k is too large for the estimate and its error to be reliable. */
bool evidence_is_doubtful(double pareto_k);

#endif
