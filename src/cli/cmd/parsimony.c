/* parsimony: the trees of the least parsimony score, by a search; or a density over all trees that
 * is fitted to exp(-score) / Z, by annealed inference. */
#include "artreeformer.h"
#include "base/format.h"
#include "cli/command.h"
#include "cli/dataset_options.h"
#include "cli/evaluation_options.h"
#include "cli/program_run.h"
#include "cli/training.h"
#include "jobs/parsimony_job.h"
#include "jobs/search_job.h"
#include "results/draw.h"
#include "tree/consensus.h"

#include <stdlib.h>

enum { DRAWN_TAXA = 64, DRAWN_COLUMNS = 50 }; /* a larger tree does not fit on a screen */

typedef enum parsimony_method { METHOD_SEARCH, METHOD_ANNEALING } parsimony_method;

typedef struct search_options {
    int64_t hits;
    int64_t starts;
    int64_t ratchet;
    int64_t max_trees;
} search_options;

typedef struct settings {
    common_settings common;
    dataset_settings data;
    int gap;
    int method;
    search_options search;
    training_settings training;
    variational_options variational;
    evaluation_settings evaluation;
    run_settings run;
} settings;

static const settings DEFAULTS = {
    .common = COMMON_DEFAULTS,
    .gap = GAP_FIFTH,
    .search = {.hits = SEARCH_HITS,
               .starts = SEARCH_STARTS,
               .ratchet = SEARCH_ROUNDS,
               .max_trees = SEARCH_TREES},
    .training = TRAINING_DEFAULTS,
    .variational = {.particles = PARSIMONY_PARTICLES, .anneal = PARSIMONY_ANNEAL},
    .evaluation = EVALUATION_DEFAULTS,
    .run = RUN_DEFAULTS,
};

static const preset_value PAPER[] = {
    {"method", "annealing"},
    {"steps", PRESET_TEXT(PUBLISHED_STEPS)},
    {"anneal", PRESET_TEXT(PUBLISHED_PARSIMONY_ANNEAL)},
    {NULL, NULL},
};

static const option SEARCH_OPTIONS[] = {
    OPTION_INT(search_options, hits, "--hits", OPTIONAL, 1, 1e6,
               "stop when the best score was found from this many independent starts"),
    OPTION_INT(search_options, starts, "--starts", OPTIONAL, 1, 1e9, "maximum number of starts"),
    OPTION_INT(search_options, ratchet, "--ratchet", OPTIONAL | EXPERT, 0, 1e6,
               "rounds of the parsimony ratchet in each start"),
    OPTION_INT(search_options, max_trees, "--max-trees", OPTIONAL | EXPERT, 1, SEARCH_TREES_MOST,
               "maximum number of fully resolved trees of the best score that are kept"),
    OPTION_END,
};

static const option OPTIONS[] = {
    OPTION_HEADING("Input"),
    OPTION_INCLUDE(settings, data, DATASET_OPTIONS),
    OPTION_CHOICE(settings, gap, "--gap", OPTIONAL, "fifth|missing",
                  "treat gaps as a fifth state or as missing data"),
    OPTION_HEADING("Method"),
    OPTION_CHOICE(settings, method, "--method", OPTIONAL, "search|annealing",
                  "search: the best score and all trees that have it; annealing: a network that "
                  "gives every tree a probability, fitted to exp(-score), as published"),
    OPTION_INCLUDE(settings, common, COMMON_SEED),
    OPTION_HEADING("Search"),
    OPTION_INCLUDE(settings, search, SEARCH_OPTIONS),
    OPTION_EXPERT_HEADING("Annealing"),
    OPTION_INCLUDE(settings, training, TRAINING_OPTIONS),
    OPTION_INCLUDE(settings, training, DENSITY_OPTIONS),
    OPTION_INCLUDE(settings, training, NETWORK_OPTIONS),
    OPTION_INCLUDE(settings, variational, VARIATIONAL_OPTIONS),
    OPTION_INCLUDE(settings, run, REPORT_OPTIONS),
    OPTION_EXPERT_INCLUDE(settings, evaluation, EVALUATION_OPTIONS),
    OPTION_EXPERT_INCLUDE(settings, evaluation, SAMPLE_OPTIONS),
    OPTION_INCLUDE(settings, common, COMMON_OUTPUT),
    OPTION_INCLUDE(settings, run, RUN_OPTIONS),
    OPTION_INCLUDE(settings, common, COMMON_THREADS),
    OPTION_INCLUDE(settings, common, COMMON_MESSAGES),
    OPTION_END,
};

static const char *const SEARCH_FILES[] = {".metrics.jsonl", ".best.nwk", ".best.trees",
                                           ".strict.nwk",    ".contree",  ".con.tre",
                                           ".report.txt",    ".json",     NULL};
static const char *const ANNEALING_FILES[] = {
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
    plan.training.anneal_shape = (anneal_shape)o->variational.anneal_shape;
    return plan;
}

/* ---- annealing ---- */

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

static int anneal(program_run *p, const dataset *data, const settings *o)
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

/* ---- search ---- */

static parsimony_search_settings search_plan(const settings *o)
{
    const search_options *x = &o->search;
    return (parsimony_search_settings){.seed = (uint64_t)o->common.seed,
                                       .hits = (int)x->hits,
                                       .starts = (int)x->starts,
                                       .rounds = (int)x->ratchet,
                                       .drop = SEARCH_DROP,
                                       .trees = (size_t)x->max_trees};
}

/* What a user wants to see first: the tree, the score, and how sure it is. */
static int say_found(session *s, const dataset *data, const search_result *r)
{
    const optimal_trees *trees = r->found.trees;
    const size_t count = trees->collapsed.count;
    char line[SEARCH_LINE];
    consensus c = {0};
    buffer text;
    buffer_init(&text);
    int status = ART_OK;
    if (data->taxa.count <= DRAWN_TAXA)
        status = consensus_build(&c, &r->splits, CONSENSUS_MAJORITY);
    if (!status && c.count)
        status = draw_tree(&text, &c, &data->taxa, DRAWN_COLUMNS);
    if (!status && text.length)
        log_info(&s->log,
                 "\nmajority consensus of the optimal trees (numbers: percent of them)\n\n%s",
                 text.text);
    consensus_free(&c);
    buffer_free(&text);
    search_job_line(line, r);
    if (r->is_complete)
        log_info(&s->log, "%s", line);
    else
        log_warning(&s->log, "%s", line);
    log_info(&s->log, "optimal trees: %zu%s (%zu%s as fully resolved trees)", count,
             trees->is_full ? " or more" : "", trees->resolved.count,
             trees->is_full || trees->is_partial ? " or more" : "");
    log_info(&s->log,
             "start with %s.report.txt; %s.best.trees has the trees, %s.con.tre opens in FigTree",
             s->prefix, s->prefix, s->prefix);
    return status;
}

static int search(program_run *p, const dataset *data, const settings *o)
{
    session *s = p->session;
    const parsimony_search_settings plan = search_plan(o);
    search_job *job = NULL;
    search_result found = {0};
    int status = search_job_create(&job, data, (parsimony_gap)o->gap, &plan, p->threads);
    if (!status)
        status = program_run_drive(p, search_job_run(job));
    if (!status)
        status = search_job_finish(job, &found);
    if (!status)
        status = search_job_write(job, &found, o->data.alignment, s->prefix, &s->diag);
    if (!status)
        status = program_run_end(p, search_job_results(&found));
    if (!status)
        status = say_found(s, data, &found);
    search_result_free(&found);
    search_job_free(job);
    return status;
}

/* ---- either ---- */

/* Options of the other method are refused rather than silently ignored, before any work is done. */
static int settle_method(session *s, const settings *o)
{
    static const option *const OF_ANNEALING[] = {
        TRAINING_OPTIONS, DENSITY_OPTIONS,    NETWORK_OPTIONS, VARIATIONAL_OPTIONS,
        REPORT_OPTIONS,   EVALUATION_OPTIONS, SAMPLE_OPTIONS,  NULL};
    if (o->method == METHOD_ANNEALING) {
        int status = evaluation_check(s, &o->evaluation, 1);
        return status ? status
                      : options_refuse(
                            &s->options, SEARCH_OPTIONS,
                            "is an option of --method search -- remove it, or choose that method",
                            &s->diag);
    }
    int status = ART_OK;
    for (int i = 0; OF_ANNEALING[i] && !status; i++)
        status = options_refuse(
            &s->options, OF_ANNEALING[i],
            "is an option of --method annealing -- remove it, or choose that method", &s->diag);
    return status;
}

static int find_trees(session *s, void *chosen)
{
    const settings *o = chosen;
    dataset data = {0};
    program_run p = {0};
    int status = training_settle(s, &o->training, &o->variational, PAPER);
    if (!status)
        status = settle_method(s, o);
    if (!status)
        status = dataset_open(&data, &o->data, &s->diag);
    const bool is_search = o->method == METHOD_SEARCH;
    if (!status)
        status = program_run_open(&p, s, &o->run, o->data.alignment,
                                  is_search ? SEARCH_FILES : ANNEALING_FILES, is_search,
                                  dataset_identity(&data));
    if (!status && !p.is_finished)
        status = is_search ? search(&p, &data, o) : anneal(&p, &data, o);
    program_run_close(&p);
    dataset_free(&data);
    return status;
}

const command parsimony_command = {
    .name = "parsimony",
    .summary = "maximum parsimony: the best score and all trees that have it",
    .description =
        "Searches for the trees of the least parsimony score from independent starts, until enough "
        "of them agree on it, and lists all that have it, without branches whose greatest "
        "length is 0. With --method annealing a network learns the distribution exp(-score) / Z "
        "over all trees instead.",
    .options = OPTIONS,
    .defaults = &DEFAULTS,
    .size = sizeof(settings),
    .run = find_trees,
};
