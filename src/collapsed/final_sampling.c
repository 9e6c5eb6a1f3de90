#include "collapsed/final_sampling.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "collapsed/affordable.h"
#include "train/density_task.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAST_PASSES = 3,    /* for the probabilities of trees */
    DOUBTFUL_PASSES = 6, /* if their weights are not dependable */
    LENGTH_BATCH = 64,   /* trees of a step of fitting branch lengths, fewer with many taxa */
};

static const double LENGTH_RATE = 0.002;
static const double FLATNESS = 0.7; /* power of the network's probabilities, for trees outside */
static const double LEAST_NETWORK = 0.1, MOST_NETWORK = 0.6; /* share of the draws */

double final_draws(int k)
{
    return LEAST_NETWORK * LEAST_PASSES * SAMPLER_REPEATS * k;
}

double final_network_share(const rounds *c)
{
    const double outside = c->n_rounds ? c->round[c->n_rounds - 1].spread : 0;
    const double share = outside > 0 ? outside / (outside + c->inside) : 0;
    return fmax(LEAST_NETWORK, fmin(share, MOST_NETWORK));
}

double final_pass_trees(const rounds *c, int k)
{
    const tree_table *t = &c->table;
    const double share = final_network_share(c), draws = (double)SAMPLER_REPEATS * k;
    const double all = tree_table_log_sum(t, 0, 0);
    double trees = draws * share; /* if all of them are outside the table */
    for (size_t i = 0; i < t->count; i++)
        trees += fmin(1, draws * (1 - share) * exp(t->log_evidence[i] - all));
    return trees;
}

int final_sampling_create(final_sampling **out, rounds *c, branch_model *branches,
                          const taxa *names, const final_settings *settings)
{
    const sampler_settings plan = {settings->particles, settings->sample, final_network_share(c),
                                   settings->seed};
    *out = NULL;
    if (settings->particles < 2 || settings->passes < 1 ||
        settings->passes > INT32_MAX / SAMPLER_REPEATS / settings->particles)
        return ART_ERR_USAGE;
    final_sampling *a = mem_zeros(1, sizeof *a);
    if (!a)
        return ART_ERR_NOMEM;
    a->c = c;
    a->branches = branches;
    a->set = *settings;
    rounds_use_averaged_weights(c);
    int status = topology_model_freeze(c->trees, settings->cache > 0 ? settings->cache : 1);
    if (!status && topology_model_can(c->trees, TOPOLOGY_FLATTEN)) /* others propose as they are */
        status = topology_model_flatten(c->trees, FLATNESS);
    if (!status)
        status = tree_sampler_create(&a->sampler, c, names, &plan);
    if (status)
        final_sampling_free(a);
    else
        *out = a;
    return status;
}

void final_sampling_free(final_sampling *a)
{
    if (!a)
        return;
    trainer_free(a->trainer);
    if (a->fit)
        a->fit->ops->free(a->fit);
    tree_sampler_free(a->sampler);
    topology_model_freeze(a->c->trees, 0);
    free(a);
}

void final_sampling_finish_now(final_sampling *a)
{
    a->finish_now = true;
}

/* An error that is small because the large weights have not been met yet is none; but there is an
 * end to waiting for them. */
static bool is_enough(const final_sampling *a, int passes)
{
    return passes >= LEAST_PASSES && tree_sampler_error(a->sampler) <= a->set.error &&
           (passes >= DOUBTFUL_PASSES || !evidence_is_doubtful(tree_sampler_pareto(a->sampler)));
}

/* After a pass: whether it was the last. */
static bool is_over(const final_sampling *a)
{
    const int passes = tree_sampler_passes(a->sampler);
    return passes > 0 && tree_sampler_between(a->sampler) &&
           (a->finish_now || passes >= a->set.passes || is_enough(a, passes));
}

static int pass(final_sampling *a)
{
    int status = is_over(a) ? ART_OK : tree_sampler_advance(a->sampler);
    if (!status && is_over(a))
        a->stage = FINAL_LENGTHS;
    return status;
}

/* The amortised model of branch lengths, for draws beyond the table. */
static int begin_lengths(final_sampling *a)
{
    const particles *draws = tree_sampler_particles(a->sampler);
    const size_t k = (size_t)draws->k;
    train_settings plan = train_defaults();
    plan.steps = FINAL_LENGTH_STEPS;
    plan.branch_rate = LENGTH_RATE;
    plan.decay = 0.5;
    plan.decay_every = FINAL_LENGTH_STEPS / 8;
    double *weight = mem_zeros(k, sizeof *weight), top = -HUGE_VAL;
    if (!weight)
        return ART_ERR_NOMEM;
    for (size_t i = 0; i < k; i++)
        top = fmax(top, draws->log_weight[i]);
    for (size_t i = 0; i < k; i++)
        weight[i] = exp(draws->log_weight[i] - top);
    int status = branch_density_create(&a->fit, a->branches, draws->decision, draws->length, weight,
                                       k, (int)affordable_trees(LENGTH_BATCH, draws->n_taxa, 1),
                                       PICKS_INDEPENDENT, a->set.seed);
    free(weight);
    return status ? status : trainer_create(&a->trainer, a->fit, &plan, a->c->threads);
}

static int fit_lengths(final_sampling *a, diag *d)
{
    int status = a->trainer ? ART_OK : begin_lengths(a);
    if (!status && a->trainer->step < FINAL_LENGTH_STEPS)
        status = trainer_advance(a->trainer, d);
    if (!status && (a->finish_now || a->trainer->step >= FINAL_LENGTH_STEPS))
        a->stage = FINAL_DONE;
    return status;
}

int final_sampling_advance(final_sampling *a, diag *d)
{
    switch (a->stage) {
    case FINAL_PASSES:
        return pass(a);
    case FINAL_LENGTHS:
        return fit_lengths(a, d);
    case FINAL_DONE:
        break;
    }
    return ART_OK;
}

int final_sampling_fields(final_sampling *a, saved_state *s)
{
    bool fits_lengths = a->trainer && !a->finish_now;
    tree_sampler_fields(a->sampler, s);
    state_bool(s, "final.fits_lengths", &fits_lengths);
    if (state_loaded(s) && fits_lengths && !is_over(a))
        state_refuse(s, "branch-length model fitted before the last pass");
    if (state_loaded(s) && fits_lengths) {
        a->stage = FINAL_LENGTHS;
        state_fail(s, begin_lengths(a));
    }
    if (s->status || !fits_lengths)
        return s->status;
    const size_t before = state_group(s, "lengths");
    trainer_fields(a->trainer, s);
    state_group_end(s, before);
    return s->status;
}

int final_sampling_finish(final_sampling *a, answer *out)
{
    const rounds *c = a->c;
    memset(out, 0, sizeof *out);
    int status = tree_sampler_finish(a->sampler, &out->evidence, &out->posterior, &out->facts);
    out->evidence.unfinished = !rounds_is_complete(c, &c->round[c->n_rounds - 1]);
    return status;
}
