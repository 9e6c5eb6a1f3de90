#include "train/evidence.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "base/rng.h"
#include "train/objective.h"
#include "train/importance_weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct evidence_sampling {
    particle_source source;
    int k, repeats;
    int repeat, first; /* of the next batch */
    particles batch;
    double *weight; /* [2 repeats k]; the second half is scratch */
};

/* Mean of the bounds of consecutive groups of `size`; NaN if there is no whole group. */
static double mean_bound(const double *weight, long total, int size)
{
    double sum = 0;
    long groups = total / size;
    for (long g = 0; g < groups; g++)
        sum += objective_bound(weight + g * size, size);
    return groups ? sum / (double)groups : (double)NAN;
}

void evidence_summarise(evidence *out, double *weight, int k, int repeats)
{
    int n = k * repeats;
    double squares = 0;
    *out = (evidence){.total = n, .outside = NAN, .outside_se = NAN};
    out->log_evidence = out->lower_bound_k = mean_bound(weight, n, k);
    for (int r = 0; r < repeats; r++) {
        double off = objective_bound(weight + (size_t)r * (size_t)k, k) - out->log_evidence;
        squares += off * off;
    }
    out->log_evidence_sd = repeats > 1 ? sqrt(squares / (repeats - 1)) : (double)NAN;
    out->log_evidence_se = out->log_evidence_sd / sqrt(repeats);
    out->log_mean_weight = objective_bound(weight, n);
    out->lower_bound_1 = mean_bound(weight, n, 1);
    out->lower_bound_10 = k >= 10 ? mean_bound(weight, n, 10) : (double)NAN;
    out->ess = weights_ess(weight, n);
    out->pareto_k = weights_pareto_k(weight, weight + n, n);
}

int evidence_sampling_create(evidence_sampling **out, const particle_source *source,
                             const evidence_settings *settings)
{
    *out = NULL;
    const int k = settings->particles, repeats = settings->repeats;
    if (k < 1 || repeats < 1 || repeats > INT32_MAX / k)
        return ART_ERR_USAGE;
    evidence_sampling *s = mem_zeros(1, sizeof *s);
    if (!s)
        return ART_ERR_NOMEM;
    s->source = *source;
    s->k = k;
    s->repeats = repeats;
    s->weight = mem_zeros(2 * (size_t)k * (size_t)repeats, sizeof *s->weight);
    int status =
        particles_init(&s->batch, k < EVIDENCE_BATCH ? k : EVIDENCE_BATCH, source->goal->n_taxa, 0);
    if (!status && !s->weight)
        status = ART_ERR_NOMEM;
    if (status)
        evidence_sampling_free(s);
    else
        *out = s;
    return status;
}

void evidence_sampling_free(evidence_sampling *s)
{
    if (!s)
        return;
    particles_free(&s->batch);
    free(s->weight);
    free(s);
}

bool evidence_sampling_is_done(const evidence_sampling *s)
{
    return s->repeat == s->repeats;
}

int evidence_sampling_advance(evidence_sampling *s, const particles **batch)
{
    const int left = s->k - s->first, room = s->k < EVIDENCE_BATCH ? s->k : EVIDENCE_BATCH;
    particles *p = &s->batch;
    p->k = left < room ? left : room;
    *batch = p;
    int status = particles_draw(p, &s->source,
                                (particle_stream){RNG_EVIDENCE, RNG_EVIDENCE_BRANCH,
                                                  (uint32_t)s->repeat, (uint32_t)s->first});
    if (status)
        return status;
    particles_weigh(p, 1);
    memcpy(s->weight + (size_t)s->repeat * (size_t)s->k + s->first, p->log_weight,
           (size_t)p->k * sizeof *s->weight);
    s->first += p->k;
    if (s->first == s->k) {
        s->first = 0;
        s->repeat++;
    }
    return ART_OK;
}

void evidence_sampling_finish(evidence_sampling *s, evidence *out)
{
    evidence_summarise(out, s->weight, s->k, s->repeats);
}

int evidence_run(evidence *out, const particle_source *source, const evidence_settings *settings)
{
    evidence_sampling *s;
    const particles *batch;
    memset(out, 0, sizeof *out);
    int status = evidence_sampling_create(&s, source, settings);
    while (!status && !evidence_sampling_is_done(s))
        status = evidence_sampling_advance(s, &batch);
    if (!status)
        evidence_sampling_finish(s, out);
    evidence_sampling_free(s);
    return status;
}

bool evidence_is_doubtful(double pareto_k)
{
    return pareto_k >= 0.7;
}
