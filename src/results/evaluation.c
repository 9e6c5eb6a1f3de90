#include "results/evaluation.h"

#include "artreeformer.h"
#include "base/interval.h"
#include "base/mem.h"
#include "io/json_number.h"
#include "results/parameters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct evaluator {
    topology_model *trees;
    evidence_sampling *sampling;
    posterior posterior;
    double draws;
};

int evaluator_create(evaluator **out, const particle_source *source, const taxa *names,
                     const evaluation_settings *set)
{
    *out = NULL;
    const bool has_lengths = source->branches != NULL;
    const evidence_settings plan = {(int)set->particles, (int)set->repeats};
    evaluator *e = mem_zeros(1, sizeof *e);
    if (!e)
        return ART_ERR_NOMEM;
    e->trees = source->trees;
    int status =
        posterior_init(&e->posterior, names, (int)set->sample,
                       has_lengths ? ROWS_BY_WEIGHT : ROWS_AS_DRAWN, has_lengths, source->seed);
    if (!status)
        status = topology_model_freeze(e->trees, (size_t)set->cache);
    if (!status)
        status = evidence_sampling_create(&e->sampling, source, &plan);
    if (status)
        evaluator_free(e);
    else
        *out = e;
    return status;
}

void evaluator_free(evaluator *e)
{
    if (!e)
        return;
    evidence_sampling_free(e->sampling);
    posterior_free(&e->posterior);
    topology_model_freeze(e->trees, 0);
    free(e);
}

int evaluator_advance(evaluator *e)
{
    const particles *batch;
    int status = evidence_sampling_advance(e->sampling, &batch);
    if (status)
        return status;
    e->draws += batch->k;
    return posterior_add(&e->posterior, batch);
}

bool evaluator_is_done(const evaluator *e)
{
    return evidence_sampling_is_done(e->sampling);
}

double evaluator_draws(const evaluator *e)
{
    return e->draws;
}

size_t evaluator_topologies(const evaluator *e)
{
    return e->posterior.trees.count;
}

int evaluator_finish(evaluator *e, evaluation *out)
{
    memset(out, 0, sizeof *out);
    evidence_sampling_finish(e->sampling, &out->evidence);
    int status = posterior_finish(&e->posterior);
    out->posterior = e->posterior;
    memset(&e->posterior, 0, sizeof e->posterior);
    return status;
}

void evaluation_free(evaluation *e)
{
    posterior_free(&e->posterior);
    memset(e, 0, sizeof *e);
}

void evaluation_judge(evaluation *e)
{
    verdict_init(&e->verdict);
    verdict_of_evidence(&e->verdict, &e->evidence, VERDICT_TRAIN);
}

int evaluation_figures(json_t *out, const evaluation *e, int64_t k)
{
    const evidence v = verdict_shown(&e->verdict, &e->evidence);
    const struct {
        const char *key;
        double value;
    } number[] = {
        {"log_evidence", v.log_evidence},
        {"log_evidence_sd", v.log_evidence_sd},
        {"log_evidence_se", v.log_evidence_se},
        {"log_mean_weight", v.log_mean_weight},
        {"lower_bound_1", v.lower_bound_1},
        {"lower_bound_10", v.lower_bound_10},
        {"ess", v.ess},
        {"pareto_k", v.pareto_k},
    };
    int status = ART_OK;
    for (size_t i = 0; i < sizeof number / sizeof number[0] && !status; i++)
        status = json_set_number(out, number[i].key, number[i].value);
    if (!status && k == 1000)
        status = json_set_number(out, "lower_bound_1000", v.lower_bound_k);
    if (!status && json_object_set_new(out, "distinct_trees",
                                       json_integer((json_int_t)e->posterior.trees.count)))
        status = ART_ERR_NOMEM;
    return status;
}

/* {"mean": .., "median": .., "hpd95": [.., ..]} */
static int set_range(json_t *out, const char *key, const double *value, size_t n)
{
    interval range;
    int status = interval_of(&range, value, NULL, n, 0.95);
    if (status || isnan(range.mean))
        return status;
    json_t *object = json_pack("{s:f, s:f, s:[f, f]}", "mean", range.mean, "median", range.median,
                               "hpd95", range.low, range.high);
    return object && !json_object_set_new(out, key, object) ? ART_OK : ART_ERR_NOMEM;
}

int evaluation_sample(json_t *out, const posterior *p)
{
    const size_t rows = (size_t)p->count;
    if (p->rows == ROWS_AS_DRAWN || !p->has_lengths || !rows)
        return ART_OK;
    json_t *sample = json_object();
    int status = sample ? ART_OK : ART_ERR_NOMEM;
    if (!status)
        status = set_range(sample, "log_likelihood", p->value, rows);
    if (!status)
        status = set_range(sample, "log_prior", p->log_prior, rows);
    if (!status && json_object_set(out, "sample", sample))
        status = ART_ERR_NOMEM;
    json_decref(sample);
    return status;
}

json_t *evaluation_json(const evaluation *e, int64_t k)
{
    json_t *out = json_object();
    int status = out ? verdict_json(out, &e->verdict) : ART_ERR_NOMEM;
    if (!status)
        status = evaluation_figures(out, e, k);
    if (!status)
        status = json_set_number(out, "sample_ess", e->posterior.sample_ess);
    if (!status && e->posterior.n_columns)
        status = json_object_set_new(out, "parameters", parameters_json(&e->posterior))
                     ? ART_ERR_NOMEM
                     : ART_OK;
    if (!status)
        status = evaluation_sample(out, &e->posterior);
    if (status) {
        json_decref(out);
        return NULL;
    }
    return out;
}
