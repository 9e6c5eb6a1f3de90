#include "cli/evaluation.h"

#include "artreeformer.h"
#include "cli/progress.h"
#include "cli/run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const option EVALUATION_OPTIONS[] = {
    OPTION_HEADING("Evaluation"),
    OPTION_INT(evaluation_settings, particles, "--evidence-particles", OPTIONAL, 1, 1e7,
               "draws behind one estimate of the evidence"),
    OPTION_INT(evaluation_settings, repeats, "--evidence-repeats", OPTIONAL, 1, 1e5,
               "how often it is estimated (infer --method collapsed: passes of ten such estimates, "
               "at most)"),
    OPTION_SIZE(evaluation_settings, cache, "--cache-memory", LOCAL,
                "memory for partial trees that are drawn again and again"),
    OPTION_END,
};

const option SAMPLE_OPTIONS[] = {
    OPTION_INT(evaluation_settings, sample, "--posterior-sample", OPTIONAL, 1, 1e7,
               "draws that are written"),
    OPTION_END,
};

int evaluation_settle(session *s, const evaluation_settings *set, int estimates)
{
    if (set->repeats <= INT32_MAX / estimates / set->particles)
        return ART_OK;
    return diag_error(&s->diag, ART_ERR_USAGE, (diag_place){0},
                      "--evidence-particles %lld and --evidence-repeats %lld make more than %d "
                      "draws -- lower one of them",
                      (long long)set->particles, (long long)set->repeats, INT32_MAX);
}

typedef struct watcher {
    evaluation *out;
    progress line;
    double done;
    evaluation_stop *stop;
    const void *context;
} watcher;

static int observe(void *context, const particles *batch)
{
    watcher *w = context;
    if (w->stop && w->stop(w->context))
        return ART_ERR_STOPPED;
    w->done += batch->k;
    progress_update(&w->line, w->done, "%zu distinct trees", w->out->posterior.trees.count);
    return posterior_add(&w->out->posterior, batch);
}

int evaluation_run(evaluation *out, session *s, const particle_source *source, const taxa *names,
                   const evaluation_settings *set, evaluation_stop *stop, const void *context)
{
    memset(out, 0, sizeof *out);
    topology_model *trees = source->trees;
    evidence_settings plan = {(int)set->particles, (int)set->repeats};
    watcher w = {.out = out, .stop = stop, .context = context};
    const bool has_lengths = source->branches != NULL;
    int status =
        posterior_init(&out->posterior, names, (int)set->sample,
                       has_lengths ? ROWS_BY_WEIGHT : ROWS_AS_DRAWN, has_lengths, source->seed);
    if (!status)
        status = topology_model_freeze(trees, (size_t)set->cache);
    progress_start(&w.line, &s->log, "evidence", "draws",
                   (double)set->particles * (double)set->repeats, 0);
    if (!status)
        status = evidence_run(&out->evidence, source, &plan, observe, &w);
    progress_end(&w.line);
    if (!status)
        status = posterior_finish(&out->posterior);
    int thawed = topology_model_freeze(trees, 0);
    return status ? status : thawed;
}

void evaluation_free(evaluation *e)
{
    posterior_free(&e->posterior);
    memset(e, 0, sizeof *e);
}

json_t *evaluation_json(const evaluation *e, const evaluation_settings *set)
{
    const evidence *v = &e->evidence;
    const struct {
        const char *key;
        double value;
    } number[] = {
        {"log_evidence", v->log_evidence},
        {"log_evidence_sd", v->log_evidence_sd},
        {"log_evidence_se", v->log_evidence_se},
        {"log_mean_weight", v->log_mean_weight},
        {"lower_bound_1", v->lower_bound_1},
        {"lower_bound_10", v->lower_bound_10},
        {"ess", v->ess},
        {"pareto_k", v->pareto_k},
    };
    json_t *out = json_object();
    int status = out ? ART_OK : ART_ERR_NOMEM;
    for (size_t i = 0; i < sizeof number / sizeof number[0] && !status; i++)
        status = results_number(out, number[i].key, number[i].value);
    if (!status && set->particles == 1000)
        status = results_number(out, "lower_bound_1000", v->lower_bound_k);
    if (!status && json_object_set_new(out, "distinct_trees",
                                       json_integer((json_int_t)e->posterior.trees.count)))
        status = ART_ERR_NOMEM;
    if (status) {
        json_decref(out);
        return NULL;
    }
    return out;
}

/* Appends a figure that there is: not bounds where some draws have no weight at all, and not what
 * a single repeat has none of. */
static void add_figure(char *text, size_t size, const char *name, int decimals, double value)
{
    const size_t used = strlen(text);
    if (isfinite(value))
        snprintf(text + used, size - used, ", %s %.*f", name, decimals, value);
}

void evaluation_say(session *s, const evaluation *e)
{
    const evidence *v = &e->evidence;
    char bounds[128] = "", spread[64] = "", k[32] = "";
    add_figure(spread, sizeof spread, "standard deviation of one estimate", 3, v->log_evidence_sd);
    add_figure(bounds, sizeof bounds, "1 sample", 3, v->lower_bound_1);
    add_figure(bounds, sizeof bounds, "10 samples", 3, v->lower_bound_10);
    add_figure(k, sizeof k, "Pareto k", 2, v->pareto_k);
    log_info(&s->log,
             "log evidence %.3f%s, standard error %.3f\n"
             "%s%s%seffective sample size %.0f of %ld%s, %zu distinct trees",
             v->log_evidence, spread, v->log_evidence_se, *bounds ? "lower bounds: " : "",
             *bounds ? bounds + strlen(", ") : "", *bounds ? "\n" : "", v->ess, v->total, k,
             e->posterior.trees.count);
    evaluation_warn(s, e);
}

void evaluation_warn(session *s, const evaluation *e)
{
    const char *warning[EVIDENCE_WARNINGS];
    const int n = evidence_warnings(warning, &e->evidence);
    for (int i = 0; i < n; i++)
        log_warning(&s->log, "%s", warning[i]);
}
