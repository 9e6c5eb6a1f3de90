#include "train/trainer.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "io/tensor_parts.h"
#include "train/defaults.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

train_settings train_defaults(void)
{
    return (train_settings){.steps = PUBLISHED_STEPS,
                            .anneal_from = ANNEAL_FROM,
                            .tree_rate = PUBLISHED_RATE,
                            .branch_rate = PUBLISHED_BRANCH_RATE,
                            .decay = PUBLISHED_DECAY,
                            .decay_every = PUBLISHED_DECAY_EVERY,
                            .verify_every = VERIFY_EVERY};
}

static optim_settings optimiser(const train_settings *set, double rate, double average)
{
    optim_settings o = optim_defaults(rate);
    o.decay = set->decay;
    o.every = set->decay_every;
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
        job->trees->ops->changed(job->trees);
    if (job->branches)
        job->branches->ops->changed(job->branches);
}

double trainer_anneal(const trainer *t)
{
    if (t->set.anneal_steps <= 0)
        return 1;
    return fmin(1, t->set.anneal_from + (double)t->step / (double)t->set.anneal_steps);
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
    t->scalar[TRAIN_LOSS] += done->loss;
    t->scalar[TRAIN_NORM] += norm;
    t->scalar[TRAIN_DISTINCT] += done->distinct;
    t->scalar[TRAIN_WORK_DONE] += work.done;
    t->scalar[TRAIN_WORK_UNSHARED] += work.unshared;
    t->scalar[TRAIN_COUNTED]++;
    if (isfinite(done->best) &&
        (t->scalar[TRAIN_HAS_BEST] == 0 || done->best > t->scalar[TRAIN_BEST])) {
        t->scalar[TRAIN_BEST] = done->best;
        t->scalar[TRAIN_HAS_BEST] = 1;
    }
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
    t->step++;
    t->skipped += !finite;
    t->skipped_in_row = finite ? 0 : t->skipped_in_row + 1;
    if (t->skipped_in_row >= TRAIN_SKIPS)
        return diag_error(d, ART_ERR_NUMERIC, (diag_place){0},
                          "the loss or its gradient was not a number in %d steps in a row, up to "
                          "step %lld -- lower the learning rates",
                          TRAIN_SKIPS, (long long)t->step);
    if (t->set.verify_every && t->step % t->set.verify_every == 0)
        return job->ops->verify(job, d);
    return ART_OK;
}

void trainer_report(trainer *t, train_report *out)
{
    const double n = t->scalar[TRAIN_COUNTED];
    double unshared = t->scalar[TRAIN_WORK_UNSHARED];
    *out = (train_report){
        .step = t->step,
        .objective = n > 0 ? -t->scalar[TRAIN_LOSS] / n : (double)NAN,
        .best = t->scalar[TRAIN_HAS_BEST] != 0 ? t->scalar[TRAIN_BEST] : (double)NAN,
        .gradient_norm = n > 0 ? t->scalar[TRAIN_NORM] / n : (double)NAN,
        .rate = optim_rate(&t->part[0]->settings, t->step),
        .anneal = trainer_anneal(t),
        .distinct = n > 0 ? t->scalar[TRAIN_DISTINCT] / n : (double)NAN,
        .saved = unshared > 0 ? 1 - t->scalar[TRAIN_WORK_DONE] / unshared : 0,
        .skipped = t->skipped,
    };
    memset(t->scalar, 0, TRAIN_BEST * sizeof t->scalar[0]);
}

void trainer_swap_average(trainer *t)
{
    params *p = &t->job->trees->params;
    for (size_t i = 0; i < p->total; i++) {
        real value = p->value[i];
        p->value[i] = t->trees.average[i];
        t->trees.average[i] = value;
    }
    t->job->trees->ops->changed(t->job->trees);
}

/* Of an optimiser's tensors in a checkpoint. */
static const char *prefix(const trainer *t, const optim *o)
{
    return o == &t->trees ? "optim." : "optim.branches.";
}

/* What a checkpoint holds of the loop itself. */
enum { PARTS = 2 };

static const char *counts_name(bool has_trees)
{
    return has_trees ? "train.counts" : "train.branches.counts";
}

static void list_parts(tensor_part out[PARTS], trainer *t)
{
    const bool has_trees = t->job->trees != NULL;
    out[0] = (tensor_part){counts_name(has_trees), TENSOR_I64, 1, TRAIN_COUNTS, t->saved_counts};
    out[1] = (tensor_part){has_trees ? "train.sums" : "train.branches.sums", TENSOR_F64, 1,
                           TRAIN_SCALARS, t->scalar};
}

int trainer_save(trainer *t, safetensors *s)
{
    task *job = t->job;
    tensor_part list[PARTS];
    t->saved_counts[0] = t->step;
    t->saved_counts[1] = t->skipped;
    t->saved_counts[2] = t->skipped_in_row;
    list_parts(list, t);
    int status = tensor_parts_save(s, list, PARTS);
    for (int i = 0; i < t->parts && !status; i++) {
        const optim *o = t->part[i];
        status = params_store(s, o->p, o->p->value, "");
        if (!status)
            status = optim_store(s, o, prefix(t, o));
    }
    return status ? status : job->ops->save(job, s);
}

bool trainer_is_saved(const safetensors *s, bool has_trees)
{
    return safetensors_find(s, counts_name(has_trees)) != NULL;
}

int trainer_load(trainer *t, safetensors *s, const char *file, diag *d)
{
    task *job = t->job;
    tensor_part list[PARTS];
    list_parts(list, t);
    int status = tensor_parts_load(list, PARTS, s, file, d);
    for (int i = 0; i < t->parts && !status; i++) {
        optim *o = t->part[i];
        status = params_load(o->p->value, o->p, s, "", file, d);
        if (!status)
            status = optim_load(o, s, prefix(t, o), file, d);
    }
    if (!status)
        status = job->ops->load(job, s, file, d);
    t->step = t->saved_counts[0];
    t->skipped = t->saved_counts[1];
    t->skipped_in_row = t->saved_counts[2];
    changed(job);
    return status;
}
