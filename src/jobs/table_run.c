#include "jobs/table_run.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct table_run {
    run base;
    topology_model *trees;
    int64_t steps;
    int64_t reported;
    double objective;
    bool is_done;
} table_run;

static int advance(run *r, diag *d)
{
    (void)d;
    table_run *t = (table_run *)r;
    int status = topology_model_fit_step(t->trees, &t->objective, &t->is_done);
    t->steps++;
    return status;
}

static void progress(const run *r, run_progress *out)
{
    const table_run *t = (const table_run *)r;
    *out = (run_progress){.stage = "fitting",
                          .unit = "iterations",
                          .done = (double)t->steps,
                          .value = t->objective,
                          .is_done = t->is_done};
    snprintf(out->place, sizeof out->place, "iteration %lld", (long long)t->steps);
}

static int report(run *r, run_report *out)
{
    table_run *t = (table_run *)r;
    *out = (run_report){.step = t->steps};
    if (t->steps == t->reported || !isfinite(t->objective))
        return ART_OK;
    t->reported = t->steps;
    out->metrics = json_pack("{s:f}", "objective", t->objective);
    if (t->is_done)
        snprintf(out->text, sizeof out->text, "%lld iterations of EM, objective %.6f",
                 (long long)t->steps, t->objective);
    return out->metrics ? ART_OK : ART_ERR_NOMEM;
}

static int fields(run *r, saved_state *s)
{
    (void)r;
    (void)s;
    return ART_OK;
}

static void finish_now(run *r)
{
    (void)r;
}

static void free_run(run *r)
{
    free(r);
}

static const run_ops OPS = {advance, progress, report, fields, finish_now, free_run};

int table_run_create(run **out, topology_model *trees)
{
    table_run *t = mem_zeros(1, sizeof *t);
    *out = t ? &t->base : NULL;
    if (!t)
        return ART_ERR_NOMEM;
    t->base.ops = &OPS;
    t->trees = trees;
    t->objective = NAN;
    return ART_OK;
}

int64_t table_run_steps(const run *r)
{
    return ((const table_run *)r)->steps;
}

double table_run_objective(const run *r)
{
    return ((const table_run *)r)->objective;
}
