#include "jobs/parsimony_job.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "density/model_file.h"
#include "io/output.h"
#include "jobs/variational_run.h"
#include "train/variational_task.h"
#include "tree/tree_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const PARSIMONY_SUFFIXES[] = {".model.safetensors", ".best.nwk", ".scores.tsv", NULL};

struct parsimony_job {
    parsimony_settings set;
    const dataset *data;
    particle_source source;
    job_parts parts;
};

static int make_run(parsimony_job *j, pool *threads)
{
    const parsimony_settings *s = &j->set;
    const training_view view = {.stage = "training",
                                .objective = "bound",
                                .best = "best_score",
                                .best_sign = -1,
                                .report_every = s->report_every};
    const int batch = s->particles > EVIDENCE_BATCH ? s->particles : EVIDENCE_BATCH;
    const alignment *a = &j->data->alignment;
    int status = topology_model_create(&j->parts.trees, &s->trees, a->n_taxa, threads);
    if (status)
        return status;
    topology_model_initialise(j->parts.trees, s->seed);
    status = target_parsimony(&j->parts.goal, a, j->data->row, s->gap, batch, threads);
    j->source = (particle_source){.trees = j->parts.trees, .goal = j->parts.goal, .seed = s->seed};
    if (!status)
        status = variational_create(&j->parts.task, &j->source, s->particles, s->estimator);
    if (!status)
        status = trainer_create(&j->parts.trainer, j->parts.task, &s->training, threads);
    if (!status)
        status = variational_run_create(&j->parts.run, j->parts.trainer, &view, &j->source,
                                        &j->data->taxa, &s->evaluation);
    return status;
}

int parsimony_job_create(parsimony_job **out, const dataset *data,
                         const parsimony_settings *settings, pool *threads)
{
    *out = NULL;
    parsimony_job *j = mem_zeros(1, sizeof *j);
    if (!j)
        return ART_ERR_NOMEM;
    j->set = *settings;
    j->data = data;
    int status = make_run(j, threads);
    if (status)
        parsimony_job_free(j);
    else
        *out = j;
    return status;
}

void parsimony_job_free(parsimony_job *j)
{
    if (!j)
        return;
    job_parts_free(&j->parts);
    free(j);
}

run *parsimony_job_run(parsimony_job *j)
{
    return j->parts.run;
}

topology_model *parsimony_job_take_model(parsimony_job *j)
{
    topology_model *trees = j->parts.trees;
    job_parts_release(&j->parts);
    j->parts.trees = NULL;
    return trees;
}

void parsimony_result_free(parsimony_result *r)
{
    evaluation_free(&r->evaluation);
    memset(r, 0, sizeof *r);
}

int parsimony_job_finish(parsimony_job *j, parsimony_result *out)
{
    memset(out, 0, sizeof *out);
    int status = variational_run_finish(j->parts.run, &out->evaluation);
    out->best_score = (int64_t)-variational_best(j->parts.task);
    out->best_trees = variational_best_trees(j->parts.task, &out->decision);
    out->is_full = out->best_trees == VARIATIONAL_BEST_TREES;
    return status;
}

/* All distinct trees of the best score, one per line. */
static int write_best(const parsimony_job *j, const parsimony_result *found, const char *prefix,
                      diag *d)
{
    const size_t n_decisions = (size_t)j->data->taxa.count - 3;
    buffer text;
    tree_writer writer = {0};
    buffer_init(&text);
    int status = tree_writer_init(&writer, &j->data->taxa);
    for (size_t i = 0; i < (size_t)found->best_trees && !status; i++) {
        tree_write_newick(&text, &writer, found->decision + i * n_decisions, NULL);
        buffer_char(&text, '\n');
    }
    if (!status)
        status = output_result(prefix, PARSIMONY_SUFFIXES[1], &text, d);
    tree_writer_free(&writer);
    buffer_free(&text);
    return status;
}

/* How log q falls with the score among the sampled trees. */
static int write_scores(const posterior *p, const char *prefix, diag *d)
{
    buffer text;
    buffer_init(&text);
    buffer_text(&text, "draw\tscore\tlog_q\n");
    for (int i = 0; i < p->count; i++)
        buffer_printf(&text, "%d\t%.0f\t%.9g\n", i + 1, -p->value[i], p->log_q[i]);
    int status = output_result(prefix, PARSIMONY_SUFFIXES[2], &text, d);
    buffer_free(&text);
    return status;
}

int parsimony_job_write(parsimony_job *j, const parsimony_result *found, const char *settings,
                        const char *prefix, diag *d)
{
    char *path = NULL;
    if (asprintf(&path, "%s%s", prefix, PARSIMONY_SUFFIXES[0]) < 0)
        return ART_ERR_NOMEM;
    const model_contents contents = {
        .taxa = &j->data->taxa, .trees = j->parts.trees, .settings = settings};
    int status = model_file_write(path, &contents, d);
    free(path);
    if (!status)
        status = write_best(j, found, prefix, d);
    return status ? status : write_scores(&found->evaluation.posterior, prefix, d);
}

json_t *parsimony_job_results(const parsimony_job *j, const parsimony_result *found)
{
    json_t *results = evaluation_json(&found->evaluation, j->set.evaluation.particles);
    json_t *facts = json_pack("{s:s, s:I, s:I, s:i}", "model", "parsimony", "steps",
                              (json_int_t)j->parts.trainer->step, "best_score",
                              (json_int_t)found->best_score, "best_trees", found->best_trees);
    if (results && (!facts || json_object_update(results, facts))) {
        json_decref(results);
        results = NULL;
    }
    json_decref(facts);
    return results;
}
