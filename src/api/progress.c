#include "api/progress.h"

#include <stdbool.h>

int onlooker_look(onlooker *o)
{
    const bool has_stopped = o->wish != ART_GO_ON && o->wish != ART_HURRY;
    if (o->progress && !has_stopped)
        o->wish = o->progress(o->context, ++o->pieces, o->value);
    return o->wish == ART_GO_ON || o->wish == ART_HURRY ? ART_OK : ART_ERR_STOPPED;
}

int onlooker_train(onlooker *o, task *job, const train_settings *plan, pool *threads)
{
    trainer *loop = NULL;
    train_report report;
    int status = trainer_create(&loop, job, plan, threads);
    while (!status && loop->step < plan->steps && o->wish != ART_HURRY) {
        status = trainer_advance(loop, o->diag);
        if (status)
            break;
        trainer_report(loop, &report);
        o->value = report.objective;
        status = onlooker_look(o);
    }
    if (!status && plan->average > 0)
        trainer_swap_average(loop);
    trainer_free(loop);
    return status;
}
