#include "cli/evaluation_options.h"

#include "artreeformer.h"
#include "base/format.h"
#include "results/page.h"

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
    const evidence v = verdict_shown(&e->verdict, &e->evidence);
    char bounds[128] = "", spread[64] = "", error[64] = ", standard error: not known";
    add_figure(spread, sizeof spread, "standard deviation of one estimate", 3, v.log_evidence_sd);
    add_figure(bounds, sizeof bounds, "1 sample", 3, v.lower_bound_1);
    add_figure(bounds, sizeof bounds, "10 samples", 3, v.lower_bound_10);
    if (!verdict_shows_errors(&e->verdict))
        snprintf(error, sizeof error, ", standard error: %s", verdict_no_error(&e->verdict));
    else if (isfinite(v.log_evidence_se))
        snprintf(error, sizeof error, ", standard error %.3f", v.log_evidence_se);
    char sample[PAGE_FIGURE_SIZE], ess[FORMAT_SIZE], draws[FORMAT_SIZE], trees[FORMAT_ITEMS];
    char value[192] = "log evidence: not estimated";
    if (isfinite(v.log_evidence))
        snprintf(value, sizeof value, "log evidence %.3f%s%s", v.log_evidence, spread, error);
    page_sample(sample, &e->posterior);
    log_info(&s->log,
             "%s\n"
             "%s%s%seffective sample size %s of %s, %s",
             value, *bounds ? "lower bounds: " : "", *bounds ? bounds + strlen(", ") : "",
             *bounds ? "\n" : "",
             format_count(ess, sizeof ess, v.ess > 0 ? (uint64_t)llround(v.ess) : 0),
             format_count(draws, sizeof draws, (uint64_t)v.total),
             format_items(trees, sizeof trees, e->posterior.trees.count, "distinct tree",
                          "distinct trees"));
    if (*sample)
        log_info(&s->log, "posterior sample: %s", sample);
}

/* Also with --quiet if it is a warning. */
static void say_line(session *s, const verdict *v)
{
    char line[VERDICT_LINE];
    verdict_line(line, v);
    if (!v->converged && s->log.level < LOG_INFO)
        log_warning(&s->log, "verdict: %s", line);
    else
        log_info(&s->log, "verdict: %s", line);
}

void evaluation_say_verdict(session *s, const evaluation *e)
{
    const verdict *v = &e->verdict;
    verdict_figure figure[VERDICT_FIGURES];
    const int count = verdict_figures(figure, v, &e->evidence);
    if (!v->is_given)
        return;
    say_line(s, v);
    for (int i = verdict_first_other(v); i < v->n_warnings; i++)
        log_warning(&s->log, "%s", v->warning[i]);
    for (int i = 0; i < count; i++)
        log_info(&s->log, *figure[i].customary ? "%s: %s (customary: %s)" : "%s: %s%s",
                 figure[i].name, figure[i].value, figure[i].customary);
}

void evaluation_warn(session *s, const evaluation *e)
{
    for (int i = 0; i < e->verdict.n_warnings; i++)
        log_warning(&s->log, "%s", e->verdict.warning[i]);
}
