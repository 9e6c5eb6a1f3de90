#include "jobs/variational_run.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct variational_run {
    run base;
    run *training;
    particle_source source;
    const taxa *names;
    evaluation_settings set;
    evaluator *evaluator; /* NULL during training */
} variational_run;

static bool is_trained(const variational_run *v)
{
    run_progress now;
    v->training->ops->progress(v->training, &now);
    return now.is_done;
}

static int advance(run *r, diag *d)
{
    variational_run *v = (variational_run *)r;
    if (!is_trained(v))
        return v->training->ops->advance(v->training, d);
    int status =
        v->evaluator ? ART_OK : evaluator_create(&v->evaluator, &v->source, v->names, &v->set);
    return status ? status : evaluator_advance(v->evaluator);
}

static void progress(const run *r, run_progress *out)
{
    const variational_run *v = (const variational_run *)r;
    v->training->ops->progress(v->training, out);
    if (!out->is_done)
        return;
    const evaluator *e = v->evaluator;
    out->stage = "evidence";
    out->unit = "draws";
    out->done = e ? evaluator_draws(e) : 0;
    out->total = (double)v->set.particles * (double)v->set.repeats;
    out->is_resumable = false;
    out->is_done = v->set.repeats == 0 || (e && evaluator_is_done(e));
    snprintf(out->detail, sizeof out->detail, "distinct trees: %zu",
             e ? evaluator_topologies(e) : 0);
}

static int report(run *r, run_report *out)
{
    variational_run *v = (variational_run *)r;
    return v->training->ops->report(v->training, out);
}

static int fields(run *r, saved_state *s)
{
    variational_run *v = (variational_run *)r;
    return v->training->ops->fields(v->training, s);
}

/* Training ends; the evaluation is made whole. */
static void finish_now(run *r)
{
    variational_run *v = (variational_run *)r;
    v->training->ops->finish_now(v->training);
}

static void free_run(run *r)
{
    variational_run *v = (variational_run *)r;
    evaluator_free(v->evaluator);
    v->training->ops->free(v->training);
    free(v);
}

static const run_ops OPS = {advance, progress, report, fields, finish_now, free_run};

int variational_run_create(run **out, trainer *t, const training_view *view,
                           const particle_source *source, const taxa *names,
                           const evaluation_settings *settings)
{
    *out = NULL;
    variational_run *v = mem_zeros(1, sizeof *v);
    if (!v)
        return ART_ERR_NOMEM;
    v->base.ops = &OPS;
    v->source = *source;
    v->names = names;
    v->set = *settings;
    int status = trainer_run_create(&v->training, t, view);
    if (status)
        free(v);
    else
        *out = &v->base;
    return status;
}

int variational_run_finish(run *r, evaluation *out)
{
    variational_run *v = (variational_run *)r;
    memset(out, 0, sizeof *out);
    return v->evaluator ? evaluator_finish(v->evaluator, out) : ART_OK;
}
