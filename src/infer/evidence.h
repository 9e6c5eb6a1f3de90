/* evidence.h: the log marginal likelihood by importance sampling from a trained q, and the
 * weighted draws that describe the posterior.
 *
 * R repeats of K particles. The K-sample bound of a repeat is the log of its mean weight; the
 * published figure is their mean, and its standard deviation over repeats. A repeat draws its
 * particles in batches of at most EVIDENCE_BATCH; nothing but time depends on that. */
#ifndef INFER_EVIDENCE_H
#define INFER_EVIDENCE_H

#include "infer/particles.h"

enum { EVIDENCE_BATCH = 100 };

typedef struct evidence_settings {
    int particles; /* K, 1000 as published */
    int repeats;   /* R, 100 as published */
} evidence_settings;

typedef struct evidence {
    double log_evidence;    /* mean over repeats of the K-sample bound */
    double log_evidence_sd; /* its standard deviation over repeats; NaN for one repeat */
    double log_evidence_se; /* sd / sqrt(R) */
    double log_mean_weight; /* log of the mean of all R K weights: less biased than that mean */
    double lower_bound_1;   /* mean log weight */
    double lower_bound_10;  /* mean 10-sample bound; NaN where K < 10 */
    double ess;             /* effective sample size of all weights */
    double pareto_k;        /* of all weights */
    long total;             /* R K */
} evidence;

/* Called with every batch, in order, weights filled in. A status other than ART_OK ends the run
 * and is returned: ART_ERR_STOPPED when the user wants to stop. */
typedef int evidence_observer(void *context, const particles *batch);

/* Freezes nothing and saves nothing: the caller freezes the model for speed. observe may be
 * NULL. Draws from the streams RNG_EVIDENCE and RNG_EVIDENCE_BRANCH: repeat r is step r. */
int evidence_run(evidence *out, const particle_source *source, const evidence_settings *settings,
                 evidence_observer *observe, void *context);

/* The figures of `repeats` times k log weights; weight is [2 repeats k], its second half is
 * overwritten. */
void evidence_summarise(evidence *out, double *weight, int k, int repeats);

/* "", or what must be said beside an estimate with this k (0.7 warns, 1 is no estimate). */
const char *evidence_warning(double pareto_k);

#endif
