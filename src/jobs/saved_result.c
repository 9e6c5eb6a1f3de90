#include "jobs/saved_result.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static void evidence_fields(evidence *e, saved_state *s)
{
    const struct {
        const char *name;
        double *value;
    } number[] = {
        {"log_evidence", &e->log_evidence},
        {"log_evidence_sd", &e->log_evidence_sd},
        {"log_evidence_se", &e->log_evidence_se},
        {"log_mean_weight", &e->log_mean_weight},
        {"lower_bound_1", &e->lower_bound_1},
        {"lower_bound_10", &e->lower_bound_10},
        {"lower_bound_k", &e->lower_bound_k},
        {"ess", &e->ess},
        {"pareto_k", &e->pareto_k},
        {"outside", &e->outside},
        {"outside_se", &e->outside_se},
    };
    int64_t total = e->total, failed = e->failed;
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        state_f64(s, number[i].name, number[i].value);
    state_i64_in(s, "total", &total, 0, LONG_MAX);
    state_i64_in(s, "failed", &failed, 0, LONG_MAX);
    e->total = (long)total;
    e->failed = (long)failed;
    state_bool(s, "unfinished", &e->unfinished);
    state_bool(s, "cut", &e->cut);
}

static void verdict_fields(verdict *v, saved_state *s)
{
    state_bool(s, "is_given", &v->is_given);
    state_bool(s, "converged", &v->converged);
    state_bool(s, "has_evidence_error", &v->has_evidence_error);
    state_int_in(s, "n_warnings", &v->n_warnings, 0, VERDICT_WARNINGS);
    state_int_in(s, "n_fatal", &v->n_fatal, 0, v->n_warnings);
    state_u8_array(s, "warning", (uint8_t *)v->warning, VERDICT_WARNINGS, VERDICT_TEXT);
    for (int i = 0; i < VERDICT_WARNINGS && state_loaded(s); i++)
        v->warning[i][VERDICT_TEXT - 1] = '\0';
    state_f64(s, "asdsf", &v->asdsf);
    state_f64(s, "largest_deviation", &v->largest_deviation);
    state_f64(s, "r_hat", &v->r_hat);
    state_f64(s, "ess_log_density", &v->ess_log_density);
    state_f64(s, "ess_splits", &v->ess_splits);
}

/* What a posterior has in addition once it is finished. */
static void finished_fields(posterior *p, saved_state *s)
{
    state_f64(s, "trees.share", &p->trees.share);
    state_f64(s, "sample_ess", &p->sample_ess);
    state_f64_array(s, "splits.common", p->splits.common, p->splits.count, 1);
}

/* The posterior has one block with this model. */
static int set_model(posterior *p, const free_model *model)
{
    const parameter_block block = {.model = *model, .share = 1, .multiplier = 1};
    block_parameters free;
    int status = block_parameters_init(&free, &block, 1, false);
    if (!status)
        status = posterior_set_parameters(p, &free);
    block_parameters_free(&free);
    return status;
}

static void result_posterior_fields(posterior *p, const taxa *names, const free_model *model,
                                    saved_state *s)
{
    int64_t seed = (int64_t)p->seed;
    state_int_in(s, "room", &p->room, 1, INT_MAX);
    state_i64(s, "seed", &seed);
    if (state_loaded(s)) {
        state_fail(s, posterior_init(p, names, p->room, ROWS_BY_WEIGHT, true, (uint64_t)seed));
        if (model->n_free && !s->status)
            state_fail(s, set_model(p, model));
    }
    if (!s->status)
        posterior_fields(p, s);
    if (!s->status)
        finished_fields(p, s);
}

/* The facts, as the text that JSON is. */
static void facts_fields(json_t **facts, saved_state *s)
{
    char *text = s->is_loading ? NULL : json_dumps(*facts, JSON_COMPACT);
    const size_t length = state_rows(s, "facts", text ? strlen(text) : 0, 1);
    char *kept = state_memory(s, length + 1, 1);
    if (kept && text)
        memcpy(kept, text, length);
    free(text);
    if (kept)
        state_u8_array(s, "facts", (uint8_t *)kept, length, 1);
    if (!state_loaded(s))
        return;
    *facts = json_loads(kept, 0, NULL);
    if (!json_is_object(*facts))
        state_refuse(s, "facts that are not an object");
}

int saved_result_fields(infer_result *r, const taxa *names, const free_model *model, saved_state *s)
{
    size_t before = state_group(s, "evidence");
    evidence_fields(&r->evaluation.evidence, s);
    state_group_end(s, before);
    before = state_group(s, "verdict");
    verdict_fields(&r->evaluation.verdict, s);
    state_group_end(s, before);
    before = state_group(s, "posterior");
    result_posterior_fields(&r->evaluation.posterior, names, model, s);
    state_group_end(s, before);
    facts_fields(&r->facts, s);
    return s->status;
}
