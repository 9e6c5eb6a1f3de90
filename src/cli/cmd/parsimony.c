/* parsimony: maximum parsimony by annealed inference: q is fitted to exp(-score) / Z. */
#include "artreeformer.h"
#include "base/format.h"
#include "cli/command.h"
#include "cli/dataset_options.h"
#include "cli/evaluation_options.h"
#include "cli/program_run.h"
#include "cli/training.h"
#include "jobs/parsimony_job.h"

#include <stdlib.h>

typedef struct settings {
    common_settings common;
    dataset_settings data;
    int gap;
    training_settings training;
    variational_options variational;
    evaluation_settings evaluation;
    run_settings run;
} settings;

static const settings DEFAULTS = {
    .common = COMMON_DEFAULTS,
    .gap = GAP_FIFTH,
    .training = TRAINING_DEFAULTS,
    .variational = {.particles = PARSIMONY_PARTICLES, .anneal = PARSIMONY_ANNEAL},
    .evaluation = EVALUATION_DEFAULTS,
    .run = RUN_DEFAULTS,
};

static const preset_value PAPER[] = {
    {"steps", PRESET_TEXT(PUBLISHED_STEPS)},
    {"anneal", PRESET_TEXT(PUBLISHED_PARSIMONY_ANNEAL)},
    {NULL, NULL},
};

static const option OPTIONS[] = {
    OPTION_HEADING("Input"),
    OPTION_INCLUDE(settings, data, DATASET_OPTIONS),
    OPTION_CHOICE(settings, gap, "--gap", OPTIONAL, "fifth|missing",
                  "treat gaps as a fifth state or as missing data"),
    OPTION_HEADING("Training"),
    OPTION_INCLUDE(settings, training, TRAINING_OPTIONS),
    OPTION_INCLUDE(settings, training, NETWORK_OPTIONS),
    OPTION_INCLUDE(settings, variational, VARIATIONAL_OPTIONS),
    OPTION_INCLUDE(settings, common, COMMON_SEED),
    OPTION_EXPERT_INCLUDE(settings, evaluation, EVALUATION_OPTIONS),
    OPTION_INCLUDE(settings, common, COMMON_OUTPUT),
    OPTION_INCLUDE(settings, evaluation, SAMPLE_OPTIONS),
    OPTION_INCLUDE(settings, run, RUN_OPTIONS),
    OPTION_INCLUDE(settings, run, REPORT_OPTIONS),
    OPTION_INCLUDE(settings, common, COMMON_THREADS),
    OPTION_INCLUDE(settings, common, COMMON_MESSAGES),
    OPTION_END,
};

static const char *const FILES[] = {
    ".metrics.jsonl", ".model.safetensors", ".best.nwk", ".scores.tsv", ".json", NULL};

static parsimony_settings plan_of(const settings *o)
{
    parsimony_settings plan = {.seed = (uint64_t)o->common.seed,
                               .gap = (parsimony_gap)o->gap,
                               .trees = training_config(&o->training),
                               .training = training_plan(&o->training),
                               .particles = (int)o->variational.particles,
                               .estimator = (estimator)o->variational.estimator,
                               .report_every = o->run.report_every,
                               .evaluation = o->evaluation};
    plan.training.anneal_steps = o->variational.anneal;
    return plan;
}

static int write_results(program_run *p, parsimony_job *job, const parsimony_result *found)
{
    session *s = p->session;
    const evidence *e = &found->evaluation.evidence;
    char *settings_text = program_run_settings(p);
    int status = settings_text ? parsimony_job_write(job, found, settings_text, s->prefix, &s->diag)
                               : ART_ERR_NOMEM;
    free(settings_text);
    if (status)
        return status;
    log_info(&s->log, "best parsimony score %lld, found for %d distinct tree%s%s",
             (long long)found->best_score, found->best_trees,
             format_noun((uint64_t)found->best_trees, "", "s"),
             found->is_full ? " (the maximum number kept; there may be more)" : "");
    log_info(&s->log, "log of the sum of exp(-score): %.3f (10-sample bound %.3f)", e->log_evidence,
             e->lower_bound_10);
    return program_run_end(p, parsimony_job_results(job, found));
}

static int run_job(program_run *p, const dataset *data, const settings *o)
{
    const parsimony_settings plan = plan_of(o);
    parsimony_job *job = NULL;
    parsimony_result found = {0};
    int status = parsimony_job_create(&job, data, &plan, p->threads);
    if (!status)
        status = program_run_drive(p, parsimony_job_run(job));
    if (!status)
        status = parsimony_job_finish(job, &found);
    if (!status)
        status = write_results(p, job, &found);
    parsimony_result_free(&found);
    parsimony_job_free(job);
    return status;
}

static int parsimony_search(session *s, void *chosen)
{
    const settings *o = chosen;
    dataset data = {0};
    program_run p = {0};
    int status = training_settle(s, &o->training, &o->variational, PAPER);
    if (!status)
        status = evaluation_check(s, &o->evaluation, 1);
    if (!status)
        status = dataset_open(&data, &o->data, &s->diag);
    if (!status)
        status = program_run_open(&p, s, &o->run, o->data.alignment, FILES, false,
                                  dataset_identity(&data));
    if (!status && !p.is_finished)
        status = run_job(&p, &data, o);
    program_run_close(&p);
    dataset_free(&data);
    return status;
}

const command parsimony_command = {
    .name = "parsimony",
    .summary = "maximum parsimony by annealed inference",
    .description = "Learns the distribution exp(-score) / Z over all trees, where score is the "
                   "parsimony score of the alignment, and reports the best score found and all "
                   "distinct trees with this score.",
    .options = OPTIONS,
    .defaults = &DEFAULTS,
    .size = sizeof(settings),
    .run = parsimony_search,
};
