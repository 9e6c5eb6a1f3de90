#include "cli/run.h"

#include "artreeformer.h"
#include "base/buffer.h"
#include "base/format.h"
#include "cli/banner.h"
#include "cli/identity.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/test_hook.h"
#include "train/checkpoint.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const option RUN_OPTIONS[] = {
    OPTION_HEADING("Running"),
    OPTION_DURATION(
        run_settings, time_limit, "--time-limit", LOCAL,
        "stop after this long with a checkpoint, and the same command goes on (infer --method "
        "collapsed: have the answer by then, all sittings of the run together); 0 for no limit"),
    OPTION_DURATION(run_settings, checkpoint_every, "--checkpoint-every", LOCAL,
                    "time between checkpoints, at least"),
    OPTION_END,
};

const option REPORT_OPTIONS[] = {
    OPTION_INT(run_settings, report_every, "--report-every", OPTIONAL, 1, 1e9,
               "steps between two lines of metrics"),
    OPTION_END,
};

static const double CHECKPOINT_SHARE = 0.05; /* of the time, at most */

/* Among the results: the limit in seconds, if it ended them. */
static const char CUT[] = "cut_by_time_limit";

/* Whether results of this very run are not what this command would bring; text says why. */
static bool lacks_something(char *text, size_t size, const run *r, const json_t *results)
{
    const json_t *cut = json_object_get(results, CUT);
    if (json_is_number(cut) && json_number_value(cut) != r->set->time_limit) {
        snprintf(text, size, "a time limit of %g s ended them", json_number_value(cut));
        return true;
    }
    size_t i;
    json_t *file;
    json_array_foreach(json_object_get(results, "files"), i, file)
    {
        const char *path = json_string_value(file);
        if (path && access(path, F_OK) != 0) {
            snprintf(text, size, "%s is gone", path);
            return true;
        }
    }
    return false;
}

/* Are there results of this prefix already, and of this very run? */
static int look_for_results(run *r, const char *prefix)
{
    char path[4096], text[4096] = "they do not say of which";
    snprintf(path, sizeof path, "%s.json", prefix);
    if (access(path, F_OK) != 0)
        return ART_OK;
    diag *d = &r->session->diag;
    json_t *results = json_load_file(path, 0, NULL), *before = identity_of_results(results);
    int status = ART_OK;
    if (!before || identity_difference(text, sizeof text, before, r->identity))
        status = diag_error(d, ART_ERR_EXISTS, (diag_place){.file = path},
                            "results of another run exist: %s -- --redo overwrites them, another "
                            "--prefix keeps them",
                            text);
    else if (lacks_something(text, sizeof text, r, results))
        status = diag_error(d, ART_ERR_EXISTS, (diag_place){.file = path},
                            "results of this run exist, but %s -- --redo makes them anew, another "
                            "--prefix keeps them",
                            text);
    else
        r->finished = true;
    json_decref(before);
    json_decref(results);
    return status;
}

/* --redo: what was there before must not be taken for this run's. */
static int forget(run *r, const char *prefix)
{
    char path[4096];
    diag *d = &r->session->diag;
    snprintf(path, sizeof path, "%s.json", prefix);
    struct stat info;
    if (stat(path, &info) == 0 && S_ISREG(info.st_mode) && unlink(path) != 0)
        return diag_error(d, ART_ERR_IO, (diag_place){.file = path}, "cannot be removed: %s",
                          strerror(errno));
    return checkpoint_remove(prefix, d);
}

static double checkpoint_number(const run *r, const char *key)
{
    const char *text = safetensors_get(&r->checkpoint, key);
    return text ? strtod(text, NULL) : 0;
}

static int look_for_checkpoint(run *r, const char *prefix)
{
    if (!checkpoint_exists(prefix))
        return ART_OK;
    char text[1024];
    diag *d = &r->session->diag;
    int status = checkpoint_read(&r->checkpoint, r->checkpoint_name, sizeof r->checkpoint_name,
                                 &r->checkpoint_is_damaged, prefix, d);
    if (status)
        return status;
    const char *said = safetensors_get(&r->checkpoint, "run");
    json_t *before = said ? json_loads(said, 0, NULL) : NULL;
    if (!before || identity_difference(text, sizeof text, before, r->identity))
        status = diag_error(d, ART_ERR_MISMATCH, (diag_place){.file = r->checkpoint_name},
                            "the checkpoint is of another run: %s -- give the same options and "
                            "data, another --prefix, or --redo to start anew",
                            before ? text : "it does not say of which");
    else
        r->resumed = true;
    json_decref(before);
    return status;
}

static int open_metrics(run *r)
{
    char *path = session_path(r->session, ".metrics.jsonl");
    if (!path)
        return ART_ERR_NOMEM;
    int64_t keep = r->resumed ? (int64_t)checkpoint_number(r, "metrics_bytes") : 0;
    int status = output_append(&r->metrics, path, keep, &r->session->diag);
    free(path);
    return status;
}

/* The settings in force, in as few lines as hold them. */
static void say_settings(run *r)
{
    enum { WIDTH = 98 };
    static const char *const HEAD = "settings: ";
    buffer text, item;
    buffer_init(&text);
    buffer_init(&item);
    const char *key;
    json_t *value;
    size_t line = 0; /* where the present one begins */
    buffer_text(&text, HEAD);
    json_object_foreach(json_object_get(r->identity, "settings"), key, value)
    {
        char *shown = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
        buffer_clear(&item);
        buffer_printf(&item, "%s %s", key, shown ? shown : "?");
        free(shown);
        if (text.length - line + item.length > WIDTH - 3) { /* ", " before it, "," behind */
            buffer_text(&text, ",\n");
            line = text.length;
            buffer_text(&text, "  ");
        } else if (text.length > strlen(HEAD)) {
            buffer_text(&text, ", ");
        }
        buffer_add(&text, item.text, item.length);
    }
    log_info(&r->session->log, "%s", text.text);
    buffer_free(&item);
    buffer_free(&text);
}

int run_open(run *r, session *s, const run_settings *set, const char *default_prefix,
             const char *const *suffixes, json_t *data)
{
    memset(r, 0, sizeof *r);
    r->session = s;
    r->set = set;
    r->identity = identity_make(s, data);
    if (!r->identity)
        return ART_ERR_NOMEM;
    const char *prefix = session_prefix(s, default_prefix);
    int status = s->common->redo ? ART_OK : look_for_results(r, prefix);
    if (r->finished) {
        log_info(&s->log, "%s.json: this run is finished already; --redo does it again", prefix);
        status = checkpoint_remove(prefix, &s->diag);
    }
    if (status || r->finished)
        return status;
    if (!s->common->redo)
        status = look_for_checkpoint(r, prefix);
    signals_listen();
    if (!status)
        status = session_begin(s, default_prefix, suffixes + 1,
                               r->resumed ? (int64_t)checkpoint_number(r, "log_bytes") : -1);
    if (!status)
        output_sweep(prefix);
    if (!status && s->common->redo)
        status = forget(r, prefix);
    s->suffixes = suffixes;
    if (!status)
        status = session_pool(s, &r->threads);
    if (!status)
        status = open_metrics(r);
    r->seconds_before = r->resumed ? checkpoint_number(r, "seconds") : 0;
    r->cut_by = r->resumed ? checkpoint_number(r, CUT) : 0;
    r->last_saved = clock_seconds();
    session_notes(s);
    if (!status)
        say_settings(r);
    return status;
}

static double session_seconds(const run *r)
{
    return test_hook_seconds(clock_seconds() - r->session->started);
}

double run_seconds(const run *r)
{
    return r->seconds_before + session_seconds(r);
}

static bool out_of_time(const run *r)
{
    return r->set->time_limit > 0 && session_seconds(r) >= r->set->time_limit;
}

bool run_should_stop(const run *r)
{
    test_hook_piece();
    return signals_stop() || (r->has_advanced && out_of_time(r));
}

static int set_number(safetensors *s, const char *key, double value)
{
    char text[64];
    snprintf(text, sizeof text, "%.17g", value);
    return safetensors_set(s, key, text);
}

int run_save(run *r, const run_work *w)
{
    double began = clock_seconds();
    safetensors s = {0};
    session *own = r->session;
    char *identity = json_dumps(r->identity, JSON_COMPACT);
    int status = identity ? output_sync(&r->metrics) : ART_ERR_NOMEM;
    if (!status)
        status = output_sync(&own->log.file);
    if (!status)
        status = safetensors_set(&s, "run", identity);
    if (!status)
        status = set_number(&s, "metrics_bytes", (double)r->metrics.length);
    if (!status)
        status = set_number(&s, "log_bytes", (double)own->log.file.length);
    if (!status)
        status = set_number(&s, "seconds", run_seconds(r));
    if (!status)
        status = set_number(&s, CUT, r->cut_by);
    if (!status)
        status = w->save(w->context, &s);
    if (!status)
        status = checkpoint_write(&s, own->prefix, r->checkpoint_is_damaged, &own->diag);
    if (!status)
        r->checkpoint_is_damaged = false;
    safetensors_free(&s);
    free(identity);
    r->last_saved = clock_seconds();
    r->save_cost = r->last_saved - began;
    return status;
}

/* Time for a checkpoint? The interval grows so that saving stays a small part of the run. */
static bool save_is_due(const run *r)
{
    double interval = fmax(r->set->checkpoint_every, r->save_cost / CHECKPOINT_SHARE);
    return clock_seconds() - r->last_saved >= interval;
}

/* One line of metrics and one for people. */
static int report(run *r, trainer *t, const run_view *view, double *last_clock, int64_t *last_step)
{
    train_report now;
    char more[512] = "", best[64] = "", left[FORMAT_SIZE];
    trainer_report(t, &now);
    double clock = clock_seconds();
    double rate = (double)(now.step - *last_step) / fmax(clock - *last_clock, 1e-9);
    double seconds_left = (double)(t->set.steps - now.step) / rate;
    *last_clock = clock;
    *last_step = now.step;
    json_t *line =
        json_pack("{s:f, s:f, s:f, s:I}", "learning_rate", now.rate, "anneal", now.anneal,
                  "work_saved", now.saved, "skipped", (json_int_t)now.skipped);
    if (!line)
        return ART_ERR_NOMEM;
    results_number(line, view->objective, now.objective);
    results_number(line, "gradient_norm", now.gradient_norm);
    results_number(line, "distinct_trees", now.distinct);
    if (view->best && isfinite(now.best)) {
        json_object_set_new(line, view->best, json_real(view->best_sign * now.best));
        snprintf(best, sizeof best, ", best %.*f", view->best_sign > 0 ? 2 : 0,
                 view->best_sign * now.best);
    }
    json_object_set_new(line, "steps_per_second", json_real(rate));
    int status = view->more ? view->more(view->context, line, more, sizeof more) : ART_OK;
    const int written = run_metrics(r, now.step, line);
    log_info(&r->session->log,
             "step %lld of %lld: %s %.3f%s%s, gradient %.3g, rate %.3g, anneal %.3g, %.1f steps/s, "
             "%s left, %.1f distinct trees, %.0f %% of work saved%s",
             (long long)now.step, (long long)t->set.steps, view->objective, now.objective, best,
             more, now.gradient_norm, now.rate, now.anneal, rate,
             format_seconds(left, sizeof left, seconds_left), now.distinct, 100 * now.saved,
             now.skipped ? " (some steps skipped)" : "");
    return status ? status : written;
}

int run_resume(run *r, const run_work *w)
{
    if (!r->resumed)
        return ART_OK;
    session *s = r->session;
    char where[128];
    int status = w->load(w->context, &r->checkpoint, r->checkpoint_name, &s->diag);
    if (!status)
        status = safetensors_unused(&r->checkpoint, r->checkpoint_name, &s->diag);
    safetensors_free(&r->checkpoint);
    if (status)
        return status;
    w->where(w->context, where, sizeof where);
    log_info(&s->log, "going on from %s at %s", r->checkpoint_name, where);
    return ART_OK;
}

/* Saves and says how to go on. */
static int stop(run *r, const run_work *w)
{
    session *s = r->session;
    char where[128];
    int status = run_save(r, w);
    if (status)
        return status;
    w->where(w->context, where, sizeof where);
    log_warning(&s->log, "%s at %s; the checkpoint is written, and the same command%s goes on",
                signals_stop() ? "stopped by a signal" : "the time limit is reached", where,
                s->common->redo ? " without --redo" : "");
    return ART_ERR_STOPPED;
}

int run_between(run *r, const run_work *w)
{
    const bool is_asked = run_should_stop(r); /* by a signal or by the time limit */
    if (w->keeps_time ? signals_stop() : is_asked)
        return stop(r, w);
    return signals_save() || save_is_due(r) ? run_save(r, w) : ART_OK;
}

int run_metrics(run *r, int64_t step, json_t *more)
{
    json_t *line = json_pack("{s:I, s:f}", "step", (json_int_t)step, "seconds", run_seconds(r));
    if (line && more)
        json_object_update(line, more);
    json_decref(more);
    char *text = line ? json_dumps(line, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;
    json_decref(line);
    if (!text)
        return ART_ERR_NOMEM;
    output_printf(&r->metrics, "%s\n", text);
    free(text);
    return output_flush(&r->metrics);
}

static int save_trainer(void *context, safetensors *s)
{
    return trainer_save(context, s);
}

static int load_trainer(void *context, safetensors *s, const char *file, diag *d)
{
    return trainer_load(context, s, file, d);
}

static void say_step(void *context, char *text, size_t size)
{
    const trainer *t = context;
    snprintf(text, size, "step %lld of %lld", (long long)t->step, (long long)t->set.steps);
}

int run_train(run *r, trainer *t, const run_view *view)
{
    session *s = r->session;
    const run_work work = {t, save_trainer, load_trainer, say_step, false};
    int status = run_resume(r, &work);
    char memory[FORMAT_SIZE];
    if (!status)
        status = trainer_warm(t);
    if (!status)
        log_info(&s->log, "memory: %s, all of it allocated",
                 format_bytes(memory, sizeof memory, peak_memory()));
    double last_clock = clock_seconds();
    int64_t last_step = t->step;
    progress line;
    progress_start(&line, &s->log, view->what, "steps", (double)t->set.steps, (double)t->step);
    while (!status && t->step < t->set.steps) {
        status = trainer_advance(t, &s->diag);
        r->has_advanced = true;
        if (!status && t->step % r->set->report_every == 0)
            status = report(r, t, view, &last_clock, &last_step);
        progress_update(&line, (double)t->step, "%.3g of the data", trainer_anneal(t));
        if (!status)
            status = run_between(r, &work);
    }
    progress_end(&line);
    return status ? status : run_save(r, &work);
}

int run_finish(run *r, json_t *results)
{
    session *s = r->session;
    json_t *all = json_deep_copy(r->identity);
    json_t *files = json_array();
    if (!all || !results || !files) {
        json_decref(all);
        json_decref(results);
        json_decref(files);
        return ART_ERR_NOMEM;
    }
    for (const char *const *suffix = s->suffixes; *suffix; suffix++) {
        char *path = session_path(s, *suffix);
        if (path)
            json_array_append_new(files, json_string(path));
        free(path);
    }
    json_object_update_new(results,
                           json_pack("{s:I, s:f, s:I, s:o}", "seed", (json_int_t)s->common->seed,
                                     "seconds", run_seconds(r), "peak_memory_bytes",
                                     (json_int_t)peak_memory(), "files", files));
    if (r->cut_by > 0)
        json_object_set_new(results, CUT, json_real(r->cut_by));
    json_object_update_new(all, results);
    char *path = session_path(s, ".json");
    char *text = json_dumps(all, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    output o = {0};
    int status = output_close(&r->metrics, &s->diag);
    if (!status)
        status = path && text ? output_open(&o, path, &s->diag) : ART_ERR_NOMEM;
    if (!status) {
        output_printf(&o, "%s\n", text);
        status = output_close(&o, &s->diag);
    }
    free(path);
    free(text);
    json_decref(all);
    return status ? status : checkpoint_remove(s->prefix, &s->diag);
}

int results_number(json_t *results, const char *key, double value)
{
    return json_object_set_new(results, key, isfinite(value) ? json_real(value) : json_null())
               ? ART_ERR_NOMEM
               : ART_OK;
}

void run_close(run *r)
{
    output_close(&r->metrics, r->session ? &r->session->diag : NULL);
    safetensors_free(&r->checkpoint);
    pool_free(r->threads);
    json_decref(r->identity);
    memset(r, 0, sizeof *r);
}
