#include "infer/collapsed_answer.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "infer/density.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAST_PASSES = 3,    /* for the probabilities of trees */
    DOUBTFUL_PASSES = 6, /* if their weights are not dependable */
    BATCH = 64,          /* trees of a step of fitting branch lengths, .. */
    FEW_TAXA = 40,       /* .. fewer with more taxa .. */
    LEAST_BATCH = 16,
};

static const double LENGTH_RATE = 0.002;
static const double FLATNESS = 0.7; /* power of the network's probabilities, for trees outside */

double answer_draws(int k)
{
    return (double)LEAST_PASSES * SAMPLER_REPEATS * k / 10;
}

static bool is_stopped(const answer_watch *w)
{
    return w->stop && w->stop(w->context);
}

static bool is_late(const answer_watch *w)
{
    return w->late && w->late(w->context);
}

static void show(const answer_watch *w, answer_part part, int64_t done, double error)
{
    if (w->see)
        w->see(w->context, part, done, error);
}

/* An error that is small because the large weights have not been met yet is none; but there is an
 * end to waiting for them. */
static bool is_enough(table_sampler *s, int64_t passes, double error)
{
    return table_sampler_error(s) <= error &&
           (passes >= DOUBTFUL_PASSES || !evidence_is_doubtful(table_sampler_pareto(s)));
}

/* Passes until the error is as wanted, the most are made or it is late. */
static int make_passes(table_sampler *s, const answer_settings *set, const answer_watch *w)
{
    const int64_t least = set->passes < LEAST_PASSES ? set->passes : LEAST_PASSES;
    int status = ART_OK;
    show(w, ANSWER_PASSES, 0, HUGE_VAL);
    for (int64_t i = 0; i < set->passes && !status; i++) {
        if (i > 0 && is_late(w))
            break;
        if (i >= least && is_enough(s, i, set->error))
            break;
        status = table_sampler_pass(s, w->stop, w->context);
        show(w, ANSWER_PASSES, i + 1, table_sampler_error(s));
    }
    return status;
}

/* A tree costs as much as it has taxa. */
static int length_batch(int n_taxa)
{
    const int batch = n_taxa <= FEW_TAXA ? BATCH : BATCH * FEW_TAXA / n_taxa;
    return batch > LEAST_BATCH ? batch : LEAST_BATCH;
}

/* The amortised model of branch lengths, for draws beyond the table. */
static int fit_lengths(branch_model *branches, const particles *draws, pool *threads, uint64_t seed,
                       const answer_watch *w, diag *d)
{
    task *fit = NULL;
    trainer *t = NULL;
    train_settings plan = train_defaults();
    plan.steps = ANSWER_LENGTH_STEPS;
    plan.branch_rate = LENGTH_RATE;
    plan.decay = 0.5;
    plan.decay_every = ANSWER_LENGTH_STEPS / 8;
    size_t k = (size_t)draws->k;
    double *weight = mem_zeros(k, sizeof *weight), top = -HUGE_VAL;
    int status = weight ? ART_OK : ART_ERR_NOMEM;
    for (size_t i = 0; i < k && !status; i++)
        top = fmax(top, draws->weight[i]);
    for (size_t i = 0; i < k && !status; i++)
        weight[i] = exp(draws->weight[i] - top);
    if (!status)
        status = branch_density_create(&fit, branches, draws->decision, draws->length, weight, k,
                                       length_batch(draws->n_taxa), PICKS_INDEPENDENT, seed);
    if (!status)
        status = trainer_create(&t, fit, &plan, threads);
    if (!status)
        show(w, ANSWER_LENGTHS, 0, 0);
    while (!status && t->step < plan.steps && !(t->step > 0 && is_late(w))) {
        status = is_stopped(w) ? ART_ERR_STOPPED : trainer_advance(t, d);
        show(w, ANSWER_LENGTHS, t->step, 0);
    }
    trainer_free(t);
    if (fit)
        fit->ops->free(fit);
    free(weight);
    return status;
}

int collapsed_answer(answer *out, collapsed *c, branch_model *branches, const taxa *names,
                     const answer_settings *set, const answer_watch *watch, diag *d)
{
    static const answer_watch NOBODY = {0};
    const answer_watch *w = watch ? watch : &NOBODY;
    const sampler_settings plan = {set->particles, set->sample, table_sampler_share(c), set->seed};
    table_sampler *sampler = NULL;
    memset(out, 0, sizeof *out);
    if (set->particles < 2 || set->passes < 1 ||
        set->passes > INT32_MAX / SAMPLER_REPEATS / set->particles)
        return ART_ERR_USAGE;
    collapsed_settle(c);
    int status = c->trees->ops->freeze(c->trees, set->cache);
    if (!status) {
        c->trees->ops->flatten(c->trees, FLATNESS);
        status = table_sampler_create(&sampler, c, names, &plan);
    }
    if (!status)
        status = make_passes(sampler, set, w);
    if (!status)
        status =
            fit_lengths(branches, table_sampler_particles(sampler), c->threads, set->seed, w, d);
    if (!status)
        status = table_sampler_finish(sampler, &out->evidence, &out->posterior, &out->facts);
    out->evidence.unfinished = !collapsed_is_complete(c, &c->round[c->n_rounds - 1]);
    const int thawed = c->trees->ops->freeze(c->trees, 0);
    table_sampler_free(sampler);
    return status ? status : thawed;
}
