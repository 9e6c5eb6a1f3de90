/* infer: Bayesian inference of topology and branch lengths from an alignment. */
#include "artreeformer.h"
#include "cli/collapsed_run.h"
#include "cli/command.h"
#include "cli/job.h"
#include "collapsed/sampler.h"
#include "density/lognormal/branch_lognormal.h"
#include "density/model_file.h"
#include "subst/model_string.h"
#include "results/page.h"
#include "results/sample.h"
#include "results/summary.h"

#include <stdio.h>
#include <stdlib.h>

enum { DRAWN_TAXA = 64 }; /* a tree of more does not fit a screen */

typedef enum method { METHOD_COLLAPSED, METHOD_VBPI } method;

typedef struct branch_options {
    double rate; /* of learning */
} branch_options;

typedef struct settings {
    common_settings common;
    dataset_settings data;
    int method;
    const char *model;
    double prior_rate;
    collapsed_options collapsed;
    training_settings training;
    variational_options variational;
    branch_options branch;
    int64_t branch_hidden;
    evaluation_settings evaluation;
    run_settings run;
} settings;

static const settings DEFAULTS = {
    .common = COMMON_DEFAULTS,
    .model = "JC",
    .prior_rate = MODEL_PRIOR_RATE,
    .collapsed = COLLAPSED_DEFAULTS,
    .training = {.steps = VBPI_STEPS,
                 .tree_rate = VBPI_TREE_RATE,
                 .decay = DEFAULT_DECAY,
                 .decay_every = VBPI_DECAY_EVERY,
                 .hidden = DEFAULT_HIDDEN,
                 .heads = DEFAULT_HEADS},
    .variational = {.particles = VBPI_PARTICLES, .anneal = VBPI_ANNEAL},
    .branch = {.rate = VBPI_BRANCH_RATE},
    .branch_hidden = DEFAULT_BRANCH_HIDDEN,
    .evaluation = EVALUATION_DEFAULTS,
    .run = RUN_DEFAULTS,
};

/* The published schedule (with --anneal 200000 for data sets that are hard to anneal). */
static const preset_value PAPER[] = {
    {"method", "vbpi"},
    {"steps", PRESET_TEXT(PUBLISHED_STEPS)},
    {"anneal", PRESET_TEXT(PUBLISHED_ANNEAL)},
    {"branch-rate", PRESET_TEXT(PUBLISHED_BRANCH_RATE)},
    {"branch-hidden", PRESET_TEXT(PUBLISHED_BRANCH_HIDDEN)},
    {"prior-rate", PRESET_TEXT(MODEL_PRIOR_RATE)},
    {NULL, NULL},
};

static const option BRANCH_OPTIONS[] = {
    OPTION_REAL(branch_options, rate, "--branch-rate", OPTIONAL, OPTION_ABOVE_0, 1,
                "learning rate of the branch-length model"),
    OPTION_END,
};

static const option OPTIONS[] = {
    OPTION_HEADING("Input"),
    OPTION_INCLUDE(settings, data, DATASET_OPTIONS),
    OPTION_HEADING("Model"),
    OPTION_TEXT(settings, model, "-m --model", OPTIONAL, "MODEL",
                "substitution model with its numbers, such as HKY{2.5}+F+G4{0.5}"),
    OPTION_REAL(settings, prior_rate, "--prior-rate", OPTIONAL, OPTION_ABOVE_0, 1e6,
                "rate of the exponential prior on branch lengths"),
    OPTION_HEADING("Method"),
    OPTION_CHOICE(settings, method, "--method", OPTIONAL, "collapsed|vbpi",
                  "collapsed: branch lengths integrated out, topologies explored and learned; "
                  "vbpi: topologies and lengths learned together, as published"),
    OPTION_INCLUDE(settings, training, NETWORK_OPTIONS),
    OPTION_INT(settings, branch_hidden, "--branch-hidden", OPTIONAL, 1, 4096,
               "hidden size of the branch-length model"),
    OPTION_HEADING("Collapsed"),
    OPTION_INCLUDE(settings, collapsed, COLLAPSED_OPTIONS),
    OPTION_HEADING("VBPI"),
    OPTION_INCLUDE(settings, training, TRAINING_OPTIONS),
    OPTION_INCLUDE(settings, branch, BRANCH_OPTIONS),
    OPTION_INCLUDE(settings, variational, VARIATIONAL_OPTIONS),
    OPTION_INCLUDE(settings, run, REPORT_OPTIONS),
    OPTION_HEADING("Evaluation"),
    OPTION_INCLUDE(settings, common, COMMON_SEED),
    OPTION_INCLUDE(settings, evaluation, EVALUATION_OPTIONS),
    OPTION_INCLUDE(settings, evaluation, SAMPLE_OPTIONS),
    OPTION_INCLUDE(settings, common, COMMON_OUTPUT),
    OPTION_INCLUDE(settings, run, RUN_OPTIONS),
    OPTION_INCLUDE(settings, common, COMMON_THREADS),
    OPTION_INCLUDE(settings, common, COMMON_MESSAGES),
    OPTION_END,
};

static const char *const FILES[] = {".metrics.jsonl",
                                    ".model.safetensors",
                                    ".trees",
                                    ".trace.tsv",
                                    ".trprobs",
                                    ".contree",
                                    ".con.tre",
                                    ".map.nwk",
                                    ".splits.tsv",
                                    ".report.txt",
                                    ".report.html",
                                    ".json",
                                    NULL};

static const run_view VIEW = {
    .what = "training", .objective = "bound", .best = "best_log_likelihood", .best_sign = 1};

static int make_models(job *j, const settings *o)
{
    const int n = j->data.alignment.n_taxa;
    int status = job_trees(j, n, &o->training);
    if (!status)
        status = branch_lognormal_create(&j->branches, n, (int)o->branch_hidden, j->run.threads);
    if (!status)
        j->branches->ops->initialise(j->branches, (uint64_t)o->common.seed);
    return status;
}

/* <prefix>.report.txt and .html */
static int write_page(job *j, const settings *o, const evaluation *e, const json_t *facts,
                      const char *model)
{
    session *s = j->run.session;
    const alignment *a = &j->data.alignment;
    char size[128], prior[64], training[128], seed[32];
    snprintf(size, sizeof size, "%d taxa, %zu sites, %zu patterns", a->n_taxa, a->n_sites,
             a->n_patterns);
    snprintf(prior, sizeof prior, "uniform topologies, Exp(%g) branch lengths", o->prior_rate);
    if (o->method == METHOD_VBPI)
        snprintf(training, sizeof training, "%lld steps of %lld particles, annealed over %lld",
                 (long long)o->training.steps, (long long)o->variational.particles,
                 (long long)o->variational.anneal);
    else
        snprintf(training, sizeof training, "branch lengths integrated out, topologies explored");
    snprintf(seed, sizeof seed, "%lld", (long long)o->common.seed);
    const page_fact done[] = {
        {"alignment", o->data.alignment},
        {"size", size},
        {"substitution model", model},
        {"prior", prior},
        {"method", training},
        {"seed", seed},
    };
    trace bound = {0};
    char *metrics = session_path(s, ".metrics.jsonl");
    int status = metrics ? trace_read(&bound, metrics, VIEW.objective) : ART_ERR_NOMEM;
    if (!status)
        status = page_write(s->prefix,
                            &(page){.fact = done,
                                    .n_facts = (int)(sizeof done / sizeof done[0]),
                                    .evidence = &e->evidence,
                                    .posterior = &e->posterior,
                                    .bound = &bound,
                                    .rounds = json_object_get(facts, "rounds")},
                            &s->diag);
    trace_free(&bound);
    free(metrics);
    return status;
}

static int write_results(job *j, const settings *o, const evaluation *e, json_t *facts,
                         const char *model)
{
    session *s = j->run.session;
    int status = job_save_model(j, &j->data.taxa, &o->training, (int)o->branch_hidden, model);
    if (!status)
        status = sample_write(s->prefix, &e->posterior, &s->diag);
    if (!status)
        status = summary_write(s->prefix, &e->posterior.trees, &e->posterior.splits, true,
                               CONSENSUS_MAJORITY, &s->diag);
    if (!status)
        status = write_page(j, o, e, facts, model);
    if (status)
        return status;
    return run_finish(&j->run, job_results(e, &o->evaluation, model, facts));
}

/* What a user wants to see first: the tree and the evidence. */
static int say_results(session *s, const evaluation *e)
{
    buffer text;
    buffer_init(&text);
    int status = ART_OK;
    if (e->posterior.trees.taxa.count <= DRAWN_TAXA)
        status = page_tree(&text, &e->posterior);
    if (!status && text.length)
        log_info(&s->log,
                 "\nmajority consensus (numbers: posterior probability of splits, percent)\n\n%s",
                 text.text);
    buffer_free(&text);
    evaluation_say(s, e);
    log_info(&s->log,
             "look at %s.report.html first; %s.con.tre opens in FigTree, %s.trace.tsv in Tracer",
             s->prefix, s->prefix, s->prefix);
    return status;
}

/* Options of the other method are not silently ignored, and nothing fails late. */
static int settle_method(session *s, const settings *o)
{
    static const option *const OF_VBPI[] = {TRAINING_OPTIONS, BRANCH_OPTIONS, VARIATIONAL_OPTIONS,
                                            REPORT_OPTIONS, NULL};
    int status =
        evaluation_settle(s, &o->evaluation, o->method == METHOD_VBPI ? 1 : SAMPLER_REPEATS);
    if (status)
        return status;
    if (o->method == METHOD_VBPI)
        return options_refuse(&s->options, COLLAPSED_OPTIONS,
                              "is an option of --method collapsed -- leave it out, or choose that",
                              &s->diag);
    for (int i = 0; OF_VBPI[i] && !status; i++)
        status = options_refuse(&s->options, OF_VBPI[i],
                                "is an option of --method vbpi -- leave it out, or choose that",
                                &s->diag);
    if (!status && o->evaluation.particles < 2)
        status = diag_error(&s->diag, ART_ERR_USAGE, (diag_place){0},
                            "--evidence-particles 1: the collapsed method draws from the table of "
                            "trees and from the network and needs two at least -- raise it");
    return status;
}

/* Topologies and branch lengths learned together. */
static int infer_vbpi(job *j, evaluation *e, json_t **facts, const settings *o,
                      const subst_model *model)
{
    train_settings plan = training_plan(&o->training);
    plan.branch_rate = o->branch.rate;
    int status = target_likelihood(&j->goal, &j->data.alignment, j->data.row, model,
                                   job_batch(&o->variational), j->run.threads);
    if (status)
        return status;
    j->source =
        (particle_source){j->trees, j->branches, j->goal, o->prior_rate, (uint64_t)o->common.seed};
    status = job_train_variational(j, &plan, &o->variational, &VIEW);
    if (!status)
        status = job_evaluate(j, e, &j->data.taxa, &o->evaluation);
    if (status)
        return status;
    *facts = json_pack("{s:s, s:I}", "method", "vbpi", "steps", (json_int_t)j->trainer->step);
    if (*facts)
        results_number(*facts, "best_log_likelihood", variational_best(j->task));
    return *facts ? ART_OK : ART_ERR_NOMEM;
}

static int infer(session *s, void *chosen)
{
    const settings *o = chosen;
    job j = {0};
    evaluation e = {0};
    json_t *facts = NULL;
    subst_model model;
    char model_text[MODEL_STRING_SIZE];
    int status = training_settle(s, &o->training, &o->variational, PAPER);
    if (!status)
        status = settle_method(s, o);
    if (!status)
        status = dataset_read(&j.data, &o->data, &s->diag);
    if (!status)
        status = model_string_parse(&model, o->model, &j.data.alignment, &s->diag);
    if (!status)
        status = run_open(&j.run, s, &o->run, o->data.alignment, FILES, dataset_identity(&j.data));
    if (status || j.run.finished)
        goto out;
    log_info(&s->log, "model: %s", model_string_print(model_text, &model));
    status = make_models(&j, o);
    if (!status && o->method == METHOD_VBPI)
        status = infer_vbpi(&j, &e, &facts, o, &model);
    else if (!status)
        status =
            collapsed_run(&j, &e, &facts, &o->collapsed, &o->evaluation, &model, o->prior_rate);
    if (!status)
        status = write_results(&j, o, &e, facts, model_text);
    if (!status)
        status = say_results(s, &e);
out:
    json_decref(facts);
    evaluation_free(&e);
    job_free(&j);
    return status;
}

const command infer_command = {
    .name = "infer",
    .summary = "Bayesian inference of topology and branch lengths (the main job)",
    .description =
        "Learns the posterior distribution of trees given an alignment: a probability for every "
        "topology and a density of branch lengths, from which the log marginal likelihood "
        "(evidence), tree and split probabilities, a consensus and a sample of trees follow. "
        "A run that is stopped goes on where it was when the same command is given again.",
    .options = OPTIONS,
    .defaults = &DEFAULTS,
    .size = sizeof(settings),
    .run = infer,
};
