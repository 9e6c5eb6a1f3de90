/* run.h: work that takes minutes to hours, as one face: it advances in pieces of about a second,
 * says how far it is, can be saved and loaded between any two pieces, and can be asked to finish
 * early. The training loop (trainer_run.h) and collapsed inference (collapsed/driver.h) are runs;
 * drive.h takes any of them to its end with checkpoints and a time limit.
 *
 *     run *r = ...;                                      from one of the constructors
 *     run_progress now;
 *     do {
 *         status = r->ops->advance(r, d);
 *         r->ops->progress(r, &now);
 *     } while (!status && !now.is_done);
 *     r->ops->free(r);
 *
 * What a run gives at its end is asked of the object that made it. */
#ifndef TRAIN_RUN_H
#define TRAIN_RUN_H

#include "base/diag.h"
#include "io/saved_state.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct run run;

/* How far a run is. Texts are valid until the run is freed. */
typedef struct run_progress {
    const char *stage; /* "exploring", "training": a constant */
    const char *unit;  /* that done and total count: "steps", "trees", "draws" */
    double done;
    double total; /* 0 if not known */
    double value; /* the figure that the run is about: log evidence, bound, mean log q; NaN if
                     there is none yet */
    bool
        is_resumable; /* a checkpoint keeps what this stage has done; else the stage begins again */
    bool is_done;
    bool is_cut;      /* a time limit ended work that would have changed the result */
    char detail[128]; /* "standard error 0.0310 (target 0.0200)" */
    char place[128];  /* "step 10 of 20", "round 2, fitting, 312 trees" */
} run_progress;

/* Something that is worth a line in the log and in the table of metrics. */
typedef struct run_report {
    int64_t step;
    json_t *metrics; /* a new flat object; NULL if there is nothing to report */
    char text[1024];
} run_report;

typedef struct run_ops {
    /* A piece of work: about a second, more where there are very many taxa. */
    int (*advance)(run *r, diag *d);

    void (*progress)(const run *r, run_progress *out);

    /* What is to be reported since the last call; called after every piece. */
    int (*report)(run *r, run_report *out);

    /* All that the next piece depends on, as the fields of a checkpoint, for saving and loading
     * (io/saved_state.h). The run must not advance until s is freed. Loading is for a run that was
     * just made in the same way. */
    int (*fields)(run *r, saved_state *s);

    /* The run ends as soon as it can, with what it has. */
    void (*finish_now)(run *r);

    void (*free)(run *r);
} run_ops;

struct run {
    const run_ops *ops;
    bool keeps_time_limit; /* it ends by itself within the limit, with a result; others are stopped
                              with a checkpoint */
    /* Set by who drives it, before each piece. */
    double time_limit; /* seconds of the whole run; 0 for none */
    double seconds;    /* of the whole run so far, earlier sessions included */
};

#endif
