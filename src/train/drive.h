/* drive.h: takes a run (run.h) to its end: it goes on from a checkpoint, saves from time to time,
 * writes metrics, keeps the time limit and does what the observer asks for. The program and the
 * library both use it.
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
    double time_limit;  /* seconds, 0 for none: of the whole run for those that keep it, of this
                           session for the others, which are stopped with a checkpoint */
    double checkpoint_every; /* seconds between checkpoints, at least */
    bool start_again;        /* a checkpoint that is there is not looked at, and removed */
    bool is_under_way;     /* the run has advanced before: it is not loaded from a checkpoint .. */
    double seconds_before; /* .. and took so long */
    double (*session_seconds)(double seconds); /* what counts as the seconds of this session, given
                                                  those of the clock; NULL: the same */
} drive_settings;

/* What an observer may ask for after a piece of work. */
typedef enum drive_action { DRIVE_GO_ON, DRIVE_SAVE, DRIVE_FINISH_NOW, DRIVE_STOP } drive_action;

/* Those who look on. Any function may be NULL. */
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
    saved_state checkpoint; /* that the run goes on from */
    bool is_damaged;        /* the newest checkpoint: the run goes on from the one before */
    output metrics;
    struct {
        const char *name;
        output *file;
    } attached[DRIVE_FILES];
    int n_attached;
    double last_saved;   /* clock */
    double save_cost;    /* seconds that the last checkpoint took */
    bool is_out_of_time; /* the time limit, not the observer, stopped it */
    run_progress last;   /* when drive_run ended */
} drive;

/* identity is borrowed for the call; notes may be NULL. Writes nothing yet. */
int drive_open(drive *d, const drive_settings *settings, const json_t *identity, diag *notes);
void drive_close(drive *d, diag *notes); /* says what could not be written; safe on a zeroed one */

/* A file that only grows, such as a log: its length is saved with each checkpoint, under the given
 * name. Borrowed. */
void drive_attach(drive *d, const char *name, output *file);

/* The length that a resumed run's file had at the checkpoint, to cut it back to; -1 for a new run.
 */
int64_t drive_saved_length(drive *d, const char *name);

int drive_run(drive *d, run *work, const drive_observer *observer, diag *notes);

/* Seconds of the whole run so far, earlier sessions included. */
double drive_seconds(const drive *d);

/* The results are there: closes the metrics and removes the checkpoints. */
int drive_end(drive *d, diag *notes);

/* Whether two identities differ; text then names the first field and both values. */
bool identity_differs(char *text, size_t size, const json_t *before, const json_t *now);

#endif
