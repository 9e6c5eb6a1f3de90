/* compare: distances between trees, or between two samples of trees. */
#include "artreeformer.h"
#include "base/format.h"
#include "base/mem.h"
#include "cli/session.h"
#include "cli/tree_input.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MATRIX_TREES = 10000 }; /* a larger matrix would be impractical */

typedef struct sample_settings {
    double min_frequency;
} sample_settings;

typedef struct settings {
    common_settings common;
    option_files trees;
    option_files with;
    tree_input_settings input;
    sample_settings samples;
} settings;

static const settings DEFAULTS = {
    .common = COMMON_DEFAULTS, .input = {.burnin = NAN}, .samples = {.min_frequency = 0.1}};

static const option OF_SAMPLES[] = {
    OPTION_REAL(sample_settings, min_frequency, "--min-frequency", OPTIONAL, 0, 1,
                "ignore splits rarer than this in both samples when computing the deviation"),
    OPTION_END,
};

static const option OPTIONS[] = {
    OPTION_HEADING("Input"),
    OPTION_FILES(settings, trees, "TREES", REQUIRED, "tree files, Newick or NEXUS"),
    OPTION_FILES(settings, with, "--with", OPTIONAL,
                 "tree files of the sample to compare with; without them, all trees are compared "
                 "with each other"),
    OPTION_INCLUDE(settings, input, TREE_INPUT_OPTIONS),
    OPTION_INCLUDE(settings, input, COMMON_TAXA_OPTIONS),
    OPTION_HEADING("Comparison of samples"),
    OPTION_INCLUDE(settings, samples, OF_SAMPLES),
    OPTION_INCLUDE(settings, common, COMMON_MESSAGES),
    OPTION_END,
};

/* All trees of the files, duplicates included, on the taxa of the first file. */
typedef struct tree_list {
    taxa taxa;
    size_t count, room;
    int32_t *decision; /* [count][N-3] */
} tree_list;

static void list_free(tree_list *l)
{
    taxa_free(&l->taxa);
    free(l->decision);
}

static int list_add(tree_list *l, const int32_t *decision, diag *d)
{
    size_t width = (size_t)(l->taxa.count - 3);
    if (l->count == MATRIX_TREES)
        return diag_error(d, ART_ERR_LIMIT, (diag_place){0},
                          "more than %d trees -- use --burnin, or --with to compare samples",
                          MATRIX_TREES);
    if (l->count == l->room) {
        size_t room = l->room ? 2 * l->room : 64;
        int32_t *grown = mem_resize(l->decision, room * width, sizeof *grown);
        if (!grown)
            return ART_ERR_NOMEM;
        l->decision = grown;
        l->room = room;
    }
    memcpy(l->decision + l->count++ * width, decision, width * sizeof *decision);
    return ART_OK;
}

static int list_read(tree_list *l, const char *path, const tree_options *common, diag *d)
{
    tree_file f;
    tree_options options = *common;
    if (l->taxa.count > 0 && !options.prune) {
        options.taxa = &l->taxa;
        options.taxa_from = "the first file";
    }
    int status = tree_file_open(&f, path, &options, d);
    if (status == ART_OK && l->taxa.count == 0)
        status = taxa_copy(&l->taxa, f.taxa);
    while (status == ART_OK && tree_file_more(&f)) {
        status = tree_file_next(&f, d);
        if (status == ART_OK)
            status = list_add(l, f.tree.decision, d);
    }
    tree_file_free(&f);
    return status;
}

static int put_matrix(output *o, const tree_list *l)
{
    size_t width = (size_t)(l->taxa.count - 3);
    topology t = {0};
    rf distance = {0};
    bool *is_contracted = mem_zeros((size_t)topology_edges(l->taxa.count), sizeof *is_contracted);
    int status = is_contracted ? topology_init(&t, l->taxa.count) : ART_ERR_NOMEM;
    if (status == ART_OK)
        status = rf_init(&distance, l->taxa.count);
    if (status == ART_OK) {
        output_text(o, "tree");
        for (size_t i = 0; i < l->count; i++)
            output_printf(o, "\t%zu", i + 1);
        output_text(o, "\n");
    }
    for (size_t i = 0; status == ART_OK && i < l->count; i++) {
        topology_build(&t, l->decision + i * width);
        topology_contracted(is_contracted, &t, l->decision + i * width);
        rf_set_contracted(&distance, &t, is_contracted);
        output_printf(o, "%zu", i + 1);
        for (size_t k = 0; k < l->count; k++) {
            topology_build(&t, l->decision + k * width);
            topology_contracted(is_contracted, &t, l->decision + k * width);
            output_printf(o, "\t%d", rf_distance_contracted(&distance, &t, is_contracted));
        }
        output_text(o, "\n");
        if (o->error)
            break; /* the error is reported when the output is closed */
    }
    rf_free(&distance);
    topology_free(&t);
    free(is_contracted);
    return status;
}

static int compare_trees(session *s, const settings *set, const tree_options *options)
{
    tree_list list = {0};
    int status = ART_OK;
    for (int i = 0; i < set->trees.count && status == ART_OK; i++)
        status = list_read(&list, set->trees.path[i], options, &s->diag);
    session_notes(s);
    if (status == ART_OK)
        status = put_matrix(&s->table, &list);
    list_free(&list);
    return status;
}

/* KL(p || q), infinite where q lacks a tree of p; *missing is the mass of such trees. */
static double divergence(double *missing, const tree_set *p, const tree_set *q)
{
    double sum = 0;
    *missing = 0;
    for (size_t i = 0; i < p->count; i++) {
        int64_t k = tree_set_find(q, tree_set_decision(p, i));
        if (k >= 0 && q->weight[k] > 0)
            sum += p->weight[i] * log(p->weight[i] / q->weight[k]);
        else
            *missing += p->weight[i];
    }
    return *missing > 0 ? (double)INFINITY : sum;
}

static void put_comparison(output *o, const tree_set *set, const split_table *split,
                           double min_frequency)
{
    const split_table *const both[2] = {&split[0], &split[1]};
    double largest, missing[2];
    double average = split_deviation(&largest, both, 2, min_frequency);
    double kl = divergence(&missing[0], &set[0], &set[1]);
    double reverse = divergence(&missing[1], &set[1], &set[0]);
    output_printf(o, "topologies\t%zu\ntopologies_with\t%zu\n", set[0].count, set[1].count);
    output_printf(o, "total_variation\t%.9g\n", tree_set_distance(&set[0], &set[1]));
    output_printf(o, "split_deviation\t%.9g\nlargest_split_deviation\t%.9g\n", average, largest);
    output_printf(o, "kl\t%.9g\nkl_reverse\t%.9g\n", kl, reverse);
    output_printf(o, "missing\t%.9g\nmissing_reverse\t%.9g\n", missing[0], missing[1]);
}

/* Which burn-in was left out of a sample, named by its files. */
static void say_burnin(session *s, const option_files *from, const tree_set *trees, bool by_kind)
{
    char files[FORMAT_ITEMS] = "", count[FORMAT_ITEMS], skipped[FORMAT_SIZE];
    if (from->count > 1)
        snprintf(files, sizeof files, " and %d more %s", from->count - 1,
                 format_noun((uint64_t)from->count - 1, "file", "files"));
    format_items(count, sizeof count, trees->n_trees, "tree", "trees");
    format_count(skipped, sizeof skipped, trees->n_skipped);
    log_info(&s->log, "%s%s: %s (burn-in: %s more%s)", from->path[0], files, count, skipped,
             by_kind ? ", 25 %, the default for MrBayes and BEAST files" : "");
}

static int compare_samples(session *s, const settings *set, tree_options *options)
{
    tree_set trees[2];
    split_table splits[2];
    memset(trees, 0, sizeof trees);
    memset(splits, 0, sizeof splits);
    int status = tree_set_read(&trees[0], &splits[0], set->trees.path, (size_t)set->trees.count,
                               options, &s->diag);
    if (!options->prune) {
        options->taxa = &trees[0].taxa;
        options->taxa_from = "the first sample";
    }
    if (status == ART_OK)
        status = tree_set_read(&trees[1], &splits[1], set->with.path, (size_t)set->with.count,
                               options, &s->diag);
    session_notes(s);
    for (int i = 0; i < 2 && status == ART_OK; i++)
        if (trees[i].n_skipped)
            say_burnin(s, i ? &set->with : &set->trees, &trees[i], options->burnin_by_kind);
    if (status == ART_OK)
        put_comparison(&s->table, trees, splits, set->samples.min_frequency);
    for (int i = 0; i < 2; i++) {
        split_table_free(&splits[i]);
        tree_set_free(&trees[i]);
    }
    return status;
}

static int run(session *s, void *chosen)
{
    const settings *set = chosen;
    tree_options options;
    taxa common = {0};
    int status = tree_input_options(&options, &set->input, TREE_TOPOLOGY, &s->diag);
    options.polytomies = true;
    options.burnin_by_kind &= set->with.count > 0; /* of single trees none is left out */
    if (status == ART_OK && set->with.count == 0)
        status = options_refuse(&s->options, OF_SAMPLES, "needs --with", &s->diag);
    if (status == ART_OK)
        status =
            tree_input_common(&options, &common, &set->input, &set->trees, &set->with, &s->diag);
    if (status == ART_OK)
        status =
            set->with.count ? compare_samples(s, set, &options) : compare_trees(s, set, &options);
    taxa_free(&common);
    return status;
}

const command compare_command = {
    .name = "compare",
    .summary = "Robinson-Foulds distances between trees, or distances between two samples of trees",
    .description =
        "Prints the matrix of Robinson-Foulds distances (the number of splits found in only one of "
        "the two trees) between all trees of the files; the trees may have polytomies. With "
        "--with, compares two samples of "
        "trees: the total variation between their topology distributions, the average and the "
        "largest standard deviation of split frequencies (as in MrBayes), and the Kullback-Leibler "
        "divergences, which are infinite if one sample lacks a topology of the other; missing is "
        "the total probability of such topologies.",
    .options = OPTIONS,
    .defaults = &DEFAULTS,
    .size = sizeof(settings),
    .run = run,
};
