#include "cli/evaluation_options.h"

#include "artreeformer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const option EVALUATION_OPTIONS[] = {
    OPTION_HEADING("Evaluation"),
    OPTION_INT(evaluation_settings, particles, "--evidence-particles", OPTIONAL, 1, 1e7,
               "draws per estimate of the evidence"),
    OPTION_INT(evaluation_settings, repeats, "--evidence-repeats", OPTIONAL, 1, 1e5,
               "number of estimates (with infer --method collapsed: maximum number of passes of "
               "ten estimates each)"),
    OPTION_SIZE(evaluation_settings, cache, "--cache-memory", LOCAL,
                "memory for caching partial trees that are drawn repeatedly"),
    OPTION_END,
};

const option SAMPLE_OPTIONS[] = {
    OPTION_INT(evaluation_settings, sample, "--posterior-sample", OPTIONAL, 1, 1e7,
               "number of posterior trees to write"),
    OPTION_END,
};

int evaluation_check(session *s, const evaluation_settings *set, int estimates)
{
    if (set->repeats <= INT32_MAX / estimates / set->particles)
        return ART_OK;
    return diag_error(&s->diag, ART_ERR_USAGE, (diag_place){0},
                      "--evidence-particles %lld and --evidence-repeats %lld make more than %d "
                      "draws -- reduce one of them",
                      (long long)set->particles, (long long)set->repeats, INT32_MAX);
}

/* Appends a value if it exists: there is no bound if some draws have weight 0, and no standard
 * deviation of a single repeat. */
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
             "%s%s%seffective sample size %.0f of %ld%s, %zu distinct tree%s",
             v->log_evidence, spread, v->log_evidence_se, *bounds ? "lower bounds: " : "",
             *bounds ? bounds + strlen(", ") : "", *bounds ? "\n" : "", v->ess, v->total, k,
             e->posterior.trees.count, e->posterior.trees.count == 1 ? "" : "s");
    evaluation_warn(s, e);
}

void evaluation_warn(session *s, const evaluation *e)
{
    const char *warning[EVIDENCE_WARNINGS];
    const int n = evidence_warnings(warning, &e->evidence);
    for (int i = 0; i < n; i++)
        log_warning(&s->log, "%s", warning[i]);
}
