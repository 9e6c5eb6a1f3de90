/* parsimony: maximum parsimony by annealed inference: q is fitted to exp(-score) / Z. */
#include "artreeformer.h"
#include "io/output.h"
#include "cli/command.h"
#include "cli/job.h"
#include "tree/tree_write.h"

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
                  "a gap is a fifth state, or missing data"),
    OPTION_HEADING("Training"),
    OPTION_INCLUDE(settings, training, TRAINING_OPTIONS),
    OPTION_INCLUDE(settings, training, NETWORK_OPTIONS),
    OPTION_INCLUDE(settings, variational, VARIATIONAL_OPTIONS),
    OPTION_INCLUDE(settings, common, COMMON_SEED),
    OPTION_INCLUDE(settings, evaluation, EVALUATION_OPTIONS),
    OPTION_INCLUDE(settings, evaluation, SAMPLE_OPTIONS),
    OPTION_INCLUDE(settings, common, COMMON_OUTPUT),
    OPTION_INCLUDE(settings, run, RUN_OPTIONS),
    OPTION_INCLUDE(settings, run, REPORT_OPTIONS),
    OPTION_INCLUDE(settings, common, COMMON_THREADS),
    OPTION_INCLUDE(settings, common, COMMON_MESSAGES),
    OPTION_END,
};

static const char *const FILES[] = {
    ".metrics.jsonl", ".model.safetensors", ".best.nwk", ".scores.tsv", ".json", NULL};

static int make_models(job *j, const settings *o)
{
    int status = job_trees(j, j->data.alignment.n_taxa, &o->training);
    if (!status)
        status = target_parsimony(&j->goal, &j->data.alignment, j->data.row, (parsimony_gap)o->gap,
                                  job_batch(&o->variational), j->run.threads);
    j->source = (particle_source){j->trees, NULL, j->goal, 0, (uint64_t)o->common.seed};
    return status;
}

/* All distinct trees of the best score, one a line. */
static int write_best(job *j)
{
    session *s = j->run.session;
    size_t n = (size_t)j->data.taxa.count;
    const int32_t *decision;
    int count = variational_best_trees(j->task, &decision);
    buffer text;
    tree_writer writer = {0};
    buffer_init(&text);
    int status = tree_writer_init(&writer, &j->data.taxa);
    for (size_t i = 0; i < (size_t)count && !status; i++) {
        tree_write_newick(&text, &writer, decision + i * (n - 3), NULL);
        buffer_char(&text, '\n');
    }
    if (!status)
        status = output_result(s->prefix, ".best.nwk", &text, &s->diag);
    tree_writer_free(&writer);
    buffer_free(&text);
    return status;
}

/* How log q falls with the score among the sampled trees. */
static int write_scores(job *j, const posterior *p)
{
    session *s = j->run.session;
    buffer text;
    buffer_init(&text);
    buffer_text(&text, "draw\tscore\tlog_q\n");
    for (int i = 0; i < p->count; i++)
        buffer_printf(&text, "%d\t%.0f\t%.9g\n", i + 1, -p->value[i], p->log_q[i]);
    int status = output_result(s->prefix, ".scores.tsv", &text, &s->diag);
    buffer_free(&text);
    return status;
}

static int write_results(job *j, const settings *o, const evaluation *e)
{
    const int32_t *decision;
    int count = variational_best_trees(j->task, &decision);
    double best = -variational_best(j->task);
    session *s = j->run.session;
    int status = job_save_model(j, &j->data.taxa, &o->training, 0, NULL);
    if (!status)
        status = write_best(j);
    if (!status)
        status = write_scores(j, &e->posterior);
    if (status)
        return status;
    log_info(&s->log, "best parsimony score %.0f, %d distinct tree%s with it%s", best, count,
             count == 1 ? "" : "s",
             count == VARIATIONAL_BEST_TREES ? " (as many as are kept)" : "");
    log_info(&s->log, "log of the sum of exp(-score): %.3f (10-sample bound %.3f)",
             e->evidence.log_evidence, e->evidence.lower_bound_10);
    json_t *facts = json_pack("{s:I, s:I, s:i}", "steps", (json_int_t)j->trainer->step,
                              "best_score", (json_int_t)best, "best_trees", count);
    json_t *results = job_results(e, &o->evaluation, "parsimony", facts);
    json_decref(facts);
    return run_finish(&j->run, results);
}

static int parsimony_search(session *s, void *chosen)
{
    const settings *o = chosen;
    static const run_view VIEW = {
        .what = "training", .objective = "bound", .best = "best_score", .best_sign = -1};
    job j = {0};
    evaluation e = {0};
    int status = training_settle(s, &o->training, &o->variational, PAPER);
    if (!status)
        status = evaluation_settle(s, &o->evaluation, 1);
    if (!status)
        status = dataset_read(&j.data, &o->data, &s->diag);
    if (!status)
        status = run_open(&j.run, s, &o->run, o->data.alignment, FILES, dataset_identity(&j.data));
    if (status || j.run.finished)
        goto out;
    status = make_models(&j, o);
    if (!status) {
        train_settings plan = training_plan(&o->training);
        status = job_train_variational(&j, &plan, &o->variational, &VIEW);
    }
    if (!status)
        status = job_evaluate(&j, &e, &j.data.taxa, &o->evaluation);
    if (!status)
        status = write_results(&j, o, &e);
out:
    evaluation_free(&e);
    job_free(&j);
    return status;
}

const command parsimony_command = {
    .name = "parsimony",
    .summary = "maximum parsimony by annealed inference",
    .description =
        "Learns the distribution exp(-score) / Z over all trees, where score is the parsimony "
        "score of the alignment, and reports the best score found with all distinct trees that "
        "reach it.",
    .options = OPTIONS,
    .defaults = &DEFAULTS,
    .size = sizeof(settings),
    .run = parsimony_search,
};
