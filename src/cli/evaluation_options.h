/* evaluation_options.h: options for estimating the evidence, and the output of the results to the
 * log. */
#ifndef CLI_EVALUATION_OPTIONS_H
#define CLI_EVALUATION_OPTIONS_H

#include "cli/session.h"
#include "results/evaluation.h"
#include "train/defaults.h"

#define EVALUATION_DEFAULTS                                               \
    {                                                                     \
        .particles = EVALUATION_PARTICLES, .repeats = EVALUATION_REPEATS, \
        .sample = EVALUATION_SAMPLE, .cache = EVALUATION_CACHE            \
    }

/* --evidence-particles --evidence-repeats --cache-memory */
extern const option EVALUATION_OPTIONS[];
extern const option SAMPLE_OPTIONS[]; /* --posterior-sample */

/* Refuses too many draws to count, before there is work that could be lost. A repeat consists of
 * this many estimates. */
int evaluation_check(session *s, const evaluation_settings *set, int estimates);

/* Writes to the log: the verdict, with its other warnings and the figures behind it; the results;
 * the warnings alone. */
void evaluation_say_verdict(session *s, const evaluation *e);
void evaluation_say(session *s, const evaluation *e);
void evaluation_warn(session *s, const evaluation *e);

#endif
