#include "train/trainer_run.h"

#include "artreeformer.h"
#include "base/format.h"
#include "base/host.h"
#include "base/mem.h"
#include "io/json_number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct trainer_run {
    run base;
    trainer *trainer;
    training_view view;
    bool is_warm;
    bool finish_now;
    int64_t reported; /* the step of the last report */
    int64_t last_step;
    double last_clock; /* of the last report, for the rate */
} trainer_run;

static int advance(run *r, diag *d)
{
    trainer_run *t = (trainer_run *)r;
    int status = ART_OK;
    if (!t->is_warm) {
        status = trainer_warm(t->trainer);
        t->is_warm = true;
        t->last_step = t->reported = t->trainer->step;
        t->last_clock = clock_seconds();
    }
    if (!status)
        status = trainer_advance(t->trainer, d);
    return status || !t->view.look ? status : t->view.look(t->view.context);
}

static void progress(const run *r, run_progress *out)
{
    const trainer_run *t = (const trainer_run *)r;
    const trainer *loop = t->trainer;
    *out = (run_progress){.stage = t->view.stage,
                          .unit = "steps",
                          .done = (double)loop->step,
                          .total = (double)loop->set.steps,
                          .value = loop->last_objective,
                          .is_resumable = true,
                          .is_done = t->finish_now || loop->step >= loop->set.steps};
    snprintf(out->detail, sizeof out->detail, "annealing at %.3g", trainer_anneal(loop));
    snprintf(out->place, sizeof out->place, "step %lld of %lld", (long long)loop->step,
             (long long)loop->set.steps);
}

/* The metrics of the steps since the last report. */
static json_t *metrics_of(const trainer_run *t, const train_report *now, double rate)
{
    json_t *line =
        json_pack("{s:f, s:f, s:f, s:I}", "learning_rate", now->rate, "anneal", now->anneal,
                  "work_saved", now->saved, "skipped", (json_int_t)now->skipped);
    if (!line)
        return NULL;
    json_set_number(line, t->view.objective, now->objective);
    json_set_number(line, "gradient_norm", now->gradient_norm);
    json_set_number(line, "distinct_trees", now->distinct);
    if (t->view.best && isfinite(now->best))
        json_object_set_new(line, t->view.best, json_real(t->view.best_sign * now->best));
    json_object_set_new(line, "steps_per_second", json_real(rate));
    return line;
}

static int report(run *r, run_report *out)
{
    trainer_run *t = (trainer_run *)r;
    trainer *loop = t->trainer;
    *out = (run_report){.step = loop->step};
    if (loop->step == t->reported || loop->step % t->view.report_every)
        return ART_OK;
    train_report now;
    char more[512] = "", best[64] = "", left[FORMAT_SIZE];
    trainer_report(loop, &now);
    const double clock = clock_seconds();
    const double rate = (double)(now.step - t->last_step) / fmax(clock - t->last_clock, 1e-9);
    t->last_clock = clock;
    t->last_step = t->reported = now.step;
    out->metrics = metrics_of(t, &now, rate);
    if (!out->metrics)
        return ART_ERR_NOMEM;
    if (t->view.best && isfinite(now.best))
        snprintf(best, sizeof best, ", best %.*f", t->view.best_sign > 0 ? 2 : 0,
                 t->view.best_sign * now.best);
    int status =
        t->view.more ? t->view.more(t->view.context, out->metrics, more, sizeof more) : ART_OK;
    snprintf(out->text, sizeof out->text,
             "step %lld of %lld: %s %.3f%s%s, gradient %.3g, rate %.3g, anneal %.3g, %.1f steps/s, "
             "%s left, %.1f distinct trees, %.0f %% of the work saved%s",
             (long long)now.step, (long long)loop->set.steps, t->view.objective, now.objective,
             best, more, now.gradient_norm, now.rate, now.anneal, rate,
             format_seconds(left, sizeof left, (double)(loop->set.steps - now.step) / rate),
             now.distinct, 100 * now.saved, now.skipped ? " (some steps skipped)" : "");
    return status;
}

static int fields(run *r, saved_state *s)
{
    trainer_run *t = (trainer_run *)r;
    int status = trainer_fields(t->trainer, s);
    if (state_loaded(s))
        t->reported = t->trainer->step; /* a step is reported before it is saved */
    return status;
}

static void finish_now(run *r)
{
    ((trainer_run *)r)->finish_now = true;
}

static void free_run(run *r)
{
    free(r);
}

static const run_ops OPS = {advance, progress, report, fields, finish_now, free_run};

int trainer_run_create(run **out, trainer *t, const training_view *view)
{
    trainer_run *r = mem_zeros(1, sizeof *r);
    *out = r ? &r->base : NULL;
    if (!r)
        return ART_ERR_NOMEM;
    r->base.ops = &OPS;
    r->trainer = t;
    r->view = *view;
    r->last_clock = clock_seconds();
    return ART_OK;
}
