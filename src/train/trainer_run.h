/* trainer_run.h: the training loop (trainer.h) as a run (run.h). */
#ifndef TRAIN_TRAINER_RUN_H
#define TRAIN_TRAINER_RUN_H

#include "train/run.h"
#include "train/trainer.h"

/* How training is shown. All borrowed. */
typedef struct training_view {
    const char *stage;     /* "training" */
    const char *objective; /* what the objective is called in metrics: "bound", "log_q" */
    const char *best;      /* what the best value is called; NULL where there is none */
    double best_sign;      /* 1, or -1 where the value is minus what people know */
    int64_t report_every;  /* steps */
    /* Called at every report, to add to the metrics and to the text; may be NULL. */
    int (*more)(void *context, json_t *metrics, char *text, size_t size);
    void *context;
} training_view;

/* The trainer is borrowed and goes on to the end of its settings' steps. Everything is allocated
 * in the first piece (trainer_warm). */
int trainer_run_create(run **out, trainer *t, const training_view *view);

#endif
