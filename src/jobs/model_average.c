#include "jobs/model_average.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "jobs/model_screen.h"
#include "jobs/saved_result.h"
#include "results/parameters.h"
#include "results/posterior_average.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double LEFT_OUT = 0.01;    /* probability of models that need not be run, together */
static const double SLACK = 3;          /* nats that their evidence may be above what one tree says,
                                           while only one model was run; then .. */
static const double LEAST_SLACK = 1;    /* .. this and .. */
static const double SPREAD = 2;         /* .. so many times the range of what trees have missed */
static const double SCREEN_SHARE = 0.2; /* of a time limit, for comparing models on one tree */
static const double LEAST_SHARE = 0.1;  /* of the time of the best model, for any that is run */
static const double LAST_START = 0.9;   /* of a time limit: no model is begun after that */
static const double NOTICEABLE = 0.01;  /* probability of a model whose verdict counts */
static const double LARGE_ERROR = 0.05; /* of the probability of a model */

struct model_average {
    run base;
    const dataset *data;
    infer_settings set;
    pool *threads;
    int n;
    free_model *model;               /* [n] */
    char (*name)[MODEL_STRING_SIZE]; /* [n] */
    model_screen *screen;            /* NULL with one model */
    bool *is_run;                    /* [n] */
    infer_result *result;            /* [n] of those that were run */
    int n_run;
    infer_job *job; /* that is under way; NULL between them */
    int current;    /* its model */
    double begun;   /* seconds of the run when it began */
    double limit;   /* seconds that it has; 0: no limit */
    bool is_done;
    bool is_cut;
    bool finish_now;
    interrupt stop;  /* of the screening */
    char said[1024]; /* for the log; "" if there is nothing */
    /* Of the result. */
    model_row *row; /* [n] most probable first */
    int *order;     /* [n] the model of each row */
    model_table table;
    infer_context context;
};

/* ---- which model is next ---- */

static double log_add(double a, double b)
{
    const double top = fmax(a, b);
    return isfinite(top) ? top + log1p(exp(fmin(a, b) - top)) : top;
}

static double log_evidence(const model_average *a, int m)
{
    return a->result[m].evaluation.evidence.log_evidence;
}

/* Log of what one tree contributes; with one model it does not matter. */
static double screened(const model_average *a, int m)
{
    return a->screen ? a->screen->value[m] : 0;
}

static bool is_reached(const model_average *a, int m)
{
    return !a->screen || m < a->screen->next;
}

/* A bound on the probability of the models that were not run. 1 if nothing is known of some. */
static double left_out(const model_average *a)
{
    double most = -HUGE_VAL, least = HUGE_VAL, rest = -HUGE_VAL, done = -HUGE_VAL;
    for (int m = 0; m < a->n; m++)
        if (a->is_run[m]) {
            const double gain = log_evidence(a, m) - screened(a, m);
            done = log_add(done, log_evidence(a, m));
            most = fmax(most, gain);
            least = fmin(least, gain);
        } else if (!is_reached(a, m)) {
            return 1;
        } else {
            rest = log_add(rest, screened(a, m));
        }
    if (!isfinite(rest))
        return 0;
    rest += most + (a->n_run > 1 ? LEAST_SLACK + SPREAD * (most - least) : SLACK);
    return exp(rest - log_add(rest, done));
}

/* The best model that was not run; -1 if there is none. */
static int best_left(const model_average *a)
{
    int best = -1;
    for (int m = 0; m < a->n; m++)
        if (!a->is_run[m] && isfinite(screened(a, m)) &&
            (best < 0 || screened(a, m) > screened(a, best)))
            best = m;
    return best;
}

/* The share of the time left for model m: by its probability among those likely to be run. */
static double time_share(const model_average *a, int m)
{
    const double worst = screened(a, m) + log(LEFT_OUT) - SLACK;
    double sum = 0;
    for (int k = 0; k < a->n; k++)
        if (!a->is_run[k] && screened(a, k) >= worst)
            sum += fmax(exp(screened(a, k) - screened(a, m)), LEAST_SHARE);
    return 1 / sum;
}

/* The share of the bound is that of the models that there is no time for. */
static bool is_enough(model_average *a)
{
    const double limit = a->base.time_limit;
    if (!a->n_run)
        return false;
    if (left_out(a) < LEFT_OUT)
        return true;
    if (!a->finish_now && !(limit > 0 && a->base.seconds >= LAST_START * limit))
        return false;
    a->is_cut = true;
    return true;
}

static int create_job(model_average *a)
{
    return infer_job_create(&a->job, a->data, &a->model[a->current], &a->set, a->threads);
}

static int begin_next(model_average *a, diag *d)
{
    const int next = is_enough(a) ? -1 : best_left(a);
    const double limit = a->base.time_limit;
    if (next < 0 && !a->n_run)
        return diag_error(d, ART_ERR_NUMERIC, (diag_place){0},
                          "no model was found under which the data have a likelihood -- check the "
                          "alignment, and the numbers in braces");
    if (next < 0) {
        a->is_done = true;
        return ART_OK;
    }
    a->current = next;
    a->begun = a->base.seconds;
    a->limit = limit > 0 ? fmax((limit - a->begun) * time_share(a, next), 1e-3) : 0;
    int status = create_job(a);
    if (!status && a->finish_now)
        infer_job_run(a->job)->ops->finish_now(infer_job_run(a->job));
    return status;
}

/* ---- the run ---- */

static int advance_screen(model_average *a, diag *d)
{
    model_screen *s = a->screen;
    const double limit = a->base.time_limit, left = SCREEN_SHARE * limit - a->base.seconds;
    const int before = s->next;
    a->stop.deadline = a->finish_now ? clock_seconds()
                       : limit > 0   ? clock_seconds() + fmax(left, 0)
                                     : HUGE_VAL;
    int status = model_screen_advance(s, &a->stop);
    if (status == ART_ERR_NUMERIC)
        return diag_error(d, status, (diag_place){0},
                          "no tree was found on which models can be compared -- check the "
                          "alignment, and the numbers in braces");
    if (!status && s->next > before)
        snprintf(a->said, sizeof a->said, "model %d of %d, %s: %s%.2f on one tree", s->next, a->n,
                 a->name[before], isfinite(s->value[before]) ? "log evidence " : "",
                 s->value[before]);
    return status;
}

/* What was found under a model. */
static void say_found(model_average *a)
{
    const evaluation *e = &a->result[a->current].evaluation;
    const evidence shown = verdict_shown(&e->verdict, &e->evidence);
    char error[48] = "not known", rest[96] = "";
    if (isfinite(shown.log_evidence_se))
        snprintf(error, sizeof error, "%.3f", shown.log_evidence_se);
    if (a->n_run < a->n)
        snprintf(rest, sizeof rest, "; models not run have at most %.2g of the posterior",
                 left_out(a));
    snprintf(a->said, sizeof a->said, "model %s: log evidence %.3f, standard error %s, %s%s",
             a->name[a->current], e->evidence.log_evidence, error,
             e->verdict.converged ? "converged" : "NOT CONVERGED", rest);
}

static int end_job(model_average *a)
{
    infer_result *found = &a->result[a->current];
    int status = infer_job_finish(a->job, found);
    infer_job_free(a->job);
    a->job = NULL;
    if (status) {
        infer_result_free(found);
        return status;
    }
    a->is_run[a->current] = true;
    a->n_run++;
    say_found(a);
    return ART_OK;
}

static int advance(run *r, diag *d)
{
    model_average *a = (model_average *)r;
    if (a->screen && !a->screen->is_done)
        return advance_screen(a, d);
    if (!a->job)
        return begin_next(a, d);
    run *work = infer_job_run(a->job);
    run_progress now;
    work->ops->progress(work, &now);
    if (now.is_done) {
        a->is_cut |= now.is_cut;
        return end_job(a);
    }
    work->seconds = a->base.seconds - a->begun;
    work->time_limit = a->limit;
    return work->ops->advance(work, d);
}

/* before, then the text itself, which may be the same memory. */
static void put_before(char *text, size_t size, const char *before, const char *between)
{
    char *whole = NULL;
    if (*text && asprintf(&whole, "%s%s%s", before, between, text) >= 0)
        snprintf(text, size, "%s", whole);
    free(whole);
}

static void screen_progress(const model_average *a, run_progress *out)
{
    const model_screen *s = a->screen;
    out->stage = "comparing models";
    out->unit = "models";
    out->done = s->next;
    out->total = s->n_models;
    out->is_resumable = s->has_tree;
    snprintf(out->place, sizeof out->place, "comparing models, %d of %d", s->next, s->n_models);
}

static void job_progress(const model_average *a, run_progress *out)
{
    const run *work = infer_job_run(a->job);
    work->ops->progress(work, out);
    out->is_done = false;
    out->is_cut |= a->is_cut;
    if (a->n > 1) {
        put_before(out->detail, sizeof out->detail, a->name[a->current], ": ");
        put_before(out->place, sizeof out->place, a->name[a->current], ", ");
    }
}

static void progress(const run *r, run_progress *out)
{
    const model_average *a = (const model_average *)r;
    *out = (run_progress){.value = NAN, .is_resumable = true, .is_cut = a->is_cut};
    out->stage = "averaging models";
    out->unit = "models";
    out->done = a->n_run;
    out->is_done = a->is_done;
    snprintf(out->place, sizeof out->place, "%d models run", a->n_run);
    if (a->screen && !a->screen->is_done)
        screen_progress(a, out);
    else if (a->job)
        job_progress(a, out);
}

static int report(run *r, run_report *out)
{
    model_average *a = (model_average *)r;
    *out = (run_report){0};
    if (*a->said) {
        snprintf(out->text, sizeof out->text, "%s", a->said);
        *a->said = '\0';
        return ART_OK;
    }
    if (!a->job)
        return ART_OK;
    run *work = infer_job_run(a->job);
    int status = work->ops->report(work, out);
    if (a->n > 1) {
        put_before(out->text, sizeof out->text, a->name[a->current], ": ");
        if (out->metrics &&
            json_object_set_new(out->metrics, "model", json_string(a->name[a->current])))
            status = ART_ERR_NOMEM;
    }
    return status;
}

static void result_fields(model_average *a, saved_state *s)
{
    char group[32];
    a->n_run = 0;
    for (int m = 0; m < a->n && !s->status; m++) {
        snprintf(group, sizeof group, "model_%d", m + 1);
        const size_t before = state_group(s, group);
        state_bool(s, "is_run", &a->is_run[m]);
        a->n_run += a->is_run[m];
        if (a->is_run[m])
            saved_result_fields(&a->result[m], &a->data->taxa, &a->model[m], s);
        state_group_end(s, before);
    }
}

static int fields(run *r, saved_state *s)
{
    model_average *a = (model_average *)r;
    const size_t all = state_group(s, "models");
    bool has_job = a->job != NULL;
    state_bool(s, "is_done", &a->is_done);
    state_bool(s, "is_cut", &a->is_cut);
    state_bool(s, "has_job", &has_job);
    state_int_in(s, "current", &a->current, 0, a->n - 1);
    state_f64(s, "begun", &a->begun);
    state_f64(s, "limit", &a->limit);
    size_t before = state_group(s, "screen");
    if (a->screen)
        model_screen_fields(a->screen, s);
    state_group_end(s, before);
    result_fields(a, s);
    if (state_loaded(s)) {
        infer_job_free(a->job);
        a->job = NULL;
        state_fail(s, has_job ? create_job(a) : ART_OK);
    }
    before = state_group(s, "job");
    if (!s->status && has_job) {
        run *work = infer_job_run(a->job);
        state_fail(s, work->ops->fields(work, s));
    }
    state_group_end(s, before);
    state_group_end(s, all);
    return s->status;
}

static void finish_now(run *r)
{
    model_average *a = (model_average *)r;
    a->finish_now = true;
    if (a->job)
        infer_job_run(a->job)->ops->finish_now(infer_job_run(a->job));
}

static void free_run(run *r)
{
    model_average_free((model_average *)r);
}

static const run_ops OPS = {advance, progress, report, fields, finish_now, free_run};

int model_average_create(model_average **out, const dataset *data, const free_model *model, int n,
                         const infer_settings *settings, pool *threads)
{
    *out = NULL;
    model_average *a = mem_zeros(1, sizeof *a);
    if (!a)
        return ART_ERR_NOMEM;
    a->base = (run){.ops = &OPS, .keeps_time_limit = true};
    a->data = data;
    a->set = *settings;
    a->set.collapsed.final.length_steps = 0; /* an average leaves no trained model .. */
    a->set.collapsed.joint.taxa = INT_MAX;   /* .. and needs the evidence of every model */
    a->set.collapsed.joint.returned = 1;
    a->set.collapsed.joint.pareto_k = HUGE_VAL;
    a->threads = threads;
    a->n = n;
    a->model = mem_zeros((size_t)n, sizeof *a->model);
    a->name = mem_zeros((size_t)n, sizeof *a->name);
    a->is_run = mem_zeros((size_t)n, sizeof *a->is_run);
    a->result = mem_zeros((size_t)n, sizeof *a->result);
    a->row = mem_zeros((size_t)n, sizeof *a->row);
    a->order = mem_zeros((size_t)n, sizeof *a->order);
    interrupt_init(&a->stop);
    int status = a->model && a->name && a->is_run && a->result && a->row && a->order
                     ? ART_OK
                     : ART_ERR_NOMEM;
    for (int m = 0; m < n && !status; m++) {
        a->model[m] = model[m];
        free_model_print(a->name[m], &model[m]);
    }
    if (!status && n > 1)
        status = model_screen_create(&a->screen, data, a->model, n, settings);
    if (status)
        model_average_free(a);
    else
        *out = a;
    return status;
}

void model_average_free(model_average *a)
{
    if (!a)
        return;
    infer_job_free(a->job);
    model_screen_free(a->screen);
    for (int m = 0; m < a->n && a->result; m++)
        infer_result_free(&a->result[m]);
    free(a->model);
    free(a->name);
    free(a->is_run);
    free(a->result);
    free(a->row);
    free(a->order);
    free(a);
}

run *model_average_run(model_average *a)
{
    return &a->base;
}

/* ---- the result ---- */

/* Whether row x comes before row y: by evidence, then by what was screened, then as listed. */
static bool comes_before(const model_average *a, int x, int y)
{
    if (a->is_run[x] != a->is_run[y])
        return a->is_run[x];
    const double vx = a->is_run[x] ? log_evidence(a, x) : screened(a, x);
    const double vy = a->is_run[y] ? log_evidence(a, y) : screened(a, y);
    return vx > vy || (vx == vy && x < y);
}

/* Numbers of the models, most probable first. */
static void set_order(model_average *a)
{
    for (int i = 0; i < a->n; i++) {
        int at = i;
        for (; at > 0 && comes_before(a, i, a->order[at - 1]); at--)
            a->order[at] = a->order[at - 1];
        a->order[at] = i;
    }
}

/* The standard error of the probability of row k, by the errors of all evidences: d w_k = w_k (d_k
 * - sum_i w_i d_i). */
static double probability_error(const model_average *a, int k)
{
    double sum = 0;
    for (int i = 0; i < a->n_run; i++) {
        const double by = (i == k) - a->row[i].probability;
        sum += by * by * a->row[i].log_evidence_se * a->row[i].log_evidence_se;
    }
    return a->row[k].probability * sqrt(sum);
}

/* The table of models; rows that were run are the first a->n_run. */
static void set_table(model_average *a)
{
    double all = -HUGE_VAL;
    set_order(a);
    for (int i = 0; i < a->n; i++) {
        const int m = a->order[i];
        const evaluation *e = &a->result[m].evaluation;
        const evidence shown = verdict_shown(&e->verdict, &e->evidence);
        a->row[i] = (model_row){.name = a->name[m],
                                .n_parameters = a->model[m].n_free,
                                .screened = a->screen ? screened(a, m) : (double)NAN,
                                .log_evidence = NAN,
                                .log_evidence_se = NAN,
                                .probability = NAN,
                                .probability_se = NAN,
                                .status = a->is_run[m]       ? MODEL_RUN
                                          : is_reached(a, m) ? MODEL_SCREENED
                                                             : MODEL_NOT_REACHED};
        if (!a->is_run[m])
            continue;
        a->row[i].log_evidence = shown.log_evidence;
        a->row[i].log_evidence_se = shown.log_evidence_se;
        a->row[i].converged = e->verdict.converged;
        all = log_add(all, shown.log_evidence);
    }
    for (int i = 0; i < a->n_run; i++)
        a->row[i].probability = exp(a->row[i].log_evidence - all);
    for (int i = 0; i < a->n_run; i++)
        a->row[i].probability_se = probability_error(a, i);
    a->table = (model_table){.row = a->row, .count = a->n, .left_out = left_out(a)};
    a->context = (infer_context){a->data, &a->set, a->model, a->n, &a->table};
}

/* Of the mixture of all models, of which those that were not run have next to nothing. */
static void average_evidence(evidence *out, const model_average *a)
{
    double sum = -HUGE_VAL, variance = 0, outside_variance = 0, draws = 0;
    *out = (evidence){.log_evidence_sd = NAN,
                      .lower_bound_1 = NAN,
                      .lower_bound_10 = NAN,
                      .lower_bound_k = NAN,
                      .pareto_k = -HUGE_VAL};
    for (int i = 0; i < a->n_run; i++) {
        const evidence *e = &a->result[a->order[i]].evaluation.evidence;
        const double w = a->row[i].probability;
        sum = log_add(sum, e->log_evidence);
        variance += w * w * e->log_evidence_se * e->log_evidence_se;
        outside_variance += w * w * e->outside_se * e->outside_se;
        draws += w * w / e->ess;
        out->outside += w * e->outside;
        out->total += e->total;
        out->failed += e->failed;
        if (w < NOTICEABLE)
            continue;
        out->pareto_k = fmax(out->pareto_k, e->pareto_k);
        out->unfinished |= e->unfinished;
        out->cut |= e->cut;
    }
    out->log_evidence = out->log_mean_weight = sum - log(a->n);
    out->log_evidence_se = sqrt(variance);
    out->outside_se = sqrt(outside_variance);
    out->ess = 1 / draws;
}

/* The larger, or the one that is known. */
static void worsen(double *worst, double value, bool large_is_bad)
{
    if (isnan(*worst) || (large_is_bad ? value > *worst : value < *worst))
        *worst = value;
}

/* What is wrong with a model's run is wrong with the average, if it is noticeable there. */
static void add_verdict(verdict *v, const verdict *own, const char *name)
{
    for (int i = 0; i < own->n_warnings; i++)
        verdict_warn(v, i < own->n_fatal, "%s: %s", name, own->warning[i]);
    v->converged &= own->converged;
    v->has_evidence_error &= own->has_evidence_error;
    worsen(&v->asdsf, own->asdsf, true);
    worsen(&v->largest_deviation, own->largest_deviation, true);
    worsen(&v->r_hat, own->r_hat, true);
    worsen(&v->ess_log_density, own->ess_log_density, false);
    worsen(&v->ess_splits, own->ess_splits, false);
}

/* The first of the models of weight whose draws say too little although they had all the time;
 * -1 if there is none. A run of it alone goes on where that of an average ends
 * (model_average_create). */
static int first_doubtful(const model_average *a)
{
    for (int i = 0; i < a->n_run; i++) {
        const double k = a->result[a->order[i]].evaluation.evidence.pareto_k;
        if (a->row[i].probability >= NOTICEABLE && !a->is_cut && isfinite(k) &&
            evidence_is_doubtful(k))
            return i;
    }
    return -1;
}

static void judge_average(verdict *v, const model_average *a)
{
    const double rest = a->table.left_out;
    const int alone = first_doubtful(a);
    int unsure = -1;
    verdict_init(v);
    for (int i = 0; i < a->n_run; i++) {
        const verdict *own = &a->result[a->order[i]].evaluation.verdict;
        if (a->row[i].probability < NOTICEABLE)
            continue;
        add_verdict(v, own, a->row[i].name);
        if (unsure < 0 && a->row[i].probability_se > LARGE_ERROR)
            unsure = i;
    }
    if (a->n_run < a->n && !(rest < LEFT_OUT))
        verdict_warn(v, true,
                     "There was no time for %d of %d models, which may have up to %.2g of the "
                     "posterior: the average is one over the others. Allow more time.",
                     a->n - a->n_run, a->n, rest);
    if (alone >= 0)
        verdict_warn(v, false,
                     "Run %s alone: its trees, branch lengths and parameters are then those of "
                     "Markov chains, which need no such weights. An average has only the weights.",
                     a->row[alone].name);
    if (unsure >= 0)
        verdict_warn(v, false,
                     "The evidences of the models are not known well enough to tell them apart: "
                     "the probability of %s is %.2f with a standard error of %.2f. The average "
                     "of trees varies by as much where the models differ. Ask for a smaller error.",
                     a->row[unsure].name, a->row[unsure].probability,
                     a->row[unsure].probability_se);
}

static int average_posterior(posterior *out, const model_average *a)
{
    posterior_part *part = mem_zeros((size_t)a->n_run, sizeof *part);
    if (!part)
        return ART_ERR_NOMEM;
    for (int i = 0; i < a->n_run; i++)
        part[i] = (posterior_part){.posterior = &a->result[a->order[i]].evaluation.posterior,
                                   .model = &a->model[a->order[i]],
                                   .weight = a->row[i].probability,
                                   .error = a->row[i].log_evidence_se,
                                   .number = i + 1};
    int status = posterior_average(out, part, a->n_run, part[0].posterior->room, a->set.seed);
    free(part);
    return status;
}

/* The models, with what was found under each. */
static int add_models(json_t *facts, const model_average *a)
{
    json_t *models = model_table_json(&a->table);
    int status = models ? ART_OK : ART_ERR_NOMEM;
    for (int i = 0; i < a->n_run && !status; i++) {
        json_t *one = json_array_get(models, (size_t)i);
        const evaluation *e = &a->result[a->order[i]].evaluation;
        status = verdict_json(one, &e->verdict);
        if (!status && json_object_set_new(one, "parameters", parameters_json(&e->posterior)))
            status = ART_ERR_NOMEM;
    }
    if (json_object_set_new(facts, "models", models) ||
        json_object_set_new(facts, "models_left_out", json_real(a->table.left_out)))
        status = ART_ERR_NOMEM;
    return status;
}

/* A model that was run alone is the average, but for the prior probability of the models. */
static void take_only(infer_result *out, model_average *a)
{
    infer_result *only = &a->result[a->order[0]];
    *out = *only;
    *only = (infer_result){0};
    evidence *e = &out->evaluation.evidence;
    double *value[] = {&e->log_evidence, &e->log_mean_weight, &e->lower_bound_1, &e->lower_bound_10,
                       &e->lower_bound_k};
    for (size_t i = 0; i < sizeof value / sizeof *value && a->n > 1; i++)
        *value[i] -= log(a->n);
}

int model_average_finish(model_average *a, infer_result *out)
{
    memset(out, 0, sizeof *out);
    verdict v;
    set_table(a);
    judge_average(&v, a);
    json_t *added = json_object();
    int status = added ? add_models(added, a) : ART_ERR_NOMEM;
    if (!status && a->n_run == 1) {
        take_only(out, a);
    } else if (!status) {
        const json_t *best = a->result[a->order[0]].facts;
        out->facts = json_pack("{s:s, s:s}", "method", "collapsed", "way",
                               json_string_value(json_object_get(best, "way")));
        average_evidence(&out->evaluation.evidence, a);
        status = average_posterior(&out->evaluation.posterior, a);
    }
    if (a->n > 1)
        out->evaluation.verdict = v;
    if (!status && (!out->facts || json_object_update(out->facts, added)))
        status = ART_ERR_NOMEM;
    json_decref(added);
    return status;
}

const infer_context *model_average_context(const model_average *a)
{
    return &a->context;
}

int model_average_write(const model_average *a, const infer_result *found,
                        const infer_description *about, const char *prefix, diag *d)
{
    int status = infer_remove_model(prefix);
    return status ? status : infer_result_write(found, &a->context, about, prefix, d);
}

void model_average_title(char text[MODEL_AVERAGE_TITLE], const model_average *a)
{
    if (a->n == 1)
        snprintf(text, MODEL_AVERAGE_TITLE, "%s", a->name[0]);
    else
        snprintf(text, MODEL_AVERAGE_TITLE, "average over %d models", a->n);
}
