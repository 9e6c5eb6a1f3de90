#include "results/verdict.h"

#include "artreeformer.h"
#include "io/json_number.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char VERDICT_TRAIN[] = "Train longer, and compare runs with other seeds.";

const char *verdict_remedy(bool is_cut)
{
    return is_cut ? "Allow more time."
                  : "The run came to its end by itself: compare runs with other seeds.";
}

void verdict_init(verdict *v)
{
    *v = (verdict){.is_given = true,
                   .converged = true,
                   .has_evidence_error = true,
                   .asdsf = NAN,
                   .largest_deviation = NAN,
                   .r_hat = NAN,
                   .ess_log_density = NAN,
                   .ess_splits = NAN};
}

void verdict_warn(verdict *v, bool is_fatal, const char *format, ...)
{
    const int at = is_fatal ? v->n_fatal : v->n_warnings;
    if (is_fatal)
        v->converged = v->has_evidence_error = false;
    if (at == VERDICT_WARNINGS)
        return;
    if (v->n_warnings < VERDICT_WARNINGS)
        v->n_warnings++;
    memmove(v->warning[at + 1 < VERDICT_WARNINGS ? at + 1 : at], v->warning[at],
            (size_t)(v->n_warnings - 1 - at) * VERDICT_TEXT);
    v->n_fatal += is_fatal;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(v->warning[at], VERDICT_TEXT, format, arguments);
    va_end(arguments);
}

static void judge_weights(verdict *v, double k, const char *remedy)
{
    if (isinf(k) && k > 0)
        verdict_warn(v, true,
                     "There are too few draws to assess how reliable the result is (no Pareto k): "
                     "do not depend on it. Allow more draws.");
    else if (k >= 1)
        verdict_warn(v, true,
                     "Nearly all the weight is on a few draws (Pareto k is %.2f; below 0.7 is "
                     "needed): the log evidence and the probabilities of trees are meaningless. %s",
                     k, remedy);
    else if (evidence_is_doubtful(k))
        verdict_warn(v, true,
                     "Much of the weight is on a few draws (Pareto k is %.2f; below 0.7 is "
                     "needed): the log evidence and the probabilities of trees are unreliable, and "
                     "their errors are not known. %s",
                     k, remedy);
}

void verdict_of_search(verdict *v, const evidence *e)
{
    if (e->unfinished)
        verdict_warn(v, true,
                     "The search for trees is unfinished%s: trees with considerable posterior "
                     "probability may be missing, other trees and splits then seem too probable, "
                     "and the log evidence is too low. Allow more %s.",
                     e->cut ? " because the time limit ended it" : "", e->cut ? "time" : "rounds");
    else if (e->cut)
        verdict_warn(v, true,
                     "The run is unfinished: the time limit ended it before its criteria were met. "
                     "Take the result as a first look, and allow more time for one to report.");
}

void verdict_of_evidence(verdict *v, const evidence *e, const char *remedy)
{
    verdict_of_search(v, e);
    judge_weights(v, e->pareto_k, remedy);
    if (e->failed)
        verdict_warn(v, false,
                     "For %ld of %ld draws the branch lengths could not be fitted, and these draws "
                     "count as 0. A few of them do not matter; if they are many, the log evidence "
                     "is too low: check the alignment for sequences that are almost empty.",
                     e->failed, e->total);
}

bool verdict_shows_errors(const verdict *v)
{
    return !v->is_given || v->has_evidence_error;
}

bool verdict_shows_split_errors(const verdict *v)
{
    return !v->is_given || v->converged;
}

const char *verdict_no_error(const verdict *v)
{
    return v->is_given && v->converged ? "not known (see the warning)"
                                       : "not known (not converged)";
}

bool verdict_search_is_finished(const evidence *e)
{
    return !e->unfinished && !e->cut;
}

evidence verdict_shown(const verdict *v, const evidence *e)
{
    evidence shown = *e;
    if (!verdict_shows_errors(v))
        shown.log_evidence_se = shown.log_evidence_sd = shown.outside_se = NAN;
    if (!verdict_search_is_finished(e))
        shown.outside = shown.outside_se = NAN;
    return shown;
}

void verdict_line(char text[VERDICT_LINE], const verdict *v)
{
    if (v->converged)
        snprintf(text, VERDICT_LINE, "converged");
    else
        snprintf(text, VERDICT_LINE, "NOT CONVERGED%s%s", v->n_fatal ? " -- " : "",
                 v->n_fatal ? v->warning[0] : "");
}

int verdict_first_other(const verdict *v)
{
    return !v->converged && v->n_fatal ? 1 : 0;
}

int verdict_figures(verdict_figure figure[VERDICT_FIGURES], const verdict *v, const evidence *e)
{
    const struct {
        const char *name;
        double value;
        int decimals;
        const char *customary;
        const char *infinite; /* what infinity means */
    } row[VERDICT_FIGURES] = {
        {"average standard deviation of split frequencies", v->asdsf, 4, "below 0.01", ""},
        {"largest standard deviation of a split frequency", v->largest_deviation, 4, "", ""},
        {"R-hat of the log density", v->r_hat, 3, "below 1.01", "infinite"},
        {"effective sample size of the log density", v->ess_log_density, 0, "200 or more", ""},
        {"smallest effective sample size of a split", v->ess_splits, 0, "200 or more", ""},
        {"Pareto k", e->pareto_k, 2, "below 0.7", "not known"},
    };
    int count = 0;
    for (int i = v->is_given ? 0 : VERDICT_FIGURES - 1; i < VERDICT_FIGURES; i++) {
        verdict_figure *f = &figure[count];
        if (isnan(row[i].value) || (isinf(row[i].value) && row[i].value < 0))
            continue;
        f->name = row[i].name;
        f->customary = row[i].customary;
        if (isinf(row[i].value))
            snprintf(f->value, sizeof f->value, "%s", row[i].infinite);
        else
            snprintf(f->value, sizeof f->value, "%.*f", row[i].decimals, row[i].value);
        count++;
    }
    return count;
}

static int set_new(json_t *out, const char *key, json_t *value)
{
    return json_object_set_new(out, key, value) ? ART_ERR_NOMEM : ART_OK;
}

static json_t *warning_list(const verdict *v)
{
    json_t *list = json_array();
    for (int i = 0; list && i < v->n_warnings; i++)
        if (json_array_append_new(list, json_string(v->warning[i]))) {
            json_decref(list);
            return NULL;
        }
    return list;
}

int verdict_json(json_t *out, const verdict *v)
{
    const struct {
        const char *key;
        double value;
    } number[] = {
        {"asdsf", v->asdsf},           {"largest_split_deviation", v->largest_deviation},
        {"r_hat", v->r_hat},           {"ess_log_density", v->ess_log_density},
        {"ess_splits", v->ess_splits},
    };
    if (!v->is_given)
        return ART_OK;
    int status = set_new(out, "converged", json_boolean(v->converged));
    if (!status)
        status = set_new(out, "warnings", warning_list(v));
    for (size_t i = 0; i < sizeof number / sizeof number[0] && !status; i++)
        status = json_set_number(out, number[i].key, number[i].value);
    return status;
}
