#include "cli/job.h"

#include "artreeformer.h"
#include "density/model_file.h"

#include <stdlib.h>

int job_trees(job *j, int n_taxa, const training_settings *o)
{
    const topology_config config = training_config(o);
    int status = topology_model_create(&j->trees, &config, n_taxa, j->run.threads);
    if (!status)
        topology_model_initialise(j->trees, (uint64_t)j->run.session->common->seed);
    return status;
}

int job_batch(const variational_options *o)
{
    return o->particles > EVIDENCE_BATCH ? (int)o->particles : EVIDENCE_BATCH;
}

int job_train(job *j, const train_settings *plan, const run_view *view)
{
    int status = trainer_create(&j->trainer, j->task, plan, j->run.threads);
    return status ? status : run_train(&j->run, j->trainer, view);
}

int job_train_variational(job *j, train_settings *plan, const variational_options *o,
                          const run_view *view)
{
    plan->anneal_steps = o->anneal;
    int status =
        variational_create(&j->task, &j->source, (int)o->particles, (estimator)o->estimator);
    return status ? status : job_train(j, plan, view);
}

static bool should_stop(const void *context)
{
    return run_should_stop(context);
}

int job_evaluate(job *j, evaluation *e, const taxa *names, const evaluation_settings *set)
{
    session *s = j->run.session;
    int status = evaluation_run(e, s, &j->source, names, set, should_stop, &j->run);
    if (status == ART_ERR_STOPPED)
        log_warning(&s->log, "stopped after training; the same command%s goes on",
                    s->common->redo ? " without --redo" : "");
    return status;
}

int job_save_model(job *j, const taxa *names, const char *substitution)
{
    session *s = j->run.session;
    char *path = session_path(s, ".model.safetensors");
    char *text = json_dumps(json_object_get(j->run.identity, "settings"), JSON_COMPACT);
    model_contents contents = {.taxa = names,
                               .trees = j->trees,
                               .average = j->trainer ? j->trainer->trees.average : NULL,
                               .branches = j->branches,
                               .substitution = substitution,
                               .settings = text};
    int status = path && text ? model_file_write(path, &contents, &s->diag) : ART_ERR_NOMEM;
    free(path);
    free(text);
    return status;
}

json_t *job_results(const evaluation *e, const evaluation_settings *set, const char *model,
                    json_t *facts)
{
    json_t *results = evaluation_json(e, set);
    if (results && (json_object_set_new(results, "model", json_string(model)) ||
                    json_object_update(results, facts))) {
        json_decref(results);
        return NULL;
    }
    return results;
}

void job_free(job *j)
{
    trainer_free(j->trainer);
    if (j->task)
        j->task->ops->free(j->task);
    target_free(j->goal);
    branch_model_free(j->branches);
    topology_model_free(j->trees);
    dataset_free(&j->data);
    run_close(&j->run);
}
