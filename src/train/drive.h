/* drive.h: takes a run (run.h) to its end: resumes it from a checkpoint, saves it periodically,
 * writes metrics, enforces the time limit and carries out the requests of the observer. The program
 * and the library both use it.
 *
 *     drive d;
 *     status = drive_open(&d, &settings, identity, notes);       is there a checkpoint of this run?
 *     drive_attach(&d, "run.log_bytes", &log_file);                optional
 *     ... make the run ...
 *     status = drive_run(&d, work, &observer, notes);            ART_ERR_STOPPED: with a checkpoint
 *     ... write the results ...
 *     status = drive_end(&d, notes);                             removes the checkpoints
 *     drive_close(&d);
 *
 * The identity of a run is a JSON object with everything that can change its results: version,
 * settings, data. A checkpoint of another identity is never touched (ART_ERR_MISMATCH). */
#ifndef TRAIN_DRIVE_H
#define TRAIN_DRIVE_H

#include "io/output.h"
#include "train/run.h"

typedef struct drive_settings {
    const char *prefix; /* of <prefix>.ckp.safetensors and <prefix>.metrics.jsonl; NULL: neither is
                           written */
    double time_limit;  /* seconds, 0 for none: of the whole run if the run can finish within a
                           limit, otherwise of this session, which then stops with a checkpoint */
    double checkpoint_every; /* minimum number of seconds between checkpoints */
    bool start_again;        /* an existing checkpoint is ignored and removed */
    bool is_under_way;     /* the run has advanced before: it is not loaded from a checkpoint .. */
    double seconds_before; /* .. and has taken this long */
    double (*session_seconds)(double seconds); /* converts the seconds of the clock to the seconds
                                                  of this session; NULL: the same */
} drive_settings;

/* Requests of an observer after a piece of work. */
typedef enum drive_action { DRIVE_GO_ON, DRIVE_SAVE, DRIVE_FINISH_NOW, DRIVE_STOP } drive_action;

/* Functions called during the run. Any of them may be NULL. */
typedef struct drive_observer {
    void *context;
    void (*resumed)(void *context, const char *file, const run_progress *now);
    drive_action (*look)(void *context, const run_progress *now); /* before the first piece, and
                                                                     after every piece */
    void (*report)(void *context, const char *text);
} drive_observer;

enum { DRIVE_FILES = 4 };

typedef struct drive {
    drive_settings set;
    char *identity;        /* as text; owned */
    double started;        /* clock */
    double seconds_before; /* of earlier sessions */
    bool is_resumed;
    saved_state checkpoint; /* from which the run is resumed */
    bool is_damaged;        /* the newest checkpoint: the run is resumed from the previous one */
    output metrics;
    struct {
        const char *name;
        output *file;
    } attached[DRIVE_FILES];
    int n_attached;
    double last_saved;    /* clock */
    double save_cost;     /* seconds that the last checkpoint took */
    double piece_seconds; /* that the last piece of work took */
    bool is_out_of_time;  /* the time limit, not the observer, stopped it */
    run_progress last;    /* when drive_run ended */
} drive;

/* identity is borrowed for the call; notes may be NULL. Writes nothing yet. */
int drive_open(drive *d, const drive_settings *settings, const json_t *identity, diag *notes);
void drive_close(drive *d,
                 diag *notes); /* reports what could not be written; safe on a zeroed one */

/* A file that only grows, such as a log: its length is saved with each checkpoint, under the given
 * name. Borrowed. */
void drive_attach(drive *d, const char *name, output *file);

/* The length that a resumed run's file had at the checkpoint, to which it must be truncated; -1 for
 * a new run. */
int64_t drive_saved_length(drive *d, const char *name);

int drive_run(drive *d, run *work, const drive_observer *observer, diag *notes);

/* Seconds of the whole run so far, earlier sessions included. */
double drive_seconds(const drive *d);

/* Call when the results have been written: closes the metrics and removes the checkpoints. */
int drive_end(drive *d, diag *notes);

/* Whether two identities differ; text then names the first field and both values. */
bool identity_differs(char *text, size_t size, const json_t *before, const json_t *now);

#endif
