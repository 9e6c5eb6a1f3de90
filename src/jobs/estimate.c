#include "jobs/estimate.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "jobs/job_parts.h"
#include "base/host.h"
#include "train/density_task.h"
#include "train/trainer.h"
#include "train/variational_task.h"
#include "collapsed/settings.h"

#include <math.h>
#include <stdlib.h>

enum { STEPS = 3, TABLE_TREES = 2000, LEARNING_STEPS = 200 };

/* The fastest of a few steps of j's task. */
static int measure(double *seconds, job_parts *j, pool *threads)
{
    train_settings plan = train_defaults();
    *seconds = INFINITY;
    int status = trainer_create(&j->trainer, j->task, &plan, threads);
    for (int i = 0; i < STEPS && !status; i++) {
        double start = clock_seconds();
        status = trainer_warm(j->trainer);
        *seconds = fmin(*seconds, clock_seconds() - start);
    }
    return status;
}

/* The first rows are an alignment too, because rows are one after another. Returns how much more
 * the whole takes. */
static double take_part(alignment *part, const alignment *a)
{
    *part = *a;
    if (part->n_taxa > ESTIMATE_TAXA)
        part->n_taxa = ESTIMATE_TAXA;
    return pow((double)a->n_taxa / part->n_taxa, 2);
}

static int make_trees(job_parts *j, int n_taxa, const topology_config *config, pool *threads)
{
    int status = topology_model_create(&j->trees, config, n_taxa, threads);
    if (!status)
        topology_model_initialise(j->trees, 1);
    return status;
}

/* Free parameters are where a search for them starts: what a likelihood takes does not depend on
 * them. */
static int estimate_vbpi(estimate *out, const estimate_subject *subject, const estimate_sizes *z,
                         pool *threads)
{
    const int k = z->particles;
    alignment part;
    double scale = take_part(&part, subject->alignment), before = peak_memory();
    job_parts j = {0};
    int status = make_trees(&j, part.n_taxa, &z->trees, threads);
    if (!status)
        status = branch_model_create(&j.branches, &z->branches, part.n_taxa, threads);
    if (!status)
        status = target_likelihood(&j.goal, &part, NULL, &subject->model->fixed, k, threads);
    if (!status) {
        const particle_source source = {j.trees, j.branches, j.goal, subject->prior, 1};
        branch_model_initialise(j.branches, 1);
        status = variational_create(&j.task, &source, k, ESTIMATOR_VIMCO_GEOMETRIC);
    }
    if (!status)
        status = measure(&out->vbpi_step_seconds, &j, threads);
    out->vbpi_step_seconds *= scale;
    out->vbpi_bytes = before + scale * (peak_memory() - before);
    job_parts_free(&j);
    return status;
}

/* count random trees of n taxa. */
static int32_t *random_trees(size_t count, int n_taxa)
{
    const size_t n_decisions = (size_t)n_taxa - 3;
    int32_t *decision = mem_zeros(count * n_decisions, sizeof *decision);
    rng stream = rng_at(1, RNG_TOPOLOGY, 0, 0);
    for (size_t i = 0; decision && i < count; i++)
        for (size_t k = 0; k < n_decisions; k++)
            decision[i * n_decisions + k] = (int32_t)rng_below(&stream, (uint32_t)(2 * k + 3));
    return decision;
}

/* A step of fitting the network to a table. */
static int time_fit(double *seconds, const alignment *a, const estimate_sizes *z, pool *threads)
{
    alignment part;
    const double scale = take_part(&part, a);
    const size_t batch = (size_t)z->batch;
    job_parts j = {0};
    int32_t *decision = random_trees(batch, part.n_taxa);
    double *weight = mem_zeros(batch, sizeof *weight);
    int status = decision && weight ? ART_OK : ART_ERR_NOMEM;
    for (size_t i = 0; i < batch && !status; i++)
        weight[i] = 1;
    if (!status)
        status = make_trees(&j, part.n_taxa, &z->trees, threads);
    if (!status)
        status = density_create(&j.task, j.trees, decision, weight, batch, z->batch,
                                PICKS_SYSTEMATIC, 1);
    if (!status)
        status = measure(seconds, &j, threads);
    *seconds *= scale;
    job_parts_free(&j);
    free(decision);
    free(weight);
    return status;
}

/* Where a table holds the posterior: a thousand trees or two, or as many as there are, and a
 * network that learns them in a few hundred steps. However few they are, there are so many draws.
 */
static double table_seconds(const estimate *e, const collapsed_settings *set)
{
    const double climbs = set->search.starts + set->search.idle_starts;
    const double trees = fmin(TABLE_TREES, e->chains.reached);
    const double draws = (double)set->final.least_passes * SAMPLER_REPEATS * set->sampler.particles;
    const double evaluated = fmax(trees, draws / set->answer.length_draws);
    return e->chains.parameters + climbs * e->chains.climb + trees * e->chains.expand +
           LEARNING_STEPS * e->fit_seconds + evaluated * e->chains.evaluate;
}

static int estimate_collapsed(estimate *out, const estimate_subject *subject,
                              const estimate_sizes *z, pool *threads)
{
    const collapsed_settings set = collapsed_defaults(1);
    int status = time_fit(&out->fit_seconds, subject->alignment, z, threads);
    if (!status)
        status = estimate_chains(&out->chains, subject, threads);
    if (!status) { /* the networks are those of the other method */
        out->table_seconds = table_seconds(out, &set);
        out->table_bytes = out->vbpi_bytes + out->chains.search_bytes;
    }
    return status;
}

int estimate_infer(estimate *out, const estimate_subject *subject, const estimate_sizes *sizes,
                   pool *threads)
{
    const double before = peak_memory();
    int status = estimate_vbpi(out, subject, sizes, threads);
    if (!status)
        status = estimate_collapsed(out, subject, sizes, threads);
    out->chain_bytes = before + out->chains.bytes;
    return status;
}
