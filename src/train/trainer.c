#include "train/trainer.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "train/defaults.h"

#include <math.h>
#include <stdlib.h>

enum { COOLING_PART = 4 }; /* one in so many steps, after an early end of training */

train_settings train_defaults(void)
{
    return (train_settings){.steps = PUBLISHED_STEPS,
                            .anneal_from = ANNEAL_FROM,
                            .tree_rate = PUBLISHED_RATE,
                            .branch_rate = PUBLISHED_BRANCH_RATE,
                            .decay = PUBLISHED_DECAY,
                            .decay_every = PUBLISHED_DECAY_EVERY,
                            .beta2 = PUBLISHED_BETA2,
                            .verify_every = VERIFY_EVERY};
}

static optim_settings optimiser(const train_settings *set, double rate, double average)
{
    optim_settings o = optim_defaults(rate);
    o.decay = set->decay;
    o.every = set->decay_every;
    o.beta2 = set->beta2;
    o.nesterov = set->nesterov;
    o.steps = set->steps;
    o.cooling = set->cooling;
    o.average = average;
    o.average_at = set->average_from;
    return o;
}

static int add_part(trainer *t, optim *part, params *p, optim_settings settings, pool *threads)
{
    int status = optim_init(part, p, settings, threads);
    if (!status)
        t->part[t->parts++] = part;
    return status;
}

int trainer_create(trainer **out, task *job, const train_settings *settings, pool *threads)
{
    *out = NULL;
    trainer *t = mem_zeros(1, sizeof *t);
    if (!t)
        return ART_ERR_NOMEM;
    t->job = job;
    t->set = *settings;
    t->last_objective = NAN;
    t->best = -HUGE_VAL;
    int status = ART_OK;
    if (job->trees)
        status = add_part(t, &t->trees, &job->trees->params,
                          optimiser(settings, settings->tree_rate, settings->average), threads);
    if (!status && job->branches)
        status = add_part(t, &t->branches, &job->branches->params,
                          optimiser(settings, settings->branch_rate, 0), threads);
    if (status)
        trainer_free(t);
    else
        *out = t;
    return status;
}

void trainer_free(trainer *t)
{
    if (!t)
        return;
    optim_free(&t->trees);
    optim_free(&t->branches);
    free(t);
}

/* The models' parameters are not what they were. */
static void changed(task *job)
{
    if (job->trees)
        topology_model_changed(job->trees);
    if (job->branches)
        branch_model_changed(job->branches);
}

double trainer_anneal(const trainer *t)
{
    if (t->set.anneal_steps <= 0)
        return 1;
    const double part = (double)t->step / (double)t->set.anneal_steps, from = t->set.anneal_from;
    return t->set.anneal_shape == ANNEAL_LINEAR ? fmin(1, from + part)
                                                : pow(from, 1 - fmin(1, part));
}

/* Norm of all gradients; ART_ERR_NUMERIC if one is not finite. */
static int gradient_norm(trainer *t, double *norm)
{
    int status = ART_OK;
    *norm = 0;
    for (int i = 0; i < t->parts && !status; i++) {
        double part;
        status = optim_norm(t->part[i], &part);
        *norm = hypot(*norm, part);
    }
    return status;
}

static void update(trainer *t, double scale)
{
    for (int i = 0; i < t->parts; i++)
        optim_update(t->part[i], scale);
    changed(t->job);
}

static void count_step(trainer *t, const task_step *done, double norm)
{
    const topology_work work = t->job->trees ? t->job->trees->work : (topology_work){0};
    t->sums.steps++;
    t->sums.loss += done->loss;
    t->sums.norm += norm;
    t->sums.distinct += done->distinct;
    t->sums.work_done += work.done;
    t->sums.work_unshared += work.unshared;
    if (isfinite(done->best) && done->best > t->best)
        t->best = done->best;
}

/* The task's step, from cleared gradients. */
static int compute(trainer *t, task_step *done)
{
    task *job = t->job;
    for (int i = 0; i < t->parts; i++)
        params_clear_grad(t->part[i]->p);
    return job->ops->step(job, done, (uint32_t)t->step, trainer_anneal(t));
}

int trainer_warm(trainer *t)
{
    task_step done;
    double norm;
    if (t->step >= t->set.steps)
        return ART_OK;
    int status = compute(t, &done);
    if (!status)
        gradient_norm(t, &norm);
    return status;
}

int trainer_advance(trainer *t, diag *d)
{
    task *job = t->job;
    task_step done;
    double norm;
    int status = compute(t, &done);
    if (status)
        return status;
    int finite = isfinite(done.loss) && gradient_norm(t, &norm) == ART_OK;
    if (finite) {
        update(t, optim_clip(norm, t->set.clip));
        count_step(t, &done, norm);
    }
    t->last_objective = finite ? -done.loss : (double)NAN;
    t->step++;
    t->skipped += !finite;
    t->skipped_in_row = finite ? 0 : t->skipped_in_row + 1;
    if (t->skipped_in_row >= TRAIN_SKIPS)
        return diag_error(d, ART_ERR_NUMERIC, (diag_place){0},
                          "the loss or its gradient was NaN or infinite in %d consecutive steps, "
                          "up to step %lld -- reduce the learning rates",
                          TRAIN_SKIPS, (long long)t->step);
    if (t->set.verify_every && t->step % t->set.verify_every == 0)
        return job->ops->verify(job, d);
    return ART_OK;
}

/* The schedule from step `from` on. */
static void cool(trainer *t, int64_t from)
{
    const int64_t steps = from / COOLING_PART + 1;
    t->cooled_at = from;
    t->set.steps = from + steps;
    for (int i = 0; i < t->parts; i++) {
        optim_settings *s = &t->part[i]->settings;
        s->rate = optim_rate(s, from);
        s->every = 0;
        s->steps = from + steps;
        s->cooling = steps;
    }
}

void trainer_cool(trainer *t)
{
    if (t->cooled_at == 0 && t->step > 0 && t->step + t->step / COOLING_PART + 1 < t->set.steps)
        cool(t, t->step);
}

void trainer_report(trainer *t, train_report *out)
{
    const train_sums *sums = &t->sums;
    const double n = sums->steps, unshared = sums->work_unshared;
    *out = (train_report){
        .step = t->step,
        .objective = n > 0 ? -sums->loss / n : (double)NAN,
        .best = isfinite(t->best) ? t->best : (double)NAN,
        .gradient_norm = n > 0 ? sums->norm / n : (double)NAN,
        .rate = optim_rate(&t->part[0]->settings, t->step),
        .anneal = trainer_anneal(t),
        .distinct = n > 0 ? sums->distinct / n : (double)NAN,
        .saved = unshared > 0 ? 1 - sums->work_done / unshared : 0,
        .skipped = t->skipped,
    };
    t->sums = (train_sums){0};
}

void trainer_swap_average(trainer *t)
{
    params *p = &t->job->trees->params;
    for (size_t i = 0; i < p->total; i++) {
        real value = p->value[i];
        p->value[i] = t->trees.average[i];
        t->trees.average[i] = value;
    }
    topology_model_changed(t->job->trees);
}

int trainer_fields(trainer *t, saved_state *s)
{
    task *job = t->job;
    state_i64_in(s, "train.step", &t->step, 0, INT64_MAX);
    state_i64_in(s, "train.skipped", &t->skipped, 0, INT64_MAX);
    state_i64_in(s, "train.skipped_in_row", &t->skipped_in_row, 0, TRAIN_SKIPS);
    int64_t cooled_at = t->cooled_at;
    state_i64_in(s, "train.cooled_at", &cooled_at, 0, t->step);
    if (state_loaded(s) && cooled_at > 0)
        cool(t, cooled_at);
    state_f64(s, "train.best", &t->best);
    state_f64(s, "train.sum.steps", &t->sums.steps);
    state_f64(s, "train.sum.loss", &t->sums.loss);
    state_f64(s, "train.sum.norm", &t->sums.norm);
    state_f64(s, "train.sum.distinct", &t->sums.distinct);
    state_f64(s, "train.sum.work_done", &t->sums.work_done);
    state_f64(s, "train.sum.work_unshared", &t->sums.work_unshared);
    for (int i = 0; i < t->parts; i++) {
        optim *o = t->part[i];
        params_fields(o->p, o->p->value, s);
        const size_t before = state_group(s, o == &t->trees ? "optim.trees" : "optim.branches");
        optim_fields(o, s);
        state_group_end(s, before);
    }
    if (job->ops->fields)
        job->ops->fields(job, s);
    if (s->is_loading)
        changed(job);
    return s->status;
}
