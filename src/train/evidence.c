#include "train/evidence.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "base/rng.h"
#include "train/objective.h"
#include "train/importance_weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The log weights of one repeat, in weight [K]. */
static int run_repeat(double *weight, particles *batch, const particle_source *source, int k,
                      uint32_t repeat, evidence_observer *observe, void *context)
{
    int room = batch->k, status = ART_OK;
    for (int first = 0; first < k && !status; first += room) {
        batch->k = k - first < room ? k - first : room;
        status = particles_draw(
            batch, source,
            (particle_stream){RNG_EVIDENCE, RNG_EVIDENCE_BRANCH, repeat, (uint32_t)first});
        if (status)
            break;
        particles_weigh(batch, 1);
        memcpy(weight + first, batch->log_weight, (size_t)batch->k * sizeof *weight);
        if (observe)
            status = observe(context, batch);
    }
    batch->k = room;
    return status;
}

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

int evidence_run(evidence *out, const particle_source *source, const evidence_settings *settings,
                 evidence_observer *observe, void *context)
{
    memset(out, 0, sizeof *out);
    int k = settings->particles, repeats = settings->repeats;
    if (k < 1 || repeats < 1 || repeats > INT32_MAX / k)
        return ART_ERR_USAGE;
    size_t total = (size_t)k * (size_t)repeats;
    particles batch;
    double *weight = mem_zeros(2 * total, sizeof *weight);
    int status =
        particles_init(&batch, k < EVIDENCE_BATCH ? k : EVIDENCE_BATCH, source->goal->n_taxa, 0);
    if (!weight)
        status = ART_ERR_NOMEM;
    for (int r = 0; r < repeats && !status; r++)
        status = run_repeat(weight + (size_t)r * (size_t)k, &batch, source, k, (uint32_t)r, observe,
                            context);
    if (!status)
        evidence_summarise(out, weight, k, repeats);
    particles_free(&batch);
    free(weight);
    return status;
}

bool evidence_is_doubtful(double pareto_k)
{
    return pareto_k >= 0.7;
}

int evidence_warnings(const char *text[EVIDENCE_WARNINGS], const evidence *e)
{
    int n = 0;
    if (isinf(e->pareto_k) && e->pareto_k > 0)
        text[n++] = "Too few draws to say how far the estimate can be trusted (no Pareto k).";
    else if (e->pareto_k >= 1)
        text[n++] = "Pareto k is 1 or more: the weights have no mean to speak of; this is not an "
                    "estimate. Train longer.";
    else if (evidence_is_doubtful(e->pareto_k))
        text[n++] = "Pareto k is 0.7 or more: the estimate and its error are not dependable.";
    if (e->unfinished)
        text[n++] = "The rounds ended while draws still found trees that matter: the errors that "
                    "are stated may be too small. Give it more time or more rounds.";
    if (e->cut)
        text[n++] = "A time limit ended the work early: more time makes a more accurate result.";
    if (e->failed)
        text[n++] = "Some draws had no mode of branch lengths and count as 0.";
    return n;
}
