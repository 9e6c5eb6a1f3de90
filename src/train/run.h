/* run.h: an interface for work that takes minutes to hours: it advances in pieces of about a
 * second, reports its progress, can be saved and loaded between any two pieces, and can be asked to
 * finish early. The training loop (trainer_run.h) and collapsed inference (collapsed/driver.h) are
 * runs; drive.h takes any of them to its end with checkpoints and a time limit.
 *
 *     run *r = ...;                                      from one of the constructors
 *     run_progress now;
 *     do {
 *         status = r->ops->advance(r, d);
 *         r->ops->progress(r, &now);
 *     } while (!status && !now.is_done);
 *     r->ops->free(r);
 *
 * The results of a run are obtained from the object that created it. */
#ifndef TRAIN_RUN_H
#define TRAIN_RUN_H

#include "base/diag.h"
#include "io/saved_state.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct run run;

/* The progress of a run. Texts are valid until the run is freed. */
typedef struct run_progress {
    const char *stage; /* "exploring", "training": a constant */
    const char *unit;  /* unit of done and total: "steps", "trees", "draws" */
    double done;
    double total;      /* 0 if not known */
    double value;      /* the main quantity of the run: log evidence, bound, mean log q; NaN if
                          there is none yet */
    bool is_resumable; /* a checkpoint keeps the work of this stage; otherwise the stage starts
                          again */
    bool is_done;
    bool is_cut;      /* a time limit ended work that would have changed the result */
    char detail[128]; /* "standard error 0.0310 (target 0.0200)" */
    char place[128];  /* "step 10 of 20", "round 2, fitting, 312 trees" */
} run_progress;

/* A line for the log and for the table of metrics. */
typedef struct run_report {
    int64_t step;
    json_t *metrics; /* a new flat object; NULL if there is nothing for the table */
    char text[1024]; /* "" if there is nothing for the log */
} run_report;

typedef struct run_ops {
    /* A piece of work: about a second, more where there are very many taxa. */
    int (*advance)(run *r, diag *d);

    void (*progress)(const run *r, run_progress *out);

    /* What there is to report since the last call; called after every piece. */
    int (*report)(run *r, run_report *out);

    /* All that the next piece depends on, as the fields of a checkpoint, for saving and loading
     * (io/saved_state.h). The run must not advance until s is freed. Load only into a run that was
     * just created in the same way. */
    int (*fields)(run *r, saved_state *s);

    /* The run ends as soon as possible, with the results so far. */
    void (*finish_now)(run *r);

    void (*free)(run *r);
} run_ops;

struct run {
    const run_ops *ops;
    bool keeps_time_limit; /* it finishes within the limit, with a result; other runs are stopped
                              with a checkpoint */
    /* Set by the caller before each piece. */
    double time_limit; /* seconds of the whole run; 0 for none */
    double seconds;    /* of the whole run so far, earlier sessions included */
};

#endif
