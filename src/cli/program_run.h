/* program_run.h: a run (train/run.h) as infer, fit and parsimony drive it: output files, log,
 * progress line, signals, options.
 *
 *     program_run p;
 *     status = program_run_open(&p, s, &o->run, main input, SUFFIXES, identity of the data);
 *     if (status == ART_OK && !p.is_finished) {
 *         ... make the job, with p.threads ...
 *         status = program_run_drive(&p, the job's run);
 *         ... write the results ...
 *         status = program_run_end(&p, results as JSON);
 *     }
 *     program_run_close(&p);
 *
 * The identity of a run is version, subcommand, settings that can change the results, data. A
 * checkpoint or finished results with another identity are never changed. */
#ifndef CLI_PROGRAM_RUN_H
#define CLI_PROGRAM_RUN_H

#include "cli/progress.h"
#include "cli/session.h"
#include "train/drive.h"

/* Options that such runs share. Results do not depend on them, except on a time limit of collapsed
 * inference, which is then part of the identity. */
typedef struct run_settings {
    double time_limit;       /* seconds; 0 for none */
    double checkpoint_every; /* minimum number of seconds */
    int64_t report_every;    /* steps */
} run_settings;

enum { CHECKPOINT_SECONDS = 120 };
#define RUN_DEFAULTS                                                 \
    {                                                                \
        .checkpoint_every = CHECKPOINT_SECONDS, .report_every = 1000 \
    }

extern const option RUN_OPTIONS[];    /* --time-limit --checkpoint-every */
extern const option REPORT_OPTIONS[]; /* --report-every */

typedef struct program_run {
    session *session;
    pool *threads;
    json_t *identity;
    bool is_finished; /* the same run is already finished: there is nothing to do */
    drive drive;
    progress line;
    const char *stage; /* that the line shows; NULL at first */
    int looks;         /* of the observer, so far */
} program_run;

/* Takes ownership of the reference to data. default_prefix as in session_begin; of the suffixes the
 * first is ".metrics.jsonl", the last ".json". time_limit_counts: the time limit is part of the
 * identity. Installs signal handlers and creates the pool. */
int program_run_open(program_run *p, session *s, const run_settings *set,
                     const char *default_prefix, const char *const *suffixes,
                     bool time_limit_counts, json_t *data);

/* Drives the run to its end. ART_ERR_STOPPED if a signal or the time limit stopped it first; a
 * checkpoint has then been written. */
int program_run_drive(program_run *p, run *work);

/* The settings as a JSON text, to be freed; NULL if memory is short. */
char *program_run_settings(const program_run *p);

/* Writes <prefix>.json after all other results (takes ownership; NULL means that they could not be
 * created), and removes the checkpoints. */
int program_run_end(program_run *p, json_t *results);

void program_run_close(program_run *p); /* safe on a zeroed one */

#endif
