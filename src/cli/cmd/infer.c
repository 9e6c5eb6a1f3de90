/* infer: Bayesian inference of topology and branch lengths from an alignment. */
#include "artreeformer.h"
#include "base/format.h"
#include "cli/command.h"
#include "cli/dataset_options.h"
#include "cli/evaluation_options.h"
#include "cli/prior_options.h"
#include "cli/program_run.h"
#include "cli/rooting_options.h"
#include "cli/training.h"
#include "cli/tree_input.h"
#include "collapsed/sampler.h"
#include "density/model_file.h"
#include "jobs/fit_job.h"
#include "jobs/infer_job.h"
#include "jobs/model_average.h"
#include "results/page.h"
#include "results/parameters.h"
#include "subst/model_list.h"
#include "subst/prior_string.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum { DRAWN_TAXA = 64 }; /* a larger tree does not fit on a screen */

typedef struct collapsed_options {
    double se;
    double new_mass;
    double fit_kl; /* nats that the network is polished to; 0: it is not */
    int64_t rounds;
    int64_t fit_steps;
    int64_t fit_batch;
    double fit_rate;
    int64_t memory;
} collapsed_options;

typedef struct branch_options {
    double rate; /* learning rate */
} branch_options;

/* Of a subsplit network. */
typedef struct support_options {
    option_files trees; /* none: found by a search */
    tree_input_settings input;
    double floor;
} support_options;

typedef struct settings {
    common_settings common;
    dataset_settings data;
    int method;
    const char *model;
    const char *models; /* to be averaged over; NULL: one model */
    prior_settings prior;
    collapsed_options collapsed;
    training_settings training;
    support_options support;
    variational_options variational;
    branch_options branch;
    int64_t branch_hidden;
    evaluation_settings evaluation;
    rooting_settings rooting;
    run_settings run;
} settings;

static const settings DEFAULTS = {
    .common = COMMON_DEFAULTS,
    .model = "JC",
    .prior = {.rate = MODEL_PRIOR_RATE},
    .collapsed = {.se = DEFAULT_STANDARD_ERROR,
                  .new_mass = DEFAULT_NEW_MASS,
                  .rounds = DEFAULT_ROUNDS,
                  .fit_steps = NETWORK_FIT_STEPS,
                  .fit_batch = NETWORK_FIT_BATCH,
                  .fit_rate = NETWORK_FIT_RATE,
                  .memory = DEFAULT_TABLE_MEMORY},
    .training = {.steps = VBPI_STEPS,
                 .tree_rate = VBPI_TREE_RATE,
                 .decay = DEFAULT_DECAY,
                 .decay_every = VBPI_DECAY_EVERY,
                 .hidden = DEFAULT_HIDDEN,
                 .heads = DEFAULT_HEADS},
    .variational = {.particles = VBPI_PARTICLES,
                    .anneal = VBPI_ANNEAL,
                    .anneal_shape = ANNEAL_GEOMETRIC},
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
    {"anneal-shape", "linear"},
    {"branch-rate", PRESET_TEXT(PUBLISHED_BRANCH_RATE)},
    {"branch-hidden", PRESET_TEXT(PUBLISHED_BRANCH_HIDDEN)},
    {"prior-rate", PRESET_TEXT(MODEL_PRIOR_RATE)},
    {NULL, NULL},
};

/* The same for ARTree, whose evidence was published with ten times as many estimates. */
static const preset_value PAPER_ARTREE[] = {
    {"method", "vbpi"},
    {"steps", PRESET_TEXT(PUBLISHED_STEPS)},
    {"anneal", PRESET_TEXT(PUBLISHED_ANNEAL)},
    {"anneal-shape", "linear"},
    {"branch-rate", PRESET_TEXT(PUBLISHED_BRANCH_RATE)},
    {"branch-hidden", PRESET_TEXT(PUBLISHED_BRANCH_HIDDEN)},
    {"prior-rate", PRESET_TEXT(MODEL_PRIOR_RATE)},
    {"evidence-particles", "1000"},
    {"evidence-repeats", "1000"},
    {NULL, NULL},
};

/* Subsplit networks: one rate for both parts, and a floor of the factors. */
static const preset_value PAPER_SBN[] = {
    {"method", "vbpi"},
    {"steps", PRESET_TEXT(PUBLISHED_STEPS)},
    {"anneal", PRESET_TEXT(PUBLISHED_ANNEAL)},
    {"anneal-shape", "linear"},
    {"tree-rate", PRESET_TEXT(PUBLISHED_SBN_RATE)},
    {"branch-rate", PRESET_TEXT(PUBLISHED_BRANCH_RATE)},
    {"branch-hidden", PRESET_TEXT(PUBLISHED_BRANCH_HIDDEN)},
    {"prior-rate", PRESET_TEXT(MODEL_PRIOR_RATE)},
    {"floor", PRESET_TEXT(PUBLISHED_FLOOR)},
    {NULL, NULL},
};

/* Their own default. */
static const preset_value STANDARD_SBN[] = {
    {"tree-rate", PRESET_TEXT(VBPI_SBN_RATE)},
    {NULL, NULL},
};

static const option COLLAPSED_OPTIONS[] = {
    OPTION_REAL(collapsed_options, se, "--se", OPTIONAL, OPTION_ABOVE_0, 10,
                "target standard error of the log evidence"),
    OPTION_REAL(collapsed_options, new_mass, "--new-mass | --news", OPTIONAL, OPTION_ABOVE_0, 1,
                "stop the rounds when new draws add no more than this fraction of the posterior; "
                "where parameters are estimated, 0.05 unless less is asked for"),
    OPTION_REAL(collapsed_options, fit_kl, "--fit-kl | --gap", OPTIONAL, 0, 100,
                "after the rounds, fit the network until its divergence from the table is below "
                "this, in nats; 0: no such fit"),
    OPTION_INT(collapsed_options, rounds, "--rounds", OPTIONAL, 1, ROUNDS_MOST,
               "maximum number of rounds of fitting and drawing"),
    OPTION_INT(collapsed_options, fit_steps, "--fit-steps", OPTIONAL, 1, 1e9,
               "maximum number of fitting steps per round"),
    OPTION_INT(collapsed_options, fit_batch, "--fit-batch", OPTIONAL, 1, 100000,
               "trees per fitting step"),
    OPTION_REAL(collapsed_options, fit_rate, "--fit-rate", OPTIONAL, OPTION_ABOVE_0, 1,
                "learning rate of fitting"),
    OPTION_SIZE(
        collapsed_options, memory, "--table-memory", OPTIONAL,
        "memory for the table of topologies; if it is full, the least useful ones are removed"),
    OPTION_END,
};

static const option BRANCH_OPTIONS[] = {
    OPTION_REAL(branch_options, rate, "--branch-rate", OPTIONAL, OPTION_ABOVE_0, 1,
                "learning rate of the branch-length model"),
    OPTION_END,
};

static const option SUPPORT_OPTIONS[] = {
    OPTION_FILES(support_options, trees, "--support", LOCAL | EXPERT,
                 "samples of trees, such as bootstrap trees or a short Markov chain, from whose "
                 "splits a subsplit network makes its trees; otherwise a search finds them"),
    OPTION_REAL(support_options, floor, "--floor", EXPERT, 0, 0.5,
                "least factor of the probability that a subsplit network gives to a tree: 1e-6 as "
                "published, 0 for none"),
    OPTION_END,
};

static const option OPTIONS[] = {
    OPTION_HEADING("Input"),
    OPTION_INCLUDE(settings, data, DATASET_OPTIONS),
    OPTION_HEADING("Model"),
    OPTION_TEXT(
        settings, model, "-m --model", OPTIONAL, "MODEL",
        "substitution model, such as GTR+I+G4: parameters are estimated, except those given as "
        "numbers in braces, as in HKY{2.5}+F+G4{0.5}; auto: an average over 24 models"),
    OPTION_TEXT(settings, models, "--model-average", EXPERT, "MODELS",
                "average over these models, each with its posterior probability by its evidence, "
                "instead of one model: such as HKY+G4,GTR+G4, or auto for JC, K80, F81, HKY, SYM "
                "and GTR, each also with +I, +G4 and +I+G4; models with next to no posterior "
                "probability are not run"),
    OPTION_INCLUDE(settings, prior, PARAMETER_PRIOR_OPTIONS),
    OPTION_INCLUDE(settings, prior, BRANCH_PRIOR_OPTIONS),
    OPTION_INCLUDE(settings, prior, PRIOR_RATE_OPTIONS),
    OPTION_EXPERT_HEADING("Method"),
    OPTION_CHOICE(settings, method, "--method", OPTIONAL, "collapsed|vbpi",
                  "collapsed: branch lengths integrated out, topologies explored and learned; "
                  "vbpi: topologies and lengths learned together, as published"),
    OPTION_CHOICE(
        settings, training.density, "--density", EXPERT, "artreeformer|artree|sbn",
        "model of topologies: ARTreeFormer; ARTree, its recurrent predecessor; or, of "
        "--method vbpi, a subsplit network, which gives probability 0 to trees with other "
        "splits than its support"),
    OPTION_INCLUDE(settings, support, SUPPORT_OPTIONS),
    OPTION_EXPERT_INCLUDE(settings, support.input, TREE_INPUT_OPTIONS),
    OPTION_INCLUDE(settings, training, NETWORK_OPTIONS),
    OPTION_INT(settings, branch_hidden, "--branch-hidden", OPTIONAL, 1, 4096,
               "hidden size of the branch-length model"),
    OPTION_EXPERT_HEADING("Collapsed"),
    OPTION_INCLUDE(settings, collapsed, COLLAPSED_OPTIONS),
    OPTION_EXPERT_HEADING("VBPI"),
    OPTION_INCLUDE(settings, training, TRAINING_OPTIONS),
    OPTION_INCLUDE(settings, branch, BRANCH_OPTIONS),
    OPTION_INCLUDE(settings, variational, VARIATIONAL_OPTIONS),
    OPTION_INCLUDE(settings, run, REPORT_OPTIONS),
    OPTION_EXPERT_INCLUDE(settings, evaluation, EVALUATION_OPTIONS),
    OPTION_INCLUDE(settings, common, COMMON_OUTPUT),
    OPTION_INCLUDE(settings, evaluation, SAMPLE_OPTIONS),
    OPTION_INCLUDE(settings, rooting, ROOTING_OPTIONS),
    OPTION_INCLUDE(settings, run, RUN_OPTIONS),
    OPTION_INCLUDE(settings, common, COMMON_SEED),
    OPTION_INCLUDE(settings, common, COMMON_THREADS),
    OPTION_INCLUDE(settings, common, COMMON_MESSAGES),
    OPTION_END,
};

static const char *const FILES[] = {
    ".metrics.jsonl", ".model.safetensors", ".trees",   ".trace.tsv", ".p",          ".t",
    ".trprobs",       ".contree",           ".con.tre", ".map.nwk",   ".splits.tsv", ".models.tsv",
    ".report.txt",    ".report.html",       ".json",    NULL};

/* Tree length and estimated parameters. */
static int say_parameters(session *s, const posterior *p)
{
    parameter_row *row = NULL;
    const int status = p->n_columns > 1 ? parameter_rows(&row, p) : ART_OK;
    if (p->n_columns > 1 && !status)
        log_info(&s->log, "posterior of the parameters: mean, median (95 %% HPD interval):");
    for (int k = 0; k < p->n_columns && p->n_columns > 1 && !status; k++)
        if (isnan(row[k].low))
            log_info(&s->log, "  %-9s %-9.4g %-9s (not known: too few draws)", row[k].name,
                     row[k].mean, "-");
        else
            log_info(&s->log, "  %-9s %-9.4g %-9.4g (%.4g to %.4g)", row[k].name, row[k].mean,
                     row[k].median, row[k].low, row[k].high);
    free(row);
    return status;
}

static int say_tree(session *s, const posterior *p, const rooting *r)
{
    buffer text;
    buffer_init(&text);
    const int status = p->trees.taxa.count <= DRAWN_TAXA ? page_tree(&text, p, r) : ART_OK;
    if (!status && text.length)
        log_info(&s->log,
                 "\nmajority consensus (numbers: posterior probability of splits, percent)\n\n%s",
                 text.text);
    buffer_free(&text);
    return status;
}

/* The table of models, as in the report, which ends with an empty line. */
static int say_models(session *s, const model_table *t)
{
    buffer text;
    buffer_init(&text);
    model_table_text(&text, t);
    const int status = buffer_status(&text);
    if (!status)
        log_info(&s->log, "%.*s", (int)text.length - 1, text.text);
    buffer_free(&text);
    return status;
}

/* What a user wants to see first: the tree and the evidence. Of several models also their table. */
static int say_results(session *s, const evaluation *e, const model_table *models, const rooting *r)
{
    int status = say_tree(s, &e->posterior, r);
    if (!status && models)
        status = say_models(s, models);
    evaluation_say(s, e);
    if (!status)
        status = say_parameters(s, &e->posterior);
    log_info(&s->log,
             "start with %s.report.html; %s.con.tre opens in FigTree, %s.trace.tsv in Tracer",
             s->prefix, s->prefix, s->prefix);
    return status;
}

/* The preset of the density, once it is known that its options go together. */
static int settle_training(session *s, const settings *o)
{
    const int density = o->training.density;
    int status = ART_OK;
    if (density != DENSITY_SBN)
        status = options_refuse(&s->options, SUPPORT_OPTIONS, "needs --density sbn", &s->diag);
    else
        status = options_refuse(&s->options, NETWORK_OPTIONS,
                                "needs --density artreeformer or artree", &s->diag);
    if (!status && !o->support.trees.count)
        status = options_refuse(&s->options, TREE_INPUT_OPTIONS,
                                "is for the trees of --support -- give both, or neither", &s->diag);
    if (!status && density == DENSITY_SBN)
        status = preset_apply(&s->options, STANDARD_SBN, &s->diag);
    return status ? status
                  : training_settle(s, &o->training, &o->variational,
                                    density == DENSITY_SBN      ? PAPER_SBN
                                    : density == DENSITY_ARTREE ? PAPER_ARTREE
                                                                : PAPER);
}

/* Options of the other method are refused rather than silently ignored, before any work is done. */
static int settle_method(session *s, const settings *o)
{
    static const option *const OF_VBPI[] = {TRAINING_OPTIONS, BRANCH_OPTIONS, VARIATIONAL_OPTIONS,
                                            REPORT_OPTIONS, NULL};
    int status = evaluation_check(s, &o->evaluation, o->method == INFER_VBPI ? 1 : SAMPLER_REPEATS);
    if (status)
        return status;
    if (o->method == INFER_VBPI)
        return options_refuse(
            &s->options, COLLAPSED_OPTIONS,
            "is an option of --method collapsed -- remove it, or choose that method", &s->diag);
    if (o->training.density == DENSITY_SBN)
        return diag_error(&s->diag, ART_ERR_USAGE, (diag_place){0},
                          "--density sbn is for --method vbpi: collapsed inference needs a model "
                          "that gives every tree a probability -- add --method vbpi, or choose "
                          "another density");
    for (int i = 0; OF_VBPI[i] && !status; i++)
        status = options_refuse(&s->options, OF_VBPI[i],
                                "is an option of --method vbpi -- remove it, or choose that method",
                                &s->diag);
    if (!status && o->evaluation.particles < 2)
        status =
            diag_error(&s->diag, ART_ERR_USAGE, (diag_place){0},
                       "--evidence-particles 1: the collapsed method draws from the table of trees "
                       "and from the network and needs at least two draws -- increase it");
    return status;
}

static collapsed_settings collapsed_plan(const settings *o, int n_taxa)
{
    const collapsed_options *c = &o->collapsed;
    collapsed_settings set = collapsed_defaults((uint64_t)o->common.seed);
    set.error = c->se;
    set.table.capacity = tree_table_capacity(n_taxa, (double)c->memory);
    set.fit.batch = (int)c->fit_batch;
    set.fit.rate = c->fit_rate;
    set.fit.steps = c->fit_steps;
    set.fit.polish = c->fit_kl;
    set.rounds.rounds = (int)c->rounds;
    set.rounds.new_mass = c->new_mass;
    set.sampler.particles = (int)o->evaluation.particles;
    set.sampler.sample = (int)o->evaluation.sample;
    set.final.passes = o->evaluation.repeats;
    set.final.cache = (size_t)o->evaluation.cache;
    return set;
}

static infer_settings plan_of(const settings *o, branch_prior prior, int n_taxa)
{
    const topology_config trees = o->training.density == DENSITY_SBN
                                      ? sbn_config(o->support.floor)
                                      : training_config(&o->training);
    infer_settings plan = {.method = (infer_method)o->method,
                           .seed = (uint64_t)o->common.seed,
                           .prior = prior,
                           .trees = trees,
                           .branches = branch_config_beside(trees.kind, (int)o->branch_hidden),
                           .collapsed = collapsed_plan(o, n_taxa),
                           .training = training_plan(&o->training),
                           .particles = (int)o->variational.particles,
                           .estimator = (estimator)o->variational.estimator,
                           .report_every = o->run.report_every,
                           .evaluation = o->evaluation};
    plan.training.branch_rate = o->branch.rate;
    plan.training.anneal_steps = o->variational.anneal;
    plan.training.anneal_shape = (anneal_shape)o->variational.anneal_shape;
    return plan;
}

/* How many trees chains have met, and what share of the posterior that is. */
static void say_trees_met(session *s, const tree_set *trees)
{
    char count[FORMAT_SIZE];
    log_info(&s->log, "distinct trees met: %s, with %.2g of the posterior together",
             format_count(count, sizeof count, trees->count), trees->share);
}

/* Additional messages of collapsed inference. */
static void say_table(session *s, const infer_result *found)
{
    const evaluation *e = &found->evaluation;
    const evidence shown = verdict_shown(&e->verdict, &e->evidence);
    const json_t *trees = json_object_get(found->facts, "table_trees");
    char outside[160], error[48] = "", count[FORMAT_SIZE];
    if (json_object_get(found->facts, "chain_rounds"))
        say_trees_met(s, &e->posterior.trees);
    if (!trees)
        return;
    if (isfinite(shown.outside_se))
        snprintf(error, sizeof error, " (standard error %.1g)", shown.outside_se);
    if (isfinite(shown.outside))
        snprintf(outside, sizeof outside,
                 "a fraction of %.2g%s of the posterior is outside the table", shown.outside,
                 error);
    else
        snprintf(outside, sizeof outside,
                 "the search is unfinished: how much of the posterior is outside the table is not "
                 "known");
    log_info(&s->log, "trees in the table: %s; %s",
             format_count(count, sizeof count, (uint64_t)json_integer_value(trees)), outside);
}

static int write_results(program_run *p, infer_job *job, const infer_result *found,
                         const settings *o, const char *model, const rooting *r)
{
    session *s = p->session;
    char *settings_text = program_run_settings(p);
    const infer_description about = {o->data.alignment, model, settings_text, r};
    int status =
        settings_text ? infer_job_write(job, found, &about, s->prefix, &s->diag) : ART_ERR_NOMEM;
    free(settings_text);
    return status ? status : program_run_end(p, infer_job_results(job, found, model));
}

/* The published method has no distribution of the parameters. */
static int check_method(session *s, const free_model *model, const settings *o)
{
    if (o->method != INFER_VBPI || !model->n_free)
        return ART_OK;
    return diag_error(
        &s->diag, ART_ERR_USAGE, (diag_place){0},
        "-m %s has parameters to be estimated, which --method vbpi does not do -- leave --method "
        "out, or fix them by numbers in braces, such as HKY{2.5}+F+G4{0.5}",
        o->model);
}

static int run_job(program_run *p, const dataset *data, const tree_set *support,
                   const free_model *model, branch_prior prior, const settings *o, const rooting *r)
{
    session *s = p->session;
    infer_settings plan = plan_of(o, prior, data->alignment.n_taxa);
    plan.support = support->count ? support : NULL;
    char text[MODEL_STRING_SIZE];
    infer_job *job = NULL;
    infer_result found = {0};
    log_info(&s->log, "model: %s", free_model_print(text, model));
    prior_say(s, model, 1, prior);
    if (support->count)
        log_info(&s->log, "support: %zu topologies", support->count);
    int status = infer_job_create(&job, data, model, &plan, p->threads);
    if (!status)
        status = program_run_drive(p, infer_job_run(job));
    if (!status)
        status = infer_job_finish(job, &found);
    if (!status) {
        evaluation_say_verdict(s, &found.evaluation);
        say_table(s, &found);
        rooting_warn(s, r, &found.evaluation.posterior.splits);
        status = write_results(p, job, &found, o, text, r);
    }
    if (!status)
        status = say_results(s, &found.evaluation, NULL, r);
    infer_result_free(&found);
    infer_job_free(job);
    return status;
}

/* The list of models to average over; NULL if there is one model. */
static const char *model_list(const settings *o)
{
    return strcasecmp(o->model, MODEL_LIST_AUTO) == 0 ? MODEL_LIST_AUTO : o->models;
}

static int check_average(session *s, const settings *o)
{
    if (!model_list(o))
        return ART_OK;
    if (o->models && options_given(&s->options, "--model"))
        return diag_error(&s->diag, ART_ERR_USAGE, (diag_place){0},
                          "-m %s and --model-average %s: models are either one or several -- leave "
                          "one of the options out",
                          o->model, o->models);
    if (o->method == INFER_VBPI)
        return diag_error(&s->diag, ART_ERR_USAGE, (diag_place){0},
                          "--method vbpi has no average over models -- leave --method out, or give "
                          "one model by -m");
    return ART_OK;
}

static int write_average(program_run *p, const model_average *average, const infer_result *found,
                         const settings *o, const rooting *r)
{
    session *s = p->session;
    char title[MODEL_AVERAGE_TITLE], *settings_text = program_run_settings(p);
    model_average_title(title, average);
    const infer_description about = {o->data.alignment, title, settings_text, r};
    int status = settings_text ? model_average_write(average, found, &about, s->prefix, &s->diag)
                               : ART_ERR_NOMEM;
    free(settings_text);
    if (status)
        return status;
    return program_run_end(p, infer_result_json(found, model_average_context(average), title));
}

static int run_average(program_run *p, const dataset *data, const free_model *model, int n,
                       branch_prior prior, const settings *o, const rooting *r)
{
    session *s = p->session;
    const infer_settings plan = plan_of(o, prior, data->alignment.n_taxa);
    model_average *average = NULL;
    infer_result found = {0};
    log_info(&s->log, "models: %d, of equal prior probability", n);
    prior_say(s, model, n, prior);
    int status = model_average_create(&average, data, model, n, &plan, p->threads);
    if (!status)
        status = program_run_drive(p, model_average_run(average));
    if (!status)
        status = model_average_finish(average, &found);
    if (!status) {
        evaluation_say_verdict(s, &found.evaluation);
        say_table(s, &found);
        rooting_warn(s, r, &found.evaluation.posterior.splits);
        status = write_average(p, average, &found, o, r);
    }
    if (!status)
        status = say_results(s, &found.evaluation, model_average_context(average)->models, r);
    infer_result_free(&found);
    model_average_free(average);
    return status;
}

/* One model, or several. */
static int read_models(free_model **model, int *n, session *s, const dataset *data,
                       const settings *o)
{
    if (model_list(o))
        return model_list_parse(model, n, model_list(o), o->prior.parameters, &data->alignment,
                                &s->diag);
    *n = 1;
    *model = calloc(1, sizeof **model);
    int status =
        *model ? free_model_read(*model, o->model, o->prior.parameters, &data->alignment, &s->diag)
               : ART_ERR_NOMEM;
    return status ? status : check_method(s, *model, o);
}

/* The trees of --support, on the taxa of the alignment; none if it was not given. */
static int read_support(tree_set *out, session *s, const dataset *data, const settings *o)
{
    tree_options options;
    const option_files *files = &o->support.trees;
    if (!files->count)
        return ART_OK;
    int status = tree_input_options(&options, &o->support.input, TREE_TOPOLOGY, &s->diag);
    options.taxa = &data->taxa;
    options.taxa_from = "the alignment";
    return status ? status
                  : tree_set_read(out, NULL, files->path, (size_t)files->count, &options, &s->diag);
}

/* What the run is made from. */
static json_t *data_identity(const dataset *data, const tree_set *support)
{
    json_t *identity = dataset_identity(data);
    if (identity && support->count)
        json_object_set_new(identity, "support", tree_set_identity(support));
    return identity;
}

static int infer(session *s, void *chosen)
{
    const settings *o = chosen;
    dataset data = {0};
    tree_set support = {0};
    free_model *model = NULL;
    int n_models = 0;
    branch_prior prior;
    program_run p = {0};
    rooting root = {0};
    int status = prior_settle(&prior, s, &o->prior); /* before the preset, which gives a rate */
    if (!status)
        status = settle_training(s, o);
    if (!status)
        status = settle_method(s, o);
    if (!status)
        status = check_average(s, o);
    if (!status)
        status = dataset_open(&data, &o->data, &s->diag);
    if (!status)
        status = read_models(&model, &n_models, s, &data, o);
    if (!status)
        status = read_support(&support, s, &data, o);
    if (!status)
        status = rooting_open(&root, &o->rooting, &data.taxa, &s->diag);
    if (!status)
        status = program_run_open(&p, s, &o->run, o->data.alignment, FILES,
                                  o->method == INFER_COLLAPSED, data_identity(&data, &support));
    if (!status && !p.is_finished)
        status = model_list(o) ? run_average(&p, &data, model, n_models, prior, o, &root)
                               : run_job(&p, &data, &support, model, prior, o, &root);
    program_run_close(&p);
    rooting_free(&root);
    free(model);
    tree_set_free(&support);
    dataset_free(&data);
    return status;
}

const command infer_command = {
    .name = "infer",
    .summary = "Bayesian inference of topology and branch lengths (the main job)",
    .description =
        "Finds the posterior distribution of trees given an alignment: probabilities of topologies "
        "and splits, branch lengths, a consensus, a sample of trees, and the log marginal "
        "likelihood (evidence). It uses a table of trees and a network or Markov "
        "chains, whichever suits the data, and the log says why. The first line after the run says "
        "whether it has converged; if not, standard errors are not given. The same command resumes "
        "a stopped run.",
    .options = OPTIONS,
    .defaults = &DEFAULTS,
    .size = sizeof(settings),
    .run = infer,
};
