/* progress.h: the caller who looks on while something is learned, with a wish. */
#ifndef API_PROGRESS_H
#define API_PROGRESS_H

#include "artreeformer.h"
#include "base/diag.h"
#include "train/trainer.h"

typedef struct watcher {
    art_progress *progress; /* NULL: nobody */
    void *context;
    diag *diag; /* where messages go; may be NULL */
    int64_t pieces;
    int wish;
    double value; /* that is shown */
} watcher;

/* Shows the value after a piece of work. ART_ERR_STOPPED if the wish is to stop. */
int watcher_look(watcher *o);

/* Trains until the steps are made or there is hurry. The model is left with the average of its
 * weights where the plan has one. */
int watcher_train(watcher *o, task *job, const train_settings *plan, pool *threads);

#endif
