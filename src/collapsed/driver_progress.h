/* driver_progress.h: the state of a run of collapsed inference (driver.h), and where it is as the
 * progress line shows it. For driver.c. */
#ifndef COLLAPSED_DRIVER_PROGRESS_H
#define COLLAPSED_DRIVER_PROGRESS_H

#include "base/interrupt.h"
#include "collapsed/driver.h"
#include "collapsed/parameter_stage.h"

typedef struct collapsed_run {
    run base;
    collapsed_problem problem;
    collapsed_settings set;
    parameter_stage *parameters; /* NULL when it is done, or if there are none */
    bool centre_reported;
    rounds *rounds;
    final_sampling *final; /* NULL during the rounds */
    chain_stage *chains;   /* NULL unless the posterior is too diffuse for a table */
    chain_answer *answer;  /* NULL before the chains have ended */
    joint_stage *joint;    /* NULL unless lengths cannot be integrated out well */
    chain_check check;     /* once it is finished */
    int chains_reported;   /* rounds of the chains, of one kind or the other */
    int reported;          /* rounds */
    bool way_reported;     /* in this session */
    double pass_seconds;   /* of the last draws and a pass, expected; 0 if not known */
    double value;          /* log evidence by the table's sum; NaN at first */
    bool is_cut;           /* the time limit ended the rounds, or passes that would have followed */
    bool is_late;          /* it is past the limit */
    bool finish_now;
    interrupt stop; /* of the work of a stage: its share of a time limit */
} collapsed_run;

/* The stage, what is done of it, and in words where the run is. */
void driver_progress(const run *r, run_progress *out);

#endif
