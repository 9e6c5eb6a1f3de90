#include "cli/estimate.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "cli/banner.h"
#include "cli/job.h"
#include "cli/progress.h"
#include "model/artreeformer_model.h"
#include "model/branch_lognormal.h"
#include "phylo/model_string.h"

#include <math.h>

enum { STEPS = 3 };

static int measure(double *seconds, job *j, particle_source source, int k, pool *threads)
{
    train_settings plan = train_defaults();
    *seconds = INFINITY;
    int status = variational_create(&j->task, &source, k, ESTIMATOR_VIMCO_GEOMETRIC);
    if (!status)
        status = trainer_create(&j->trainer, j->task, &plan, threads);
    for (int i = 0; i < STEPS && !status; i++) {
        double start = clock_seconds();
        status = trainer_warm(j->trainer);
        *seconds = fmin(*seconds, clock_seconds() - start);
    }
    return status;
}

int estimate_infer(estimate *out, const alignment *a, int hidden, int heads, int branch_hidden,
                   int k, pool *threads)
{
    alignment part = *a; /* rows are one after another: the first n are an alignment too */
    if (part.n_taxa > ESTIMATE_TAXA)
        part.n_taxa = ESTIMATE_TAXA;
    double scale = pow((double)a->n_taxa / part.n_taxa, 2), before = peak_memory();
    job j = {0};
    subst_model model;
    int status = model_string_parse(&model, "JC", &part, NULL);
    if (!status)
        status = artreeformer_create(&j.trees, part.n_taxa, hidden, heads, threads);
    if (!status)
        status = branch_lognormal_create(&j.branches, part.n_taxa, branch_hidden, threads);
    if (!status)
        status = target_likelihood(&j.goal, &part, NULL, &model, k, threads);
    if (!status) {
        j.trees->ops->initialise(j.trees, 1);
        j.branches->ops->initialise(j.branches, 1);
        status = measure(&out->step_seconds, &j,
                         (particle_source){j.trees, j.branches, j.goal, 10, 1}, k, threads);
    }
    out->step_seconds *= scale;
    out->bytes = before + scale * (peak_memory() - before);
    job_free(&j);
    return status;
}
