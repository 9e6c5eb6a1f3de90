#include "jobs/estimate.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "jobs/job_parts.h"
#include "base/host.h"
#include "train/density_task.h"
#include "train/trainer.h"
#include "train/variational_task.h"
#include "collapsed/search.h"
#include "branch/evidence_batch.h"
#include "subst/model_string.h"

#include <math.h>
#include <stdlib.h>

enum { STEPS = 3, TREES = 16 };

static const branch_prior PRIOR = {BRANCH_PRIOR_EXPONENTIAL, 10};

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

static int estimate_vbpi(estimate *out, const alignment *a, const estimate_sizes *z, pool *threads)
{
    const int k = z->particles;
    alignment part;
    double scale = take_part(&part, a), before = peak_memory();
    job_parts j = {0};
    subst_model model;
    int status = model_string_parse(&model, "JC", &part, NULL);
    if (!status)
        status = make_trees(&j, part.n_taxa, &z->trees, threads);
    if (!status)
        status = branch_model_create(&j.branches, &z->branches, part.n_taxa, threads);
    if (!status)
        status = target_likelihood(&j.goal, &part, NULL, &model, k, threads);
    if (!status) {
        const particle_source source = {j.trees, j.branches, j.goal, PRIOR, 1};
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

/* The mode of a tree's branch lengths: in proportion to the taxa. */
static int time_trees(double *seconds, const alignment *a, const subst_model *model, pool *threads)
{
    alignment part;
    const double scale = sqrt(take_part(&part, a));
    const size_t edges = 2 * (size_t)part.n_taxa - 3, n_decisions = (size_t)part.n_taxa - 3;
    branch_posterior problem = {0};
    evidence_batch *team = NULL;
    evidence_job fit[TREES] = {{0}};
    int32_t *decision = random_trees(TREES, part.n_taxa);
    double *length = mem_zeros(TREES * edges, sizeof *length);
    int status = decision && length ? branch_posterior_init(&problem, &part, NULL, model, PRIOR)
                                    : ART_ERR_NOMEM;
    if (!status)
        status = evidence_batch_create(&team, &problem, threads);
    for (size_t i = 0; i < TREES * edges && !status; i++)
        length[i] = branch_prior_mean(PRIOR);
    for (size_t i = 0; i < TREES && !status; i++)
        fit[i] = (evidence_job){.decision = decision + i * n_decisions,
                                .length = length + i * edges,
                                .tolerance = BRANCH_TOLERANCE};
    const double start = clock_seconds();
    if (!status)
        evidence_batch_run(team, fit, TREES);
    *seconds = scale * (clock_seconds() - start) / TREES;
    evidence_batch_free(team);
    branch_posterior_free(&problem);
    free(decision);
    free(length);
    return status;
}

static int estimate_collapsed(estimate *out, const alignment *a, const estimate_sizes *z,
                              pool *threads)
{
    branch_posterior problem = {0};
    subst_model model;
    const search_settings explore = collapsed_defaults(1).search;
    const int n_threads = pool_threads(threads);
    int status = model_string_parse(&model, "JC", a, NULL);
    if (!status)
        status = branch_posterior_init(&problem, a, NULL, &model, PRIOR);
    if (!status)
        status = time_fit(&out->fit_seconds, a, z, threads);
    if (!status)
        status = time_trees(&out->tree_seconds, a, &model, threads);
    if (!status) /* the networks are those of the other method */
        out->bytes = out->vbpi_bytes + (double)tree_search_memory(&problem, &explore, n_threads) +
                     n_threads * (double)topology_evidence_memory(&problem);
    branch_posterior_free(&problem);
    return status;
}

int estimate_infer(estimate *out, const alignment *a, const estimate_sizes *sizes, pool *threads)
{
    int status = estimate_vbpi(out, a, sizes, threads);
    return status ? status : estimate_collapsed(out, a, sizes, threads);
}
