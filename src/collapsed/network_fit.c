#include "collapsed/network_fit.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "collapsed/affordable.h"
#include "train/density_task.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void network_fit_init(network_fit *f, topology_model *q, const collapsed_settings *settings,
                      pool *threads)
{
    *f = (network_fit){.q = q,
                       .set = settings->fit,
                       .affordable = settings->affordable,
                       .seed = settings->seed,
                       .threads = threads,
                       .rate = settings->fit.rate,
                       .fit_kl = HUGE_VAL};
}

static void forget_targets(network_fit *f)
{
    if (f->job)
        f->job->ops->free(f->job);
    f->job = NULL;
    fit_targets_free(&f->targets);
}

void network_fit_free(network_fit *f)
{
    trainer_free(f->trainer);
    forget_targets(f);
    free(f->best);
    *f = (network_fit){0};
}

int64_t network_fit_steps(const network_fit *f)
{
    return f->trainer ? f->trainer->step : 0;
}

void network_fit_swap(network_fit *f)
{
    trainer_swap_average(f->trainer);
}

/* Distinct trees of a systematic batch, expected. */
static double expected_distinct(const fit_targets *t, int batch)
{
    double sum = 0;
    for (size_t i = 0; i < t->count; i++)
        sum += fmin(1, batch * t->weight[i]);
    return sum;
}

/* Trees of a step of polishing: a step costs what its distinct trees cost, so where few trees have
 * most of the weight a batch may be larger. */
static int polish_batch(const network_fit *f)
{
    const int least = f->set.polish_batch;
    int batch = f->set.growth * least;
    while (batch > least && expected_distinct(&f->targets, batch) > least)
        batch /= 2;
    return batch > least ? batch : least;
}

/* The trees to fit to, and the trainer for them. */
static int set_targets(network_fit *f, const tree_table *table)
{
    const fit_targets *to = &f->targets;
    forget_targets(f);
    int status = fit_targets_choose(&f->targets, table, f->set.targets);
    const int batch = f->polishing ? polish_batch(f) : f->set.batch;
    if (!status)
        status = density_create(&f->job, f->q, to->decision, to->weight, to->count, batch,
                                PICKS_SYSTEMATIC, f->seed);
    if (status)
        return status;
    if (f->trainer) {
        f->trainer->job = f->job;
        return ART_OK;
    }
    train_settings plan = train_defaults();
    plan.tree_rate = f->set.rate;
    plan.decay = 1;
    plan.average = f->set.average;
    plan.average_from = f->set.average_from;
    plan.clip = f->set.clip;
    return trainer_create(&f->trainer, f->job, &plan, f->threads);
}

static int make_best(network_fit *f)
{
    if (!f->best)
        f->best = mem_zeros(f->q->params.total, sizeof *f->best);
    return f->best ? ART_OK : ART_ERR_NOMEM;
}

/* The average weights now are the best. */
static void keep_best(network_fit *f)
{
    memcpy(f->best, f->trainer->trees.average, f->q->params.total * sizeof *f->best);
    f->best_gap = f->fit_kl;
}

/* Weights and average are the best again. The optimiser's means stay: those of the squares are
 * large after an accident, and the next steps small. */
static void return_to_best(network_fit *f)
{
    const size_t bytes = f->q->params.total * sizeof *f->best;
    memcpy(f->trainer->trees.average, f->best, bytes);
    memcpy(f->q->params.value, f->best, bytes);
    topology_model_changed(f->q);
    f->fit_kl = f->best_gap;
}

static int measure_kl(network_fit *f)
{
    trainer_swap_average(f->trainer);
    int status =
        fit_targets_gap(&f->fit_kl, &f->targets, f->q,
                        affordable_trees(&f->affordable, f->set.gap_trees, f->q->n_taxa, 2));
    trainer_swap_average(f->trainer);
    return status;
}

int network_fit_begin(network_fit *f, const tree_table *t, bool polishing)
{
    f->polishing = polishing;
    int status = set_targets(f, t);
    if (!status && polishing)
        status = make_best(f);
    if (!status && polishing) /* the table is not the one that it was fitted to */
        status = measure_kl(f);
    if (status)
        return status;
    f->before = f->trainer->step;
    if (polishing) { /* a larger batch has less noise: the rate may be higher */
        f->rate = f->set.rate * sqrt((double)polish_batch(f) / f->set.polish_batch);
        keep_best(f);
    } else {
        f->fit_kl = HUGE_VAL;
    }
    f->gap_before = f->fit_kl;
    return ART_OK;
}

static int fit_step(network_fit *f, bool finish_now, bool *over, diag *d)
{
    int status = finish_now && f->trainer->step > 0 ? ART_OK : trainer_advance(f->trainer, d);
    const int64_t steps = f->trainer->step - f->before;
    *over = finish_now || steps >= f->set.steps;
    if (status || (!*over && steps % f->set.look_every))
        return status;
    status = measure_kl(f);
    *over |= f->fit_kl <= f->set.fit_kl ||
             (steps >= f->set.least_steps && f->fit_kl > f->set.fall * f->gap_before);
    f->gap_before = f->fit_kl;
    return status;
}

/* The gap falls like one over the steps: the windows grow with them. */
static bool window_ends(const network_fit_settings *set, int64_t steps)
{
    int64_t end = set->window;
    while (end < steps) {
        const int64_t part = end / set->window_part / set->look_every * set->look_every;
        end += part > set->window ? part : set->window;
    }
    return end == steps;
}

/* If the weights went astray they come back, and go on more slowly. */
static int look_at_gap(network_fit *f)
{
    int status = measure_kl(f);
    if (status)
        return status;
    if (f->fit_kl < f->best_gap) {
        keep_best(f);
    } else if (!(f->fit_kl <= f->set.lost * f->best_gap)) {
        return_to_best(f);
        f->rate *= f->set.decay;
    }
    return ART_OK;
}

static int polish_step(network_fit *f, bool finish_now, bool *over, diag *d)
{
    const int64_t steps = f->trainer->step - f->before + 1;
    /* a time limit that asked for polishing may be gone when the run goes on */
    *over = finish_now || !(f->set.polish > 0) || f->fit_kl <= f->set.polish ||
            f->rate < f->set.least_rate;
    if (*over) {
        return_to_best(f);
        return ART_OK;
    }
    optim_settings *set = &f->trainer->trees.settings;
    set->rate = f->rate * fmin(1, sqrt(f->set.steady / (double)steps));
    set->average = fmax(f->set.average, 1 - f->set.recent / (double)steps);
    int status = trainer_advance(f->trainer, d);
    if (!status && steps % f->set.look_every == 0)
        status = look_at_gap(f);
    if (status || !window_ends(&f->set, steps))
        return status;
    if (f->fit_kl > (1 - f->set.gain) * f->gap_before)
        f->rate *= f->set.decay;
    f->gap_before = f->fit_kl;
    return ART_OK;
}

int network_fit_step(network_fit *f, bool finish_now, bool *over, diag *d)
{
    return (f->polishing ? polish_step : fit_step)(f, finish_now, over, d);
}

/* The weights that had the least gap, if there are any. */
static void best_fields(network_fit *f, saved_state *s)
{
    bool has_best = f->best != NULL;
    state_bool(s, "fit.has_best", &has_best);
    if (state_loaded(s) && f->polishing && !has_best)
        state_refuse(s, "final fit without its best weights");
    if (state_loaded(s) && has_best)
        state_fail(s, make_best(f));
    state_f64(s, "fit.best_gap", &f->best_gap);
    const size_t before = state_group(s, "best");
    if (has_best)
        params_fields(&f->q->params, f->best, s);
    state_group_end(s, before);
}

int network_fit_fields(network_fit *f, const tree_table *t, saved_state *s)
{
    bool has_begun = f->trainer != NULL;
    state_bool(s, "fit.has_begun", &has_begun);
    if (!has_begun)
        return s->status;
    if (state_loaded(s) && t->count == 0)
        state_refuse(s, "a fit without trees");
    state_bool(s, "fit.polishing", &f->polishing);
    if (state_loaded(s))
        state_fail(s, set_targets(f, t));
    state_i64_in(s, "fit.before", &f->before, 0, INT64_MAX);
    state_f64(s, "fit.rate", &f->rate);
    state_f64(s, "fit.gap", &f->fit_kl);
    state_f64(s, "fit.gap_before", &f->gap_before);
    best_fields(f, s);
    return s->status ? s->status : trainer_fields(f->trainer, s);
}
