#include "train/drive.h"

#include "artreeformer.h"
#include "base/host.h"
#include "train/checkpoint.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double CHECKPOINT_SHARE = 0.05; /* of the time, at most */

/* Seconds: after a piece of work that took longer a checkpoint is due, because the next may take as
 * long, and a run that is asked to stop does not wait for its end (cli/signals.h). */
static const double LONG_PIECE = 1.5;

bool identity_differs(char *text, size_t size, const json_t *before, const json_t *now)
{
    if (json_equal(before, now))
        return false;
    const char *key, *name = "run";
    json_t *value;
    while (json_is_object(before) && json_is_object(now)) {
        const json_t *old_value = NULL, *new_value = NULL;
        bool is_found = false;
        json_object_foreach((json_t *)(uintptr_t)now, key, value)
        {
            if (!is_found && !json_equal(json_object_get(before, key), value)) {
                is_found = true;
                name = key;
                old_value = json_object_get(before, key);
                new_value = value;
            }
        }
        json_object_foreach((json_t *)(uintptr_t)before, key, value)
        {
            if (!is_found && !json_object_get(now, key)) {
                is_found = true;
                name = key;
                old_value = value;
            }
        }
        before = old_value;
        now = new_value;
    }
    char *old = before ? json_dumps(before, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    char *new = now ? json_dumps(now, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    snprintf(text, size, "%s was %s and is now %s", name, old ? old : "not set",
             new ? new : "not set");
    free(old);
    free(new);
    return true;
}

static int look_for_checkpoint(drive *d, const json_t *identity, diag *notes)
{
    char text[1024] = "it does not say which";
    int status = checkpoint_read(&d->checkpoint, &d->is_damaged, d->set.prefix, notes);
    if (status)
        return status;
    const char *said = safetensors_get(&d->checkpoint.tensors, "run");
    json_t *before = said ? json_loads(said, 0, NULL) : NULL;
    if (!before || identity_differs(text, sizeof text, before, identity))
        status = diag_error(notes, ART_ERR_MISMATCH, (diag_place){.file = d->checkpoint.file},
                            "the checkpoint belongs to another run: %s -- give the same settings "
                            "and data, write the results elsewhere, or start again",
                            text);
    json_decref(before);
    double seconds = 0;
    if (!status)
        state_f64(&d->checkpoint, "run.seconds", &seconds);
    if (!status)
        status = d->checkpoint.status;
    if (!status && !d->set.is_under_way)
        d->seconds_before = seconds;
    d->is_resumed = status == ART_OK;
    return status;
}

int drive_open(drive *d, const drive_settings *settings, const json_t *identity, diag *notes)
{
    memset(d, 0, sizeof *d);
    d->set = *settings;
    d->seconds_before = settings->seconds_before;
    d->started = d->last_saved = clock_seconds();
    d->identity = json_dumps(identity, JSON_COMPACT);
    if (!d->identity)
        return ART_ERR_NOMEM;
    if (!settings->prefix || settings->start_again || !checkpoint_exists(settings->prefix))
        return ART_OK;
    return look_for_checkpoint(d, identity, notes);
}

void drive_close(drive *d, diag *notes)
{
    output_close(&d->metrics, notes);
    saved_state_free(&d->checkpoint);
    free(d->identity);
    memset(d, 0, sizeof *d);
}

void drive_attach(drive *d, const char *name, output *file)
{
    if (d->n_attached < DRIVE_FILES) {
        d->attached[d->n_attached].name = name;
        d->attached[d->n_attached++].file = file;
    }
}

int64_t drive_saved_length(drive *d, const char *name)
{
    int64_t length = -1;
    if (d->is_resumed)
        state_i64_in(&d->checkpoint, name, &length, 0, INT64_MAX);
    return length;
}

static double session_seconds(const drive *d)
{
    const double seconds = clock_seconds() - d->started;
    return d->set.session_seconds ? d->set.session_seconds(seconds) : seconds;
}

double drive_seconds(const drive *d)
{
    return d->seconds_before + session_seconds(d);
}

/* The lengths of the files that grow: on the disk before the checkpoint that tells them. */
static int save_lengths(drive *d, saved_state *s)
{
    int status = ART_OK;
    for (int i = 0; i < d->n_attached && !status; i++) {
        status = output_sync(d->attached[i].file);
        state_i64(s, d->attached[i].name, &d->attached[i].file->length);
    }
    return status ? status : s->status;
}

static int save(drive *d, run *work, diag *notes)
{
    if (!d->set.prefix)
        return ART_OK;
    const double began = clock_seconds();
    double seconds = drive_seconds(d);
    saved_state s = {0};
    int status = save_lengths(d, &s);
    if (!status)
        status = safetensors_set(&s.tensors, "run", d->identity);
    state_f64(&s, "run.seconds", &seconds);
    if (!status)
        status = work->ops->fields(work, &s);
    if (!status)
        status = checkpoint_write(&s, d->set.prefix, d->is_damaged, notes);
    if (!status)
        d->is_damaged = false;
    saved_state_free(&s);
    d->last_saved = clock_seconds();
    d->save_cost = d->last_saved - began;
    return status;
}

static int load(drive *d, run *work, const drive_observer *o)
{
    int status = work->ops->fields(work, &d->checkpoint);
    if (!status)
        status = saved_state_end(&d->checkpoint);
    run_progress now;
    work->ops->progress(work, &now);
    if (!status && o->resumed)
        o->resumed(o->context, d->checkpoint.file, &now);
    saved_state_free(&d->checkpoint);
    return status;
}

/* Time for a checkpoint? The interval grows so that saving stays a small part of the run. */
static bool save_is_due(const drive *d)
{
    const double wanted = d->piece_seconds > LONG_PIECE ? LONG_PIECE : d->set.checkpoint_every;
    const double interval = fmax(wanted, d->save_cost / CHECKPOINT_SHARE);
    return clock_seconds() - d->last_saved >= interval;
}

static int open_metrics(drive *d, diag *notes)
{
    static const char NAME[] = "run.metrics_bytes";
    char *path = NULL;
    if (!d->set.prefix)
        return ART_OK;
    if (asprintf(&path, "%s.metrics.jsonl", d->set.prefix) < 0)
        return ART_ERR_NOMEM;
    int64_t keep = drive_saved_length(d, NAME);
    int status = output_append(&d->metrics, path, keep < 0 ? 0 : keep, notes);
    free(path);
    drive_attach(d, NAME, &d->metrics);
    return status;
}

/* One line of metrics: step and seconds come first. Takes the metrics over. */
static int write_metrics(drive *d, int64_t step, json_t *metrics)
{
    json_t *line = json_pack("{s:I, s:f}", "step", (json_int_t)step, "seconds", drive_seconds(d));
    if (line)
        json_object_update(line, metrics);
    json_decref(metrics);
    char *text = line ? json_dumps(line, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;
    json_decref(line);
    if (!text)
        return ART_ERR_NOMEM;
    output_printf(&d->metrics, "%s\n", text);
    free(text);
    return output_flush(&d->metrics);
}

static int report(drive *d, run *work, const drive_observer *o)
{
    run_report said;
    int status = work->ops->report(work, &said);
    int written = ART_OK;
    if (said.metrics && d->set.prefix)
        written = write_metrics(d, said.step, said.metrics);
    else
        json_decref(said.metrics);
    if (o->report && said.text[0])
        o->report(o->context, said.text);
    return status ? status : written;
}

/* A run that does not keep the limit itself is stopped at it; but not in a session that has only
 * worked on what a checkpoint does not keep, or the same command might never get through. */
static bool is_out_of_time(const drive *d, const run *work, bool has_advanced)
{
    return !work->keeps_time_limit && d->set.time_limit > 0 && has_advanced &&
           session_seconds(d) >= d->set.time_limit;
}

/* What follows may take a while, and would be lost with the process. */
static bool is_leaving(const run_progress *now)
{
    return now->is_done || !now->is_resumable;
}

/* What the observer wants, and the time limit. */
static int look(drive *d, run *work, const drive_observer *o, bool has_advanced, diag *notes)
{
    const drive_action wish = o->look ? o->look(o->context, &d->last) : DRIVE_GO_ON;
    d->is_out_of_time = wish != DRIVE_STOP && is_out_of_time(d, work, has_advanced);
    const bool stops = !d->last.is_done && (wish == DRIVE_STOP || d->is_out_of_time);
    bool saves = d->last.is_resumable && (stops || wish == DRIVE_SAVE || save_is_due(d));
    if (wish == DRIVE_FINISH_NOW && !d->last.is_done) {
        const bool was_resumable = d->last.is_resumable;
        work->ops->finish_now(work);
        work->ops->progress(work, &d->last);
        saves |= was_resumable && is_leaving(&d->last);
    }
    int status = saves ? save(d, work, notes) : ART_OK;
    return status || !stops ? status : ART_ERR_STOPPED;
}

int drive_run(drive *d, run *work, const drive_observer *observer, diag *notes)
{
    static const drive_observer NOBODY;
    const drive_observer *o = observer ? observer : &NOBODY;
    bool has_advanced = false; /* in work that a checkpoint keeps */
    int status = ART_OK;
    if (d->set.prefix && d->set.start_again)
        status = checkpoint_remove(d->set.prefix, notes);
    if (!status)
        status = open_metrics(d, notes);
    if (!status && d->is_resumed && !d->set.is_under_way)
        status = load(d, work, o);
    work->ops->progress(work, &d->last);
    if (!status)
        status = look(d, work, o, false, notes);
    while (!status && !d->last.is_done) {
        const bool was_resumable = d->last.is_resumable;
        work->seconds = drive_seconds(d);
        work->time_limit = d->set.time_limit;
        const double begun = clock_seconds();
        status = work->ops->advance(work, notes);
        d->piece_seconds = clock_seconds() - begun;
        has_advanced |= was_resumable;
        if (!status)
            status = report(d, work, o);
        work->ops->progress(work, &d->last);
        if (!status && was_resumable && is_leaving(&d->last))
            status = save(d, work, notes);
        if (!status)
            status = look(d, work, o, has_advanced, notes);
    }
    return status;
}

int drive_end(drive *d, diag *notes)
{
    int status = output_close(&d->metrics, notes);
    if (!status && d->set.prefix)
        status = checkpoint_remove(d->set.prefix, notes);
    return status;
}
