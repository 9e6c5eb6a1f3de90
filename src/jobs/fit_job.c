#include "jobs/fit_job.h"

#include "artreeformer.h"
#include "base/hash.h"
#include "base/mem.h"
#include "density/counted/counted_model.h"
#include "density/model_file.h"
#include "io/json_number.h"
#include "jobs/table_run.h"
#include "train/defaults.h"
#include "train/trainer_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const FIT_SUFFIXES[] = {".model.safetensors", NULL};

enum {
    TRUTH_BATCH = 1000, /* trees that are scored at once */
    LOOK_EVERY = 25,    /* steps between two looks at the network's probability of the sample .. */
    LOOK_TREES =
        20, /* .. or one for so many trees, so that looking takes a small part of the time */
};

struct fit_job {
    fit_settings set;
    const tree_set *data;
    const tree_set *truth; /* NULL: none */
    pool *threads;
    fit_result found; /* at the last comparison with the truth */
    double *log_q;    /* [distinct trees] for looking; NULL if training does not stop early */
    job_parts parts;
};

/* The trainer knows the network, and the model may be more than that. */
static void swap_average(fit_job *j)
{
    trainer_swap_average(j->parts.trainer);
    topology_model_changed(j->parts.trees);
}

/* The divergence of both kinds of weights from the truth. */
static int measure(fit_job *j)
{
    const tree_set *t = j->truth;
    fit_result *f = &j->found;
    int status =
        divergence_compute(&f->last, j->parts.trees, t->decision, t->weight, t->count, TRUTH_BATCH);
    if (status || !f->has_average)
        return status;
    swap_average(j);
    status = divergence_compute(&f->averaged, j->parts.trees, t->decision, t->weight, t->count,
                                TRUTH_BATCH);
    swap_average(j);
    return status;
}

/* What the averaged weights give to trees outside of the sample. */
static int measure_outside(fit_job *j)
{
    const tree_set *t = j->data;
    double sum = 0;
    int status = ART_OK;
    if (j->found.has_average)
        swap_average(j);
    for (size_t i = 0; i < t->count && !status; i += TRUTH_BATCH) {
        const size_t left = t->count - i;
        status = topology_model_score(j->parts.trees, j->log_q + i, tree_set_decision(t, i),
                                      left < TRUTH_BATCH ? (int)left : TRUTH_BATCH);
    }
    if (j->found.has_average)
        swap_average(j);
    for (size_t i = 0; i < t->count; i++)
        sum += exp(j->log_q[i]);
    j->found.outside = fmax(0, 1 - sum);
    return status;
}

/* Once the network is trained, the model is the network with the tables and counts of the sample.
 */
static int add_counts(fit_job *j)
{
    const tree_set *t = j->data;
    topology_model *both;
    int status = ART_OK;
    if (j->found.observations > 0 || !j->parts.trainer)
        return ART_OK;
    if (j->log_q)
        status = measure_outside(j);
    if (status || !j->set.counts)
        return status;
    status = counted_network(&both, j->parts.trees, j->threads);
    j->parts.trees = both;
    if (!status)
        status = topology_model_fit_begin(both, t->decision, t->weight, t->count);
    j->found.observations = counted_observations(t->weight, t->count);
    return status;
}

/* After every step: whether the network knows the sample. */
static int look_at_sample(void *context)
{
    fit_job *j = context;
    trainer *loop = j->parts.trainer;
    const int64_t every = j->data->count > LOOK_EVERY * LOOK_TREES
                              ? (int64_t)j->data->count / LOOK_TREES
                              : LOOK_EVERY;
    if (loop->cooled_at > 0 || loop->step % every)
        return ART_OK;
    int status = measure_outside(j);
    if (!status && j->found.outside <= j->found.unseen)
        trainer_cool(loop);
    return status;
}

static void put_divergence(json_t *out, const fit_result *f)
{
    json_set_number(out, "kl", f->last.kl);
    json_set_number(out, "kl_clipped", f->last.kl_clipped);
    json_set_number(out, "total_variation", f->last.total_variation);
    json_set_number(out, "mass_of_zero_probability", f->last.zero_mass);
    if (f->has_average) {
        json_set_number(out, "kl_average", f->averaged.kl);
        json_set_number(out, "total_variation_average", f->averaged.total_variation);
    }
}

/* What is reported on the way. */
static int follow_truth(void *context, json_t *metrics, char *text, size_t size)
{
    fit_job *j = context;
    const fit_result *f = &j->found;
    if (j->parts.trainer->step % j->set.truth_every)
        return ART_OK;
    int status = measure(j);
    if (status)
        return status;
    put_divergence(metrics, f);
    if (f->has_average)
        snprintf(text, size, ", KL %.4f (averaged weights %.4f)", f->last.kl, f->averaged.kl);
    else
        snprintf(text, size, ", KL %.4f", f->last.kl);
    return ART_OK;
}

static int make_training(fit_job *j, pool *threads)
{
    const fit_settings *s = &j->set;
    const tree_set *t = j->data;
    j->found.unseen = s->stops ? counted_unseen(t->weight, t->count) : 0;
    if (j->found.unseen > 0 && !(j->log_q = mem_zeros(t->count, sizeof *j->log_q)))
        return ART_ERR_NOMEM;
    const training_view view = {.stage = "fitting",
                                .objective = "log_q",
                                .report_every = s->report_every,
                                .more = j->truth ? follow_truth : NULL,
                                .look = j->log_q ? look_at_sample : NULL,
                                .context = j};
    train_settings training = s->training;
    if (s->picks == PICKS_THRESHOLD && t->count <= (size_t)s->batch)
        training.tree_rate *= FIT_RATE_ALL_TREES;
    int status = density_create(&j->parts.task, j->parts.trees, t->decision, t->weight, t->count,
                                s->batch, s->picks, s->seed);
    if (!status)
        status = trainer_create(&j->parts.trainer, j->parts.task, &training, threads);
    return status ? status : trainer_run_create(&j->parts.run, j->parts.trainer, &view);
}

static int make_run(fit_job *j, pool *threads)
{
    const tree_set *t = j->data;
    int status = topology_model_create(&j->parts.trees, &j->set.trees, t->taxa.count, threads);
    if (status)
        return status;
    topology_model_initialise(j->parts.trees, j->set.seed);
    if (topology_model_can(j->parts.trees, TOPOLOGY_TABLES))
        status = topology_model_fit_begin(j->parts.trees, t->decision, t->weight, t->count);
    if (status)
        return status;
    const bool trained = !topology_model_can(j->parts.trees, TOPOLOGY_STEPS);
    j->found.has_average = trained && j->set.training.average > 0;
    return trained ? make_training(j, threads) : table_run_create(&j->parts.run, j->parts.trees);
}

int fit_job_create(fit_job **out, const tree_set *trees, const tree_set *truth,
                   const fit_settings *settings, pool *threads)
{
    *out = NULL;
    fit_job *j = mem_zeros(1, sizeof *j);
    if (!j)
        return ART_ERR_NOMEM;
    j->set = *settings;
    j->data = trees;
    j->truth = truth && truth->count ? truth : NULL;
    j->threads = threads;
    j->found.has_truth = j->truth != NULL;
    j->found.outside = (double)NAN;
    int status = make_run(j, threads);
    if (status)
        fit_job_free(j);
    else
        *out = j;
    return status;
}

void fit_job_free(fit_job *j)
{
    if (!j)
        return;
    job_parts_free(&j->parts);
    free(j->log_q);
    free(j);
}

run *fit_job_run(fit_job *j)
{
    return j->parts.run;
}

int fit_job_finish(fit_job *j, fit_result *out)
{
    int status = add_counts(j);
    if (!status && j->truth)
        status = measure(j);
    const trainer *loop = j->parts.trainer;
    j->found.steps = loop ? loop->step : table_run_steps(j->parts.run);
    j->found.stopped_at = loop ? loop->cooled_at : 0;
    j->found.objective = loop ? (double)NAN : table_run_objective(j->parts.run);
    *out = j->found;
    return status;
}

int fit_job_write(fit_job *j, const char *settings, const char *prefix, diag *d)
{
    char *path = NULL;
    int status = add_counts(j);
    if (status)
        return status;
    if (asprintf(&path, "%s%s", prefix, FIT_SUFFIXES[0]) < 0)
        return ART_ERR_NOMEM;
    const trainer *loop = j->parts.trainer;
    const model_contents contents = {.taxa = &j->data->taxa,
                                     .trees = j->parts.trees,
                                     .average = loop ? loop->trees.average : NULL,
                                     .settings = settings};
    status = model_file_write(path, &contents, d);
    free(path);
    return status;
}

json_t *fit_job_results(const fit_job *j, const fit_result *found)
{
    json_t *results = json_pack("{s:s, s:I}", "model", topology_model_name(j->parts.trees), "steps",
                                (json_int_t)found->steps);
    if (results && isfinite(found->objective))
        json_set_number(results, "objective", found->objective);
    if (results && found->observations > 0)
        json_set_number(results, "observations", found->observations);
    if (results && found->unseen > 0)
        json_set_number(results, "unseen", found->unseen);
    if (results && found->stopped_at > 0)
        json_object_set_new(results, "stopped_at", json_integer(found->stopped_at));
    if (results && found->has_truth)
        put_divergence(results, found);
    return results;
}

topology_model *fit_job_take_model(fit_job *j)
{
    topology_model *trees = j->parts.trees;
    if (j->found.has_average)
        swap_average(j);
    j->parts.trees = NULL;
    return trees;
}

json_t *tree_set_identity(const tree_set *t)
{
    char text[17];
    uint64_t hash = hash_bytes(t->weight, t->count * sizeof *t->weight);
    hash = hash_mix(hash ^ hash_bytes(t->decision, t->count * (size_t)(t->taxa.count - 3) *
                                                       sizeof *t->decision));
    for (int32_t i = 0; i < t->taxa.count; i++)
        hash = hash_mix(hash ^ hash_bytes(t->taxa.name[i], strlen(t->taxa.name[i])));
    snprintf(text, sizeof text, "%016llx", (unsigned long long)hash);
    return json_pack("{s:i, s:I, s:s}", "taxa", t->taxa.count, "topologies", (json_int_t)t->count,
                     "hash", text);
}
