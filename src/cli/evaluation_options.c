#include "cli/evaluation_options.h"

#include "artreeformer.h"

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

int evaluation_check(session *s, const evaluation_settings *set, int estimates)
{
    if (set->repeats <= INT32_MAX / estimates / set->particles)
        return ART_OK;
    return diag_error(&s->diag, ART_ERR_USAGE, (diag_place){0},
                      "--evidence-particles %lld and --evidence-repeats %lld make more than %d "
                      "draws -- lower one of them",
                      (long long)set->particles, (long long)set->repeats, INT32_MAX);
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
