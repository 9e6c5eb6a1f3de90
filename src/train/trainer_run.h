/* trainer_run.h: the training loop (trainer.h) as a run (run.h). */
#ifndef TRAIN_TRAINER_RUN_H
#define TRAIN_TRAINER_RUN_H

#include "train/run.h"
#include "train/trainer.h"

/* How training is shown. All borrowed. */
typedef struct training_view {
    const char *stage;     /* "training" */
    const char *objective; /* name of the objective in the metrics: "bound", "log_q" */
    const char *best;      /* name of the best value; NULL if there is none */
    double best_sign;      /* 1, or -1 if the value is the negative of the usual quantity */
    int64_t report_every;  /* steps */
    /* Called at every report, to add to the metrics and to the text; may be NULL. */
    int (*more)(void *context, json_t *metrics, char *text, size_t size);
    /* Called after every step; may end training early (trainer_cool). May be NULL. */
    int (*look)(void *context);
    void *context;
} training_view;

/* The trainer is borrowed and runs to the end of the steps of its settings. Everything is allocated
 * in the first piece (trainer_warm). */
int trainer_run_create(run **out, trainer *t, const training_view *view);

#endif
