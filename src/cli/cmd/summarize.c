/* summarize: consensus, splits, tree probabilities and credible sets of a sample of trees. */
#include "artreeformer.h"
#include "base/format.h"
#include "cli/session.h"
#include "cli/rooting_options.h"
#include "cli/tree_input.h"
#include "results/summary.h"

#include <math.h>
#include <stdio.h>

typedef struct settings {
    common_settings common;
    option_files trees;
    tree_input_settings input;
    int consensus; /* of consensus_kind */
    rooting_settings rooting;
} settings;

static const settings DEFAULTS = {
    .common = COMMON_DEFAULTS, .consensus = CONSENSUS_MAJORITY, .input = {.burnin = NAN}};

static const option OPTIONS[] = {
    OPTION_HEADING("Input"),
    OPTION_FILES(settings, trees, "TREES", REQUIRED,
                 "Newick or NEXUS files (MrBayes .t and .trprobs, BEAST .trees, bootstrap lists); "
                 "several are averaged"),
    OPTION_INCLUDE(settings, input, TREE_INPUT_OPTIONS),
    OPTION_INCLUDE(settings, input, COMMON_TAXA_OPTIONS),
    OPTION_HEADING("Output"),
    OPTION_CHOICE(settings, consensus, "--consensus", OPTIONAL, "strict|majority|extended",
                  "splits found in all trees, in more than half of them, or these and further "
                  "compatible splits"),
    OPTION_INCLUDE(settings, rooting, ROOTING_OPTIONS),
    OPTION_INCLUDE(settings, common, COMMON_OUTPUT),
    OPTION_INCLUDE(settings, common, COMMON_MESSAGES),
    OPTION_END,
};

static void put_credible_sets(output *o, const tree_set *trees)
{
    static const double level[] = {0.5, 0.9, 0.95, 0.99};
    output_text(o, "credible_set\ttopologies\tprobability\n");
    for (int i = 0; i < 4; i++) {
        size_t count = tree_set_credible(trees, level[i]);
        double sum = 0;
        for (size_t k = 0; k < count; k++)
            sum += trees->weight[k];
        output_printf(o, "%g\t%zu\t%.6f\n", level[i], count, sum);
    }
}

/* What was read, and which burn-in was left out. */
static void say_sample(session *s, const tree_set *trees, const settings *set)
{
    char n[FORMAT_SIZE], distinct[FORMAT_SIZE], skipped[FORMAT_SIZE], burnin[128];
    format_count(skipped, sizeof skipped, trees->n_skipped);
    if (trees->n_skipped == 0)
        snprintf(burnin, sizeof burnin, "no burn-in");
    else if (isnan(set->input.burnin))
        snprintf(burnin, sizeof burnin,
                 "burn-in: %s more, 25 %%, the default for MrBayes and BEAST files", skipped);
    else
        snprintf(burnin, sizeof burnin, "burn-in: %s more", skipped);
    log_info(&s->log,
             "%s %s (%s), %s distinct %s, %d taxa; the most probable topology has probability %.6g",
             format_count(n, sizeof n, trees->n_trees), trees->n_trees == 1 ? "tree" : "trees",
             burnin, format_count(distinct, sizeof distinct, trees->count),
             trees->count == 1 ? "topology" : "topologies", trees->taxa.count, trees->weight[0]);
}

static int run(session *s, void *chosen)
{
    const settings *set = chosen;
    tree_set trees = {0};
    split_table splits = {0};
    taxa common = {0};
    tree_sample sample = {0};
    rooting root = {0};
    tree_options options;
    int status = tree_input_options(&options, &set->input, TREE_LENGTHS_KNOWN, &s->diag);
    options.polytomies = true;
    options.sample = &sample;
    if (status == ART_OK)
        status = session_begin(s, set->trees.path[0], SUMMARY_SUFFIXES, -1);
    if (status == ART_OK)
        status = tree_input_common(&options, &common, &set->input, &set->trees, NULL, &s->diag);
    if (status == ART_OK)
        status = tree_set_read(&trees, &splits, set->trees.path, (size_t)set->trees.count, &options,
                               &s->diag);
    if (status == ART_OK)
        status = rooting_open(&root, &set->rooting, &trees.taxa, &s->diag);
    if (status != ART_OK)
        goto out;
    session_notes(s);
    say_sample(s, &trees, set);
    rooting_warn(s, &root, &splits);
    put_credible_sets(&s->table, &trees);
    const tree_rows rows = tree_sample_rows(&sample);
    const summary_options summary = {
        .kind = (consensus_kind)set->consensus, .rooting = &root, .rows = &rows};
    status = summary_write(s->prefix, &trees, &splits, &summary, &s->diag);
out:
    rooting_free(&root);
    tree_sample_free(&sample);
    split_table_free(&splits);
    tree_set_free(&trees);
    taxa_free(&common);
    return status;
}

const command summarize_command = {
    .name = "summarize",
    .summary = "consensus, splits, tree probabilities and credible sets of a sample of trees",
    .description =
        "Prints the sizes of the 50, 90, 95 and 99 % credible sets of topologies and writes "
        "PREFIX.trprobs (topologies with their probabilities, as MrBayes does), PREFIX.contree "
        "(consensus with supports, Newick), PREFIX.con.tre (the same for FigTree), PREFIX.map.nwk "
        "(the most probable topology) and PREFIX.splits.tsv. Branch lengths are means over the "
        "trees that have the branch. The first quarter of a sample of MrBayes or BEAST is left out "
        "as "
        "burn-in, unless --burnin says otherwise; trees may have polytomies.",
    .options = OPTIONS,
    .defaults = &DEFAULTS,
    .size = sizeof(settings),
    .run = run,
};
