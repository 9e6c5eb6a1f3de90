/* fit: density estimation: q is fitted to samples of trees by weighted maximum likelihood. */
#include "artreeformer.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/program_run.h"
#include "cli/training.h"
#include "jobs/fit_job.h"
#include "cli/tree_input.h"
#include "tree/taxon_order.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How the tables of a subsplit network are fitted. */
enum method { METHOD_EM_ALPHA, METHOD_EM, METHOD_SA, METHOD_SGA };
enum start { START_SA, START_ZERO };

/* The kinds of density/factory.h, in the order of enum density_kind. */
static const char *const KIND[] = {"artreeformer", "artree", "sbn", "ccd0", "ccd1", "ccd2"};

typedef struct batch_settings {
    int64_t batch;
    int picks; /* of enum batch_picks */
    double beta2;
    int momentum; /* of enum momentum */
    double cooling;
    int stop; /* of enum stop */
    double average;
    int64_t average_from;
    int64_t truth_every;
} batch_settings;

enum stop { STOP_UNSEEN, STOP_NEVER };
enum momentum { MOMENTUM_NESTEROV, MOMENTUM_PLAIN };

typedef struct count_settings {
    int counts; /* of enum counts */
} count_settings;

enum counts { COUNTS_USE, COUNTS_IGNORE };

typedef struct table_settings {
    int method; /* of enum method */
    double alpha;
    int start; /* of enum start */
    double smooth;
} table_settings;

typedef struct settings {
    common_settings common;
    option_files trees;
    tree_input_settings input;
    option_files truth;
    table_settings tables;
    int order; /* of enum order */
    training_settings training;
    batch_settings batches;
    count_settings counts;
    run_settings run;
} settings;

enum order { ORDER_NAMES, ORDER_SHARING };

static const settings DEFAULTS = {
    .common = COMMON_DEFAULTS,
    .tables = {.alpha = SBN_ALPHA},
    .training = {.steps = FIT_STEPS,
                 .tree_rate = FIT_RATE,
                 .clip = FIT_CLIP,
                 .decay = DEFAULT_DECAY,
                 .hidden = DEFAULT_HIDDEN,
                 .heads = DEFAULT_HEADS},
    .batches = {.batch = FIT_BATCH,
                .picks = PICKS_THRESHOLD,
                .beta2 = FIT_BETA2,
                .cooling = FIT_COOLING,
                .average = FIT_AVERAGE,
                .average_from = FIT_AVERAGE_FROM,
                .truth_every = FIT_TRUTH_EVERY},
    .run = {.checkpoint_every = CHECKPOINT_SECONDS, .report_every = FIT_REPORT_EVERY},
};

static const preset_value PAPER[] = {
    {"steps", PRESET_TEXT(PUBLISHED_FIT_STEPS)},
    {"batch", PRESET_TEXT(PUBLISHED_FIT_BATCH)},
    {"picks", "independent"},
    {"beta2", PRESET_TEXT(PUBLISHED_BETA2)},
    {"momentum", "plain"},
    {"cooling", "0"},
    {"stop", "never"},
    {"average", PRESET_TEXT(PUBLISHED_FIT_AVERAGE)},
    {"average-from", PRESET_TEXT(PUBLISHED_FIT_AVERAGE_FROM)},
    {"counts", "ignore"},
    {"report-every", PRESET_TEXT(PUBLISHED_FIT_REPORT_EVERY)},
    {"truth-every", PRESET_TEXT(PUBLISHED_FIT_TRUTH_EVERY)},
    {NULL, NULL},
};

/* ARTree was published with the weights of the last step. */
static const preset_value PAPER_ARTREE[] = {
    {"steps", PRESET_TEXT(PUBLISHED_FIT_STEPS)},
    {"batch", PRESET_TEXT(PUBLISHED_FIT_BATCH)},
    {"picks", "independent"},
    {"beta2", PRESET_TEXT(PUBLISHED_BETA2)},
    {"momentum", "plain"},
    {"cooling", "0"},
    {"stop", "never"},
    {"average", "0"},
    {"counts", "ignore"},
    {"report-every", PRESET_TEXT(PUBLISHED_FIT_REPORT_EVERY)},
    {"truth-every", PRESET_TEXT(PUBLISHED_FIT_TRUTH_EVERY)},
    {NULL, NULL},
};

/* Stochastic gradients of subsplit networks: batch and steps as published; the rate, of which
 * nothing is published, comes close to the published figures. */
static const preset_value SGA[] = {
    {"steps", "200000"},
    {"batch", "10"},
    {"picks", "independent"},
    {"beta2", PRESET_TEXT(PUBLISHED_BETA2)},
    {"momentum", "plain"},
    {"cooling", "0"},
    {"stop", "never"},
    {"average", "0"},
    {"tree-rate", "0.001"},
    {"decay", "0.75"},
    {"decay-every", "20000"},
    {"clip", "0"},
    {"report-every", PRESET_TEXT(PUBLISHED_FIT_REPORT_EVERY)},
    {"truth-every", PRESET_TEXT(PUBLISHED_FIT_TRUTH_EVERY)},
    {NULL, NULL},
};

static const option SBN_OPTIONS[] = {
    OPTION_CHOICE(
        table_settings, method, "--method", EXPERT, "em-alpha|em|sa|sga",
        "how a subsplit network is fitted: EM with a Dirichlet prior, EM, simple average, "
        "stochastic gradients"),
    OPTION_END,
};

static const option ALPHA_OPTIONS[] = {
    OPTION_REAL(table_settings, alpha, "--alpha", EXPERT, 0, 1e6,
                "strength of that prior, relative to the sample"),
    OPTION_END,
};

static const option START_OPTIONS[] = {
    OPTION_CHOICE(
        table_settings, start, "--start", EXPERT, "sa|zero",
        "where stochastic gradients start: at the simple average, or at zero as published"),
    OPTION_END,
};

static const option SMOOTH_OPTIONS[] = {
    OPTION_REAL(table_settings, smooth, "--smooth", EXPERT, 0, 0.99,
                "share of the uniform distribution over all topologies that is mixed in; 0: trees "
                "outside the support of the sample have probability 0"),
    OPTION_END,
};

static const option COUNT_OPTIONS[] = {
    OPTION_CHOICE(count_settings, counts, "--counts", EXPERT, "use|ignore",
                  "use: the model is the network mixed with a subsplit network, together with the "
                  "counts of the sample, which say more about trees that were sampled often; "
                  "ignore: the network alone"),
    OPTION_END,
};

static const option BATCH_OPTIONS[] = {
    OPTION_INT(batch_settings, batch, "--batch", EXPERT, 1, 1e6, "trees per step"),
    OPTION_CHOICE(batch_settings, picks, "--picks", EXPERT, "independent|systematic|threshold",
                  "how these trees are drawn from the sample: independently; by systematic "
                  "sampling, which has less noise; or the most frequent trees always, with their "
                  "exact shares, and a systematic sample of the others (if there are none, the "
                  "learning rate is half of what is said)"),
    OPTION_REAL(batch_settings, beta2, "--beta2", EXPERT, 0, 0.999999,
                "what the mean of squared gradients of the optimiser, Adam, keeps in a step"),
    OPTION_CHOICE(batch_settings, momentum, "--momentum", EXPERT, "nesterov|plain",
                  "nesterov: steps along the mean of gradients as it will be after another one, "
                  "which takes fewer of them; plain: as Adam was published"),
    OPTION_REAL(batch_settings, cooling, "--cooling", EXPERT, 0, 1,
                "share of the steps, the last ones, over which the learning rate falls linearly "
                "to 0; 0 for none"),
    OPTION_CHOICE(
        batch_settings, stop, "--stop", EXPERT, "unseen|never",
        "unseen: before the last step, once the network gives trees outside of the sample "
        "no more than the share of the sample's trees that were sampled once, which "
        "estimates their probability; never: all steps are made"),
    OPTION_REAL(batch_settings, average, "--average", EXPERT, 0, 0.9999999,
                "decay per step of the moving average of the weights; 0 for no average"),
    OPTION_INT(batch_settings, average_from, "--average-from", EXPERT, 0, 4e9,
               "step at which averaging starts"),
    OPTION_INT(batch_settings, truth_every, "--truth-every", EXPERT, 1, 4e9,
               "steps between two comparisons with --truth, which are made only at lines of the "
               "metrics"),
    OPTION_END,
};

static const option OPTIONS[] = {
    OPTION_HEADING("Input"),
    OPTION_FILES(settings, trees, "TREES", REQUIRED | LOCAL,
                 "samples of trees: MrBayes .trprobs and .t, BEAST .trees, Newick lists; several "
                 "are averaged"),
    OPTION_INCLUDE(settings, input, TREE_INPUT_OPTIONS),
    OPTION_FILES(settings, truth, "--truth", LOCAL,
                 "reference samples; the divergence from them is reported"),
    OPTION_CHOICE(settings, order, "--order", EXPERT, "names|sharing",
                  "order in which taxa are attached: lexicographic, or chosen so that the trees "
                  "share as many of their first steps as possible, which makes training faster"),
    OPTION_HEADING("Density"),
    OPTION_CHOICE(settings, training.density, "--density", OPTIONAL,
                  "artreeformer|artree|sbn|ccd0|ccd1|ccd2",
                  "a network, a subsplit network, or a conditional clade distribution"),
    OPTION_INCLUDE(settings, tables, SBN_OPTIONS),
    OPTION_INCLUDE(settings, tables, ALPHA_OPTIONS),
    OPTION_INCLUDE(settings, tables, START_OPTIONS),
    OPTION_INCLUDE(settings, tables, SMOOTH_OPTIONS),
    OPTION_INCLUDE(settings, training, TRAINING_OPTIONS),
    OPTION_INCLUDE(settings, training, NETWORK_OPTIONS),
    OPTION_INCLUDE(settings, batches, BATCH_OPTIONS),
    OPTION_INCLUDE(settings, counts, COUNT_OPTIONS),
    OPTION_INCLUDE(settings, common, COMMON_SEED),
    OPTION_INCLUDE(settings, common, COMMON_OUTPUT),
    OPTION_INCLUDE(settings, run, RUN_OPTIONS),
    OPTION_INCLUDE(settings, run, REPORT_OPTIONS),
    OPTION_INCLUDE(settings, common, COMMON_THREADS),
    OPTION_INCLUDE(settings, common, COMMON_MESSAGES),
    OPTION_END,
};

static const char *const FILES[] = {".metrics.jsonl", ".model.safetensors", ".json", NULL};

/* The data of the run: the trees, and the truth if it was given. */
static json_t *data_identity(const tree_set *trees, const tree_set *truth)
{
    json_t *data = tree_set_identity(trees);
    if (data && truth->count)
        json_object_set_new(data, "truth", tree_set_identity(truth));
    return data;
}

/* Sets names to the taxa of the set, in the order that shares the most work among the trees of a
 * step. */
static int sharing_order(taxa *names, const tree_set *trees, const settings *o)
{
    int32_t *order = mem_zeros((size_t)trees->taxa.count, sizeof *order);
    int status = order ? taxon_order(order, trees, (int)o->batches.batch) : ART_ERR_NOMEM;
    for (int32_t i = 0; i < trees->taxa.count && !status; i++) {
        const char *name = trees->taxa.name[order[i]];
        status = taxa_add(names, name, strlen(name));
    }
    free(order);
    return status;
}

/* Reads the trees once more, in that order. */
static int share_more(session *s, const settings *o, tree_set *trees, tree_options *options)
{
    taxa names;
    double before, after;
    taxa_init(&names);
    int status = sharing_order(&names, trees, o);
    if (!status)
        status = taxon_order_work(&before, trees, (int)o->batches.batch);
    tree_set_free(trees);
    options->taxa = &names;
    options->taxa_from = "the trees to fit";
    if (!status)
        status =
            tree_set_read(trees, NULL, o->trees.path, (size_t)o->trees.count, options, &s->diag);
    if (!status)
        status = taxon_order_work(&after, trees, (int)o->batches.batch);
    if (!status)
        log_info(&s->log,
                 "taxa ordered to share work: %.1f %% of the work of %lld separate trees remains "
                 "(%.1f %% in lexicographic order)",
                 100 * after, (long long)o->batches.batch, 100 * before);
    taxa_free(&names);
    return status;
}

static int read_trees(session *s, const settings *o, tree_set *trees, tree_set *truth)
{
    tree_options options;
    int status = tree_input_options(&options, &o->input, TREE_TOPOLOGY, &s->diag);
    if (!status)
        status =
            tree_set_read(trees, NULL, o->trees.path, (size_t)o->trees.count, &options, &s->diag);
    if (!status && o->order == ORDER_SHARING)
        status = share_more(s, o, trees, &options);
    if (!status && o->truth.count) {
        options.taxa = &trees->taxa;
        options.taxa_from = "the trees to fit";
        status =
            tree_set_read(truth, NULL, o->truth.path, (size_t)o->truth.count, &options, &s->diag);
    }
    return status;
}

/* The options that this kind of density has no use for are refused, and do not count as
 * settings. */
static int settle_density(session *s, const settings *o)
{
    option_set *set = &s->options;
    const bool network = o->training.density <= DENSITY_ARTREE,
               sbn = o->training.density == DENSITY_SBN;
    const bool sga = sbn && o->tables.method == METHOD_SGA;
    int status = ART_OK;
    if (!sbn)
        status = options_refuse(set, SBN_OPTIONS, "needs --density sbn", &s->diag);
    if (!status && (!sbn || o->tables.method != METHOD_EM_ALPHA))
        status =
            options_refuse(set, ALPHA_OPTIONS, "needs --density sbn --method em-alpha", &s->diag);
    if (!status && !sga)
        status = options_refuse(set, START_OPTIONS, "needs --density sbn --method sga", &s->diag);
    if (!status && network)
        status = options_refuse(set, SMOOTH_OPTIONS,
                                "is for densities with a support; the network gives every tree a "
                                "probability",
                                &s->diag);
    if (!status && !network)
        status = options_refuse(set, NETWORK_OPTIONS, "needs --density artreeformer or artree",
                                &s->diag);
    if (!status && !network)
        status =
            options_refuse(set, COUNT_OPTIONS, "needs --density artreeformer or artree", &s->diag);
    if (!status && sga)
        status = preset_apply(set, SGA, &s->diag);
    if (!status && !network && !sga)
        status =
            options_refuse(set, TRAINING_OPTIONS, "is for densities that are trained", &s->diag);
    if (!status && !network && !sga)
        status = options_refuse(set, BATCH_OPTIONS, "is for densities that are trained", &s->diag);
    return status;
}

/* The tree model that the options ask for. */
static topology_config config_of(const settings *o)
{
    if (o->training.density <= DENSITY_ARTREE)
        return training_config(&o->training);
    topology_config c =
        topology_config_default(topology_kind_find(TOPOLOGY_KINDS, KIND[o->training.density]));
    const int method = o->tables.method;
    int status = topology_config_set(&c, "smooth", o->tables.smooth);
    if (!status && o->training.density == DENSITY_SBN) {
        status = topology_config_set(&c, "em", method == METHOD_EM || method == METHOD_EM_ALPHA);
        if (!status)
            status =
                topology_config_set(&c, "alpha", method == METHOD_EM_ALPHA ? o->tables.alpha : 0);
        if (!status)
            status = topology_config_set(&c, "gradients", method == METHOD_SGA);
        if (!status)
            status = topology_config_set(&c, "zero_start", o->tables.start == START_ZERO);
    }
    assert(!status);
    return c;
}

static fit_settings plan_of(const settings *o)
{
    fit_settings plan = {.seed = (uint64_t)o->common.seed,
                         .trees = config_of(o),
                         .training = training_plan(&o->training),
                         .batch = (int)o->batches.batch,
                         .picks = (batch_picks)o->batches.picks,
                         .counts = o->training.density <= DENSITY_ARTREE &&
                                   o->counts.counts == COUNTS_USE,
                         .stops = o->batches.stop == STOP_UNSEEN,
                         .report_every = o->run.report_every,
                         .truth_every = o->batches.truth_every};
    plan.training.beta2 = o->batches.beta2;
    plan.training.nesterov = o->batches.momentum == MOMENTUM_NESTEROV;
    plan.training.cooling = llround(o->batches.cooling * (double)o->training.steps);
    plan.training.average = o->batches.average;
    plan.training.average_from = o->batches.average_from;
    return plan;
}

/* Where training ended and why, and what became of the sample. */
static void say_end(session *s, const fit_result *f)
{
    if (f->stopped_at > 0)
        log_info(
            &s->log,
            "training ended early, after %lld steps: at step %lld the network's probability of "
            "trees outside of the sample was down to %.2g, Good and Turing's estimate (the share "
            "of trees that were sampled once); now it is %.2g",
            (long long)f->steps, (long long)f->stopped_at, f->unseen, f->outside);
    else if (f->unseen > 0)
        log_info(
            &s->log,
            "after %lld steps the network's probability of trees outside of the sample is %.2g, "
            "and %.2g by Good and Turing's estimate from the sample",
            (long long)f->steps, f->outside, f->unseen);
    if (f->observations > 0)
        log_info(
            &s->log,
            "the model is the network, mixed with a subsplit network, together with the counts of "
            "the %.0f trees of the sample; none was held out",
            f->observations);
}

static int write_results(program_run *p, fit_job *job)
{
    session *s = p->session;
    fit_result found;
    char *settings_text = program_run_settings(p);
    int status =
        settings_text ? fit_job_write(job, settings_text, s->prefix, &s->diag) : ART_ERR_NOMEM;
    free(settings_text);
    if (!status)
        status = fit_job_finish(job, &found);
    if (status)
        return status;
    say_end(s, &found);
    if (found.has_truth)
        log_info(&s->log, "KL(truth || q) %.6f, total variation %.6f", found.last.kl,
                 found.last.total_variation);
    if (found.has_truth && found.last.zero_trees)
        log_info(
            &s->log,
            "%zu trees with %.3g of the truth have probability 0; with q at least 2^-52, KL is "
            "%.6f",
            found.last.zero_trees, found.last.zero_mass, found.last.kl_clipped);
    if (found.has_truth && found.has_average)
        log_info(&s->log, "with averaged weights: KL %.6f, total variation %.6f", found.averaged.kl,
                 found.averaged.total_variation);
    return program_run_end(p, fit_job_results(job, &found));
}

static int run_job(program_run *p, const tree_set *trees, const tree_set *truth, const settings *o)
{
    const fit_settings plan = plan_of(o);
    fit_job *job = NULL;
    log_info(&p->session->log, "distinct topologies: %zu, on %d taxa", trees->count,
             trees->taxa.count);
    if (truth->count)
        log_info(&p->session->log, "distinct topologies of the truth: %zu", truth->count);
    int status = fit_job_create(&job, trees, truth, &plan, p->threads);
    if (!status)
        status = program_run_drive(p, fit_job_run(job));
    if (!status)
        status = write_results(p, job);
    fit_job_free(job);
    return status;
}

static int fit(session *s, void *chosen)
{
    const settings *o = chosen;
    tree_set trees = {0}, truth = {0};
    program_run p = {0};
    int status = settle_density(s, o);
    if (!status)
        status = training_settle(s, &o->training, NULL,
                                 o->training.density == DENSITY_ARTREE ? PAPER_ARTREE : PAPER);
    if (!status)
        status = read_trees(s, o, &trees, &truth);
    if (!status)
        status = program_run_open(&p, s, &o->run, o->trees.path[0], FILES, false,
                                  data_identity(&trees, &truth));
    if (!status && !p.is_finished)
        status = run_job(&p, &trees, &truth, o);
    program_run_close(&p);
    tree_set_free(&trees);
    tree_set_free(&truth);
    return status;
}

const command fit_command = {
    .name = "fit",
    .summary = "density estimation from tree samples",
    .description =
        "Fits a density of topologies to samples of trees by weighted maximum likelihood, and "
        "writes PREFIX.model.safetensors. Densities with tables (sbn, ccd) take a second, and give "
        "probability 0 to trees unlike the sample, unless --smooth is given.",
    .options = OPTIONS,
    .defaults = &DEFAULTS,
    .size = sizeof(settings),
    .run = fit,
};
