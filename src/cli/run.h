/* run.h: a training run as infer, fit and parsimony share it: it can be stopped at any moment,
 * goes on where it was, and can be watched.
 *
 *     run r;
 *     status = run_open(&r, s, prefix, SUFFIXES, identity of the data);
 *     if (status == ART_OK && !r.finished) {
 *         ... make models, task and trainer (with r.threads) ...
 *         status = run_train(&r, trainer, &view);
 *         ... write the results ...
 *         status = run_finish(&r, results);
 *     }
 *     run_close(&r);
 *
 * What a run is, is said by its identity: version, subcommand, settings that can change the
 * results, data. A checkpoint or finished results of another identity are never touched. */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include "io/saved_state.h"
#include "cli/session.h"
#include "train/trainer.h"

#include <jansson.h>

/* Options that such runs share. Results do not depend on them, but for what a time limit leaves
 * undone (cut_by), or gives time for (polishing, in collapsed inference). */
typedef struct run_settings {
    double time_limit;       /* seconds; 0 for none */
    double checkpoint_every; /* seconds, at least */
    int64_t report_every;    /* steps */
} run_settings;

#define RUN_DEFAULTS                                  \
    {                                                 \
        .checkpoint_every = 120, .report_every = 1000 \
    }

extern const option RUN_OPTIONS[];    /* --time-limit --checkpoint-every */
extern const option REPORT_OPTIONS[]; /* --report-every */

/* What a checkpoint says of the run itself. */
typedef struct run_place {
    int64_t metrics_bytes; /* lengths of files that the run adds to */
    int64_t log_bytes;
    double seconds; /* of all sessions so far */
    double cut_by;  /* as that of the run */
} run_place;

typedef struct run {
    session *session;
    const run_settings *set;
    pool *threads;
    json_t *identity;
    bool finished; /* the same run ended before: there is nothing to do */
    bool resumed;
    saved_state checkpoint; /* what a resumed run goes on from */
    run_place before;       /* and what that says of the run; all 0 for a new one */
    double cut_by;          /* the time limit, in seconds, that ended work that would have changed
                               the results; 0: none did */
    bool checkpoint_is_damaged; /* the present one: the run goes on from the one before */
    output metrics;
    bool has_advanced; /* training made a step in this session */
    double last_saved; /* clock */
    double save_cost;  /* seconds that the last checkpoint took */
} run;

/* How a task is shown. */
typedef struct run_view {
    const char *what;      /* "training" */
    const char *objective; /* what the objective is called in metrics: "bound", "log_q" */
    const char *best;      /* what the best value is called; NULL where there is none */
    double best_sign;      /* 1, or -1 where the value is minus what people know */
    /* Called at every report, to add to the line of metrics and to the text; may be NULL. */
    int (*more)(void *context, json_t *line, char *text, size_t size);
    void *context;
} run_view;

/* Takes over the reference to data. default_prefix as in session_begin; of the suffixes the
 * first is ".metrics.jsonl", the others are those of the results. Listens to signals and
 * makes the pool. */
int run_open(run *r, session *s, const run_settings *set, const char *default_prefix,
             const char *const *suffixes, json_t *data);

/* Trains to the end of the settings' steps: reports, saves, resumes. ART_ERR_STOPPED when a
 * signal or the time limit came first and a checkpoint is written. */
int run_train(run *r, trainer *t, const run_view *view);

/* What else can be stopped and resumed: work in pieces of about a second at most. */
typedef struct run_work {
    void *context;
    int (*fields)(void *context, saved_state *s);          /* all that the next piece depends on */
    void (*where)(void *context, char *text, size_t size); /* "step 10 of 20" */
    bool keeps_time; /* the time limit is when it wants to be done, not when to stop */
} run_work;

/* Before the first piece: loads the checkpoint of a resumed run. */
int run_resume(run *r, const run_work *w);

/* Between pieces: saves when it is time to; when the run should stop, saves and returns
 * ART_ERR_STOPPED. */
int run_between(run *r, const run_work *w);

/* After the last piece: what follows may take a while, and would be lost with the process. */
int run_save(run *r, const run_work *w);

/* One line of metrics, without the reference: step and seconds come first, then what is in
 * more (taken over). */
int run_metrics(run *r, int64_t step, json_t *more);

/* True when the run should stop: for the long loops after training. In a session that begins with
 * training done no time limit stops them, or the same command might never get through. */
bool run_should_stop(const run *r);

/* Seconds of the whole run so far, earlier sessions included. */
double run_seconds(const run *r);

/* Ends the run: writes <prefix>.json, last of all results, with what identifies the run, the
 * given results (taken over; NULL is a failure to make them), seed, time, memory and files; then
 * removes the checkpoints. */
int run_finish(run *r, json_t *results);

/* Sets a number; null where it is not finite, because JSON has no such numbers. */
int results_number(json_t *results, const char *key, double value);

void run_close(run *r); /* safe on a zeroed one */

#endif
