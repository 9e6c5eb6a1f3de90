/* evaluation.h: what a trained q says: the evidence and a weighted posterior sample. */
#ifndef CLI_EVALUATION_H
#define CLI_EVALUATION_H

#include "cli/session.h"
#include "train/defaults.h"
#include "train/evidence.h"
#include "results/posterior.h"

#include <jansson.h>

typedef struct evaluation_settings {
    int64_t particles; /* of one repeat */
    int64_t repeats;
    int64_t sample; /* draws that are kept */
    int64_t cache;  /* bytes for partial trees */
} evaluation_settings;

#define EVALUATION_DEFAULTS                                               \
    {                                                                     \
        .particles = EVALUATION_PARTICLES, .repeats = EVALUATION_REPEATS, \
        .sample = EVALUATION_SAMPLE, .cache = EVALUATION_CACHE            \
    }

/* --evidence-particles --evidence-repeats --cache-memory */
extern const option EVALUATION_OPTIONS[];
extern const option SAMPLE_OPTIONS[]; /* --posterior-sample */

/* Refuses what would be too many draws to count, before there is work that could be lost. A repeat
 * is so many estimates. */
int evaluation_settle(session *s, const evaluation_settings *set, int estimates);

typedef struct evaluation {
    evidence evidence;
    posterior posterior;
} evaluation;

/* Asked between batches; true ends the evaluation with ART_ERR_STOPPED. */
typedef bool evaluation_stop(const void *context);

/* Freezes the tree model while it runs. The draws that are kept are the posterior's if there are
 * branch lengths, and q's where trees alone are judged (parsimony). stop may be NULL. */
int evaluation_run(evaluation *out, session *s, const particle_source *source, const taxa *names,
                   const evaluation_settings *set, evaluation_stop *stop, const void *context);
void evaluation_free(evaluation *e); /* safe on a zeroed one */

/* The figures under their names in <prefix>.json. A new object, NULL if memory is short. */
json_t *evaluation_json(const evaluation *e, const evaluation_settings *set);

/* The figures for people, in the log, with what must be said beside them; the latter alone. */
void evaluation_say(session *s, const evaluation *e);
void evaluation_warn(session *s, const evaluation *e);

#endif
