#include "cli/program_run.h"

#include "artreeformer.h"
#include "base/buffer.h"
#include "base/format.h"
#include "cli/banner.h"
#include "cli/settings_file.h"
#include "cli/signals.h"
#include "cli/test_hook.h"
#include "results/results_file.h"
#include "train/checkpoint.h"

#include <stdlib.h>
#include <string.h>

const option RUN_OPTIONS[] = {
    OPTION_HEADING("Running"),
    OPTION_DURATION(run_settings, time_limit, "--time-limit", LOCAL,
                    "time limit: infer and parsimony finish within it and say whether it was "
                    "enough; fit, vbpi and annealing stop with a checkpoint, and the same command "
                    "resumes them; 0 for none"),
    OPTION_DURATION(run_settings, checkpoint_every, "--checkpoint-every", LOCAL | EXPERT,
                    "minimum time between checkpoints"),
    OPTION_END,
};

const option REPORT_OPTIONS[] = {
    OPTION_INT(run_settings, report_every, "--report-every", EXPERT, 1, 1e9,
               "steps between two lines of metrics"),
    OPTION_END,
};

static json_t *identity_of(const session *s, const run_settings *set, bool time_limit_counts,
                           json_t *data)
{
    json_t *settings = options_json(&s->options);
    if (settings && time_limit_counts && set->time_limit > 0)
        json_object_set_new(settings, "time_limit", json_real(set->time_limit));
    return json_pack("{s:s, s:s, s:o, s:o}", "version", art_version(), "command", s->command->name,
                     "settings", settings, "data", data);
}

/* The settings in force, in as few lines as hold them. */
static void say_settings(program_run *p)
{
    enum { WIDTH = 98 };
    static const char *const HEAD = "settings: ";
    buffer text, item;
    buffer_init(&text);
    buffer_init(&item);
    const char *key;
    json_t *value;
    size_t line = 0; /* where the current one begins */
    buffer_text(&text, HEAD);
    json_object_foreach(json_object_get(p->identity, "settings"), key, value)
    {
        char *shown = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
        buffer_clear(&item);
        buffer_printf(&item, "%s %s", key, shown ? shown : "?");
        free(shown);
        if (text.length - line + item.length > WIDTH - 3) { /* ", " before it, "," after it */
            buffer_text(&text, ",\n");
            line = text.length;
            buffer_text(&text, "  ");
        } else if (text.length > strlen(HEAD)) {
            buffer_text(&text, ", ");
        }
        buffer_add(&text, item.text, item.length);
    }
    log_info(&p->session->log, "%s", text.text);
    buffer_free(&item);
    buffer_free(&text);
}

/* The options to use where a message of the library says "start again" or "elsewhere". */
static int name_options(session *s, int status)
{
    if (status == ART_ERR_EXISTS || status == ART_ERR_MISMATCH)
        diag_note(
            &s->diag, (diag_place){0},
            "--redo starts again and overwrites the existing files; another --prefix keeps them");
    return status;
}

/* Results or a checkpoint that exist already. */
static int look_for_earlier(program_run *p, const drive_settings *set)
{
    session *s = p->session;
    int status = ART_OK;
    if (!set->start_again)
        status = results_file_look(&p->is_finished, set->prefix, p->identity, &s->diag);
    if (!status && p->is_finished) {
        log_info(&s->log, "%s.json: this run is already finished; --redo repeats it", set->prefix);
        return checkpoint_remove(set->prefix, &s->diag);
    }
    if (!status)
        status = drive_open(&p->drive, set, p->identity, &s->diag);
    return name_options(s, status);
}

int program_run_open(program_run *p, session *s, const run_settings *set,
                     const char *default_prefix, const char *const *suffixes,
                     bool time_limit_counts, json_t *data)
{
    memset(p, 0, sizeof *p);
    p->session = s;
    p->identity = identity_of(s, set, time_limit_counts, data);
    if (!p->identity)
        return ART_ERR_NOMEM;
    const bool redo = s->common->redo;
    const drive_settings plan = {.prefix = session_prefix(s, default_prefix),
                                 .time_limit = set->time_limit,
                                 .checkpoint_every = set->checkpoint_every,
                                 .start_again = redo,
                                 .session_seconds = test_hook_seconds};
    int status = look_for_earlier(p, &plan);
    if (status || p->is_finished)
        return status;
    signals_listen();
    status = session_begin(s, default_prefix, suffixes + 1,
                           drive_saved_length(&p->drive, "run.log_bytes"));
    drive_attach(&p->drive, "run.log_bytes", &s->log.file);
    p->drive.started = s->started;
    if (!status)
        output_sweep(s->prefix);
    if (!status && redo)
        status = results_file_remove(s->prefix, &s->diag);
    s->suffixes = suffixes;
    if (!status)
        status = session_pool(s, &p->threads);
    session_notes(s);
    if (!status)
        say_settings(p);
    return status;
}

static void show(program_run *p, const run_progress *now)
{
    if (now->stage != p->stage) {
        progress_end(&p->line);
        progress_start(&p->line, &p->session->log, now->stage, now->unit, now->total, now->done);
    }
    p->stage = now->stage;
    p->line.total = now->total; /* rounds of a stage may have totals of their own */
    progress_update(&p->line, now->done, "%s", now->detail);
}

static drive_action look(void *context, const run_progress *now)
{
    program_run *p = context;
    char memory[FORMAT_SIZE];
    if (p->looks++ > 0)
        test_hook_piece();
    if (p->looks == 2) /* after the first piece of work */
        log_info(&p->session->log, "memory: %s so far",
                 format_bytes(memory, sizeof memory, peak_memory()));
    if (!now->is_done)
        show(p, now);
    return signals_stop() ? DRIVE_STOP : signals_save() ? DRIVE_SAVE : DRIVE_GO_ON;
}

static void resumed(void *context, const char *file, const run_progress *now)
{
    program_run *p = context;
    log_info(&p->session->log, "resuming from %s at %s", file, now->place);
}

static void report(void *context, const char *text)
{
    program_run *p = context;
    log_info(&p->session->log, "%s", text);
}

int program_run_drive(program_run *p, run *work)
{
    session *s = p->session;
    const drive_observer observer = {p, resumed, look, report};
    int status = drive_run(&p->drive, work, &observer, &s->diag);
    signals_done();
    progress_end(&p->line);
    const run_progress *last = &p->drive.last;
    if (status == ART_ERR_STOPPED)
        log_warning(&s->log,
                    "%s at %s; a checkpoint has been written; the same command%s resumes the run",
                    p->drive.is_out_of_time ? "the time limit is reached" : "stopped by a signal",
                    last->place, s->common->redo ? " without --redo" : "");
    return name_options(s, status);
}

char *program_run_settings(const program_run *p)
{
    return json_dumps(json_object_get(p->identity, "settings"), JSON_COMPACT);
}

int program_run_end(program_run *p, json_t *results)
{
    session *s = p->session;
    const results_facts facts = {(uint64_t)s->common->seed, drive_seconds(&p->drive), s->suffixes};
    int status = output_close(&p->drive.metrics, &s->diag);
    if (status) {
        json_decref(results);
        return status;
    }
    if (results && p->drive.last.is_cut)
        json_object_set_new(results, "cut_by_time_limit", json_real(p->drive.set.time_limit));
    status = results_file_write(s->prefix, p->identity, results, &facts, &s->diag);
    return status ? status : drive_end(&p->drive, &s->diag);
}

void program_run_close(program_run *p)
{
    drive_close(&p->drive, p->session ? &p->session->diag : NULL);
    pool_free(p->threads);
    json_decref(p->identity);
    memset(p, 0, sizeof *p);
}
