/* fit: density estimation: q is fitted to samples of trees by weighted maximum likelihood. */
#include "artreeformer.h"
#include "base/hash.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/job.h"
#include "cli/tree_input.h"
#include "train/density_task.h"
#include "train/divergence.h"
#include "tree/taxon_order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct settings {
    common_settings common;
    option_files trees;
    tree_input_settings input;
    option_files truth;
    int64_t truth_every;
    int order; /* of enum order */
    training_settings training;
    int64_t batch;
    int picks; /* of enum batch_picks */
    double average;
    int64_t average_from;
    run_settings run;
} settings;

enum order { ORDER_NAMES, ORDER_SHARING };

static const settings DEFAULTS = {
    .common = COMMON_DEFAULTS,
    .truth_every = FIT_TRUTH_EVERY,
    .picks = PICKS_SYSTEMATIC,
    .training = TRAINING_DEFAULTS,
    .batch = FIT_BATCH,
    .average = FIT_AVERAGE,
    .average_from = FIT_AVERAGE_FROM,
    .run = RUN_DEFAULTS,
};

static const preset_value PAPER[] = {
    {"steps", PRESET_TEXT(PUBLISHED_FIT_STEPS)},
    {"batch", PRESET_TEXT(PUBLISHED_FIT_BATCH)},
    {"picks", "independent"},
    {"average", PRESET_TEXT(PUBLISHED_FIT_AVERAGE)},
    {"average-from", PRESET_TEXT(PUBLISHED_FIT_AVERAGE_FROM)},
    {NULL, NULL},
};

static const option OPTIONS[] = {
    OPTION_HEADING("Input"),
    OPTION_FILES(settings, trees, "TREES", REQUIRED | LOCAL,
                 "samples of trees: MrBayes .trprobs and .t, BEAST .trees, Newick lists; several "
                 "are averaged"),
    OPTION_INCLUDE(settings, input, TREE_INPUT_OPTIONS),
    OPTION_FILES(settings, truth, "--truth", LOCAL,
                 "trees of the true distribution: the divergence from it is followed"),
    OPTION_INT(settings, truth_every, "--truth-every", OPTIONAL, 1, 4e9,
               "steps between two looks at it; falls on lines of metrics"),
    OPTION_CHOICE(settings, order, "--order", OPTIONAL, "names|sharing",
                  "order in which taxa are attached: lexicographic, or such that the trees have "
                  "long beginnings in common and a step costs less"),
    OPTION_HEADING("Training"),
    OPTION_INCLUDE(settings, training, TRAINING_OPTIONS),
    OPTION_INCLUDE(settings, training, NETWORK_OPTIONS),
    OPTION_INT(settings, batch, "--batch", OPTIONAL, 1, 1e6, "trees of a step"),
    OPTION_CHOICE(settings, picks, "--picks", OPTIONAL, "independent|systematic",
                  "how they are drawn from the sample: independently, or one from each of equal "
                  "steps of its weights, with less noise"),
    OPTION_REAL(settings, average, "--average", OPTIONAL, 0, 0.9999999,
                "how much a moving average of the weights keeps per step; 0 for no average"),
    OPTION_INT(settings, average_from, "--average-from", OPTIONAL, 0, 4e9,
               "step at which the average begins"),
    OPTION_INCLUDE(settings, common, COMMON_SEED),
    OPTION_INCLUDE(settings, common, COMMON_OUTPUT),
    OPTION_INCLUDE(settings, run, RUN_OPTIONS),
    OPTION_INCLUDE(settings, run, REPORT_OPTIONS),
    OPTION_INCLUDE(settings, common, COMMON_THREADS),
    OPTION_INCLUDE(settings, common, COMMON_MESSAGES),
    OPTION_END,
};

static const char *const FILES[] = {".metrics.jsonl", ".model.safetensors", ".json", NULL};

enum { TRUTH_BATCH = 1000 };

/* What is followed on the way: the divergence of both kinds of weights from the truth. */
typedef struct follower {
    job *job;
    const tree_set *truth;
    int64_t every;
    bool has_average;
    divergence raw, averaged;
} follower;

static int measure(follower *f)
{
    const tree_set *t = f->truth;
    topology_model *m = f->job->trees;
    int status = divergence_compute(&f->raw, m, t->decision, t->weight, t->count, TRUTH_BATCH);
    if (status || !f->has_average)
        return status;
    trainer_swap_average(f->job->trainer);
    status = divergence_compute(&f->averaged, m, t->decision, t->weight, t->count, TRUTH_BATCH);
    trainer_swap_average(f->job->trainer);
    return status;
}

static void put_divergence(json_t *line, const follower *f)
{
    results_number(line, "kl", f->raw.kl);
    results_number(line, "total_variation", f->raw.total_variation);
    if (f->has_average) {
        results_number(line, "kl_average", f->averaged.kl);
        results_number(line, "total_variation_average", f->averaged.total_variation);
    }
}

static int follow(void *context, json_t *line, char *text, size_t size)
{
    follower *f = context;
    if (f->job->trainer->step % f->every)
        return ART_OK;
    int status = measure(f);
    if (status)
        return status;
    put_divergence(line, f);
    if (f->has_average)
        snprintf(text, size, ", KL %.4f (average weights %.4f)", f->raw.kl, f->averaged.kl);
    else
        snprintf(text, size, ", KL %.4f", f->raw.kl);
    return ART_OK;
}

static json_t *set_identity(const tree_set *t)
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

/* What the run is of: the trees, and the truth if there is one. */
static json_t *data_identity(const tree_set *trees, const tree_set *truth)
{
    json_t *data = set_identity(trees);
    if (data && truth->count)
        json_object_set_new(data, "truth", set_identity(truth));
    return data;
}

/* names becomes the taxa of the set in the order that shares most work among the trees of a
 * step. */
static int sharing_order(taxa *names, const tree_set *trees, const settings *o)
{
    int32_t *order = mem_zeros((size_t)trees->taxa.count, sizeof *order);
    int status = order ? taxon_order(order, trees, (int)o->batch) : ART_ERR_NOMEM;
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
        status = taxon_order_work(&before, trees, (int)o->batch);
    tree_set_free(trees);
    options->taxa = &names;
    options->taxa_from = "the trees to fit";
    if (!status)
        status =
            tree_set_read(trees, NULL, o->trees.path, (size_t)o->trees.count, options, &s->diag);
    if (!status)
        status = taxon_order_work(&after, trees, (int)o->batch);
    if (!status)
        log_info(&s->log,
                 "taxa ordered for sharing: %.1f %% of the work of %lld trees is left, %.1f %% in "
                 "the order of names",
                 100 * after, (long long)o->batch, 100 * before);
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

static int write_results(job *j, const settings *o, follower *f, const tree_set *trees)
{
    session *s = j->run.session;
    int status = job_save_model(j, &trees->taxa, &o->training, 0, NULL);
    if (!status && f->truth)
        status = measure(f);
    if (status)
        return status;
    json_t *results = json_pack("{s:s, s:I}", "model", j->trees->ops->name, "steps",
                                (json_int_t)j->trainer->step);
    if (results && f->truth) {
        put_divergence(results, f);
        log_info(&s->log, "KL(truth || q) %.6f, total variation %.6f", f->raw.kl,
                 f->raw.total_variation);
        if (f->has_average)
            log_info(&s->log, "with the average weights: KL %.6f, total variation %.6f",
                     f->averaged.kl, f->averaged.total_variation);
    }
    return run_finish(&j->run, results);
}

static int fit(session *s, void *chosen)
{
    const settings *o = chosen;
    job j = {0};
    tree_set trees = {0}, truth = {0};
    follower f = {.job = &j, .every = o->truth_every, .has_average = o->average > 0};
    run_view view = {.what = "fitting", .objective = "log_q"};
    int status = training_settle(s, &o->training, NULL, PAPER);
    if (!status)
        status = read_trees(s, o, &trees, &truth);
    if (!status)
        status =
            run_open(&j.run, s, &o->run, o->trees.path[0], FILES, data_identity(&trees, &truth));
    if (status || j.run.finished)
        goto out;
    log_info(&s->log, "%zu distinct topologies on %d taxa", trees.count, trees.taxa.count);
    if (o->truth.count) {
        f.truth = &truth;
        view.more = follow;
        view.context = &f;
        log_info(&s->log, "truth: %zu distinct topologies", truth.count);
    }
    status = job_trees(&j, trees.taxa.count, &o->training);
    if (!status)
        status = density_create(&j.task, j.trees, trees.decision, trees.weight, trees.count,
                                (int)o->batch, (batch_picks)o->picks, (uint64_t)o->common.seed);
    if (!status) {
        train_settings plan = training_plan(&o->training);
        plan.average = o->average;
        plan.average_from = o->average_from;
        status = job_train(&j, &plan, &view);
    }
    if (!status)
        status = write_results(&j, o, &f, &trees);
out:
    job_free(&j);
    tree_set_free(&trees);
    tree_set_free(&truth);
    return status;
}

const command fit_command = {
    .name = "fit",
    .summary = "density estimation from tree samples",
    .description =
        "Fits the topology model to samples of trees, such as those of MCMC runs, by weighted "
        "maximum likelihood, and writes PREFIX.model.safetensors, which gives every topology a "
        "probability. With --truth the divergence from a reference distribution is followed.",
    .options = OPTIONS,
    .defaults = &DEFAULTS,
    .size = sizeof(settings),
    .run = fit,
};
