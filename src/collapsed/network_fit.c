#include "collapsed/network_fit.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "collapsed/affordable.h"
#include "train/density_task.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_TARGETS = 50000,
    LOOK_EVERY = 100,   /* steps between two looks at the gap */
    GAP_TREES = 1024,   /* that it is measured on, fewer with many taxa */
    FIT_LEAST = 200,    /* steps of a fit */
    AVERAGE_FROM = 100, /* step at which the average begins */
    /* Of polishing: */
    GROWTH = 10,   /* of the batch, at most */
    WINDOW = 300,  /* steps in which the gap must fall by GAIN, or the rate does; .. */
    PART = 5,      /* .. later this part of the steps before */
    RECENT = 10,   /* part of the steps that the average is over */
    STEADY = 1000, /* steps at the full rate; then it goes with one over their root */
};

static const double FIT_FALL = 0.95; /* what LOOK_EVERY steps must make of the gap */
static const double AVERAGE = 0.99;  /* what the average keeps in a step */
static const double GAIN = 0.1, DECAY = 0.6, LEAST = 1e-5; /* of the rate */
static const double LOST = 2; /* times the least gap: back to the weights that had it */

network_fit_settings network_fit_defaults(uint64_t seed)
{
    return (network_fit_settings){.seed = seed,
                                  .batch = NETWORK_FIT_BATCH,
                                  .rate = NETWORK_FIT_RATE,
                                  .steps = NETWORK_FIT_STEPS,
                                  .fit_kl = 0.4,
                                  .polish_batch = 100};
}

void network_fit_init(network_fit *f, topology_model *q, const network_fit_settings *settings,
                      pool *threads)
{
    *f = (network_fit){
        .q = q, .set = *settings, .threads = threads, .rate = settings->rate, .fit_kl = HUGE_VAL};
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
    int batch = GROWTH * least;
    while (batch > least && expected_distinct(&f->targets, batch) > least)
        batch /= 2;
    return batch > least ? batch : least;
}

/* The trees to fit to, and the trainer for them. */
static int set_targets(network_fit *f, const tree_table *table)
{
    const fit_targets *to = &f->targets;
    forget_targets(f);
    int status = fit_targets_choose(&f->targets, table, MOST_TARGETS);
    const int batch = f->polishing ? polish_batch(f) : f->set.batch;
    if (!status)
        status = density_create(&f->job, f->q, to->decision, to->weight, to->count, batch,
                                PICKS_SYSTEMATIC, f->set.seed);
    if (status)
        return status;
    if (f->trainer) {
        f->trainer->job = f->job;
        return ART_OK;
    }
    train_settings plan = train_defaults();
    plan.tree_rate = f->set.rate;
    plan.decay = 1;
    plan.average = AVERAGE;
    plan.average_from = AVERAGE_FROM;
    plan.clip = 100;
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

static int measure_gap(network_fit *f)
{
    trainer_swap_average(f->trainer);
    int status = fit_targets_gap(&f->fit_kl, &f->targets, f->q,
                                 affordable_trees(GAP_TREES, f->q->n_taxa, 2));
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
        status = measure_gap(f);
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

static int fit_step(network_fit *f, bool hurry, bool *over, diag *d)
{
    int status = hurry && f->trainer->step > 0 ? ART_OK : trainer_advance(f->trainer, d);
    const int64_t steps = f->trainer->step - f->before;
    *over = hurry || steps >= f->set.steps;
    if (status || (!*over && steps % LOOK_EVERY))
        return status;
    status = measure_gap(f);
    *over |=
        f->fit_kl <= f->set.fit_kl || (steps >= FIT_LEAST && f->fit_kl > FIT_FALL * f->gap_before);
    f->gap_before = f->fit_kl;
    return status;
}

/* The gap falls like one over the steps: the windows grow with them. */
static bool window_ends(int64_t steps)
{
    int64_t end = WINDOW;
    while (end < steps) {
        const int64_t part = end / PART / LOOK_EVERY * LOOK_EVERY;
        end += part > WINDOW ? part : WINDOW;
    }
    return end == steps;
}

/* If the weights went astray they come back, and go on more slowly. */
static int look_at_gap(network_fit *f)
{
    int status = measure_gap(f);
    if (status)
        return status;
    if (f->fit_kl < f->best_gap) {
        keep_best(f);
    } else if (!(f->fit_kl <= LOST * f->best_gap)) {
        return_to_best(f);
        f->rate *= DECAY;
    }
    return ART_OK;
}

static int polish_step(network_fit *f, bool hurry, bool *over, diag *d)
{
    const int64_t steps = f->trainer->step - f->before + 1;
    /* a time limit that caused polishing may be absent when the run is resumed */
    *over = hurry || !(f->set.polish > 0) || f->fit_kl <= f->set.polish || f->rate < LEAST;
    if (*over) {
        return_to_best(f);
        return ART_OK;
    }
    optim_settings *set = &f->trainer->trees.settings;
    set->rate = f->rate * fmin(1, sqrt(STEADY / (double)steps));
    set->average = fmax(AVERAGE, 1 - RECENT / (double)steps);
    int status = trainer_advance(f->trainer, d);
    if (!status && steps % LOOK_EVERY == 0)
        status = look_at_gap(f);
    if (status || !window_ends(steps))
        return status;
    if (f->fit_kl > (1 - GAIN) * f->gap_before)
        f->rate *= DECAY;
    f->gap_before = f->fit_kl;
    return ART_OK;
}

int network_fit_step(network_fit *f, bool hurry, bool *over, diag *d)
{
    return (f->polishing ? polish_step : fit_step)(f, hurry, over, d);
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
