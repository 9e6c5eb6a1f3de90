#include "api/progress.h"

#include <stdbool.h>

int watcher_look(watcher *o)
{
    const bool has_stopped = o->wish != ART_GO_ON && o->wish != ART_FINISH_NOW;
    if (o->progress && !has_stopped)
        o->wish = o->progress(o->context, ++o->pieces, o->value);
    return o->wish == ART_GO_ON || o->wish == ART_FINISH_NOW ? ART_OK : ART_ERR_STOPPED;
}

int watcher_train(watcher *o, task *job, const train_settings *plan, pool *threads)
{
    trainer *loop = NULL;
    train_report report;
    int status = trainer_create(&loop, job, plan, threads);
    while (!status && loop->step < plan->steps && o->wish != ART_FINISH_NOW) {
        status = trainer_advance(loop, o->diag);
        if (status)
            break;
        trainer_report(loop, &report);
        o->value = report.objective;
        status = watcher_look(o);
    }
    if (!status && plan->average > 0)
        trainer_swap_average(loop);
    trainer_free(loop);
    return status;
}
