#include "api/objects.h"
#include "api/progress.h"
#include "train/density_task.h"
#include "train/defaults.h"
#include "density/factory.h"

#include <float.h>

void art_fit_defaults(art_fit_settings *s)
{
    *s = (art_fit_settings){.hidden = DEFAULT_HIDDEN,
                            .heads = DEFAULT_HEADS,
                            .threads = 1,
                            .seed = 1,
                            .steps = FIT_STEPS,
                            .batch = FIT_BATCH,
                            .rate = FIT_RATE,
                            .decay = DEFAULT_DECAY,
                            .decay_every = FIT_DECAY_EVERY,
                            .average = FIT_AVERAGE,
                            .average_from = FIT_AVERAGE_FROM};
}

static int fit(art_model *q, const tree_set *trees, const art_fit_settings *s, watcher *o)
{
    train_settings plan = train_defaults();
    plan.steps = s->steps;
    plan.tree_rate = s->rate;
    plan.decay = s->decay;
    plan.decay_every = s->decay_every;
    plan.average = s->average;
    plan.average_from = s->average_from;
    task *job = NULL;
    int status = density_create(&job, q->file.trees, trees->decision, trees->weight, trees->count,
                                s->batch, PICKS_SYSTEMATIC, s->seed);
    if (!status)
        status = watcher_train(o, job, &plan, q->threads);
    if (job)
        job->ops->free(job);
    return status;
}

static bool settings_are_valid(const art_fit_settings *s)
{
    return s->threads >= 1 && s->hidden >= 1 && s->heads >= 1 && s->hidden % s->heads == 0 &&
           s->steps >= 1 && s->batch >= 1 && is_within(s->rate, DBL_MIN, 1) &&
           is_within(s->decay, DBL_MIN, 1) && s->decay_every >= 0 &&
           is_within(s->average, 0, 0.9999999) && s->average_from >= 0;
}

int art_fit(art_model **out, const art_trees *t, const art_fit_settings *settings,
            art_progress *progress, void *context, art_messages *m)
{
    *out = NULL;
    art_fit_settings s;
    art_fit_defaults(&s);
    if (settings)
        s = *settings;
    if (!settings_are_valid(&s))
        return ART_ERR_USAGE;
    watcher eye = {.progress = progress, .context = context, .diag = messages_diag(m)};
    art_model *q = NULL;
    int status = model_begin(&q, &t->set.taxa, s.threads);
    const topology_config config = artreeformer_config(s.hidden, s.heads);
    if (!status)
        status = topology_model_create(&q->file.trees, &config, t->set.taxa.count, q->threads);
    if (!status) {
        topology_model_initialise(q->file.trees, s.seed);
        status = fit(q, &t->set, &s, &eye);
    }
    return model_end(out, q, status);
}
