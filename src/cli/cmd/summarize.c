/* summarize: consensus, splits, tree probabilities and credible sets of a sample of trees. */
#include "artreeformer.h"
#include "base/format.h"
#include "base/mem.h"
#include "cli/session.h"
#include "cli/rooting_options.h"
#include "cli/tree_input.h"
#include "results/clade_report.h"
#include "results/summary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is asked of a conditional clade distribution. */
typedef struct ccd_settings {
    int kind; /* of enum ccd */
    int64_t best;
    const char *tree;
    const char *clades;
} ccd_settings;

enum { SUFFIXES = 16 };

enum ccd { KIND_CCD1, KIND_CCD0, KIND_CCD2 };
static const clade_kind CLADE_KIND[] = {CLADE_CCD1, CLADE_CCD0, CLADE_CCD2};
static const char *const KIND_NAME[] = {"ccd1", "ccd0", "ccd2"};

typedef struct settings {
    common_settings common;
    option_files trees;
    tree_input_settings input;
    int consensus; /* of consensus_kind */
    rooting_settings rooting;
    bool ccd;
    ccd_settings clades;
    const char *suffixes[SUFFIXES]; /* of all files that will be written, NULL at the end */
} settings;

static const settings DEFAULTS = {.common = COMMON_DEFAULTS,
                                  .consensus = CONSENSUS_MAJORITY,
                                  .input = {.burnin = NAN},
                                  .clades = {.best = 100}};

static const option CCD_OPTIONS[] = {
    OPTION_CHOICE(
        ccd_settings, kind, "--ccd-kind", OPTIONAL, "ccd1|ccd0|ccd2",
        "by the frequencies of the splits of clades, of clades alone, or of splits beside "
        "the sister clade"),
    OPTION_INT(ccd_settings, best, "--best", OPTIONAL, 1, 1e6,
               "how many of the most probable trees are listed"),
    OPTION_FILE(ccd_settings, tree, "--tree", OPTIONAL,
                "trees whose probability and credible level are printed"),
    OPTION_TEXT(ccd_settings, clades, "--clade", OPTIONAL, "NAMES",
                "taxa, separated by commas, whose probability of being together on one side of a "
                "branch is printed; several clades are separated by semicolons"),
    OPTION_END,
};

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
    OPTION_FLAG(settings, ccd, "--ccd", OPTIONAL,
                "also fit a conditional clade distribution, which knows trees that are not in the "
                "sample: most probable tree, HIPSTR, entropy, rogue taxa, most probable trees"),
    OPTION_EXPERT_INCLUDE(settings, clades, CCD_OPTIONS),
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

static void put_report(output *o, const clade_report *r, int kind)
{
    const int64_t at = tree_set_find(r->trees, r->map);
    output_text(o, "quantity\tvalue\n");
    output_printf(o, "distribution\t%s\n", KIND_NAME[kind]);
    output_printf(o, "entropy\t%.6f\n", r->entropy);
    output_printf(o, "trees\t%.6g\n", exp(r->log_trees));
    output_printf(o, "map_log_probability\t%.6f\n", r->map_log_p);
    output_printf(o, "map_frequency\t%.6f\n", at < 0 ? 0 : r->trees->weight[at]);
    output_printf(o, "hipstr_log_credibility\t%.6f\n", r->hipstr_log_credibility);
    output_printf(o, "mrhipstr_log_credibility\t%.6f\n", r->mrhipstr_log_credibility);
}

/* A table of given trees. */
static int put_levels(session *s, clade_report *r, const char *path)
{
    const tree_options options = {
        .taxa = &r->trees->taxa, .taxa_from = "the sample", .use = TREE_TOPOLOGY};
    tree_file f;
    int number = 0, status = tree_file_open(&f, path, &options, &s->diag);
    output_text(&s->table, "tree\tlog_probability\trank\tcredible_level\terror\n");
    while (status == ART_OK && tree_file_more(&f)) {
        clade_level at;
        status = tree_file_next(&f, &s->diag);
        if (status == ART_OK)
            status = clade_report_level(&at, r, f.tree.decision);
        if (status != ART_OK)
            break;
        output_printf(&s->table, "%d\t%.6f\t", ++number, at.log_p);
        if (at.rank)
            output_printf(&s->table, "%zu", at.rank);
        else
            output_text(&s->table, "NA");
        output_printf(&s->table, "\t%.6f\t%.6f\n", at.level, at.error);
    }
    tree_file_free(&f);
    return status;
}

/* The taxa of the names up to the end or the semicolon, as bits. */
static int parse_clade(uint64_t *bits, const char *text, size_t length, const taxa *names, diag *d)
{
    memset(bits, 0, split_words(names->count) * sizeof *bits);
    for (size_t from = 0; from <= length;) {
        const char *comma = memchr(text + from, ',', length - from);
        size_t end = comma ? (size_t)(comma - text) : length, next = end + 1;
        while (from < end && text[from] == ' ')
            from++;
        while (end > from && text[end - 1] == ' ')
            end--;
        const int32_t taxon = taxa_find(names, text + from, end - from);
        char quoted[128];
        if (taxon < 0)
            return diag_error(d, ART_ERR_INPUT, (diag_place){0},
                              "--clade: %s is not a taxon of the trees -- give names as the trees "
                              "have them, separated by commas",
                              diag_quote(quoted, sizeof quoted, text + from, end - from));
        bits[taxon / 64] |= (uint64_t)1 << (taxon % 64);
        from = next;
    }
    return ART_OK;
}

static int put_clades(session *s, const clade_report *r, const char *text)
{
    uint64_t *bits = mem_zeros(split_words(r->trees->taxa.count), sizeof *bits);
    int status = bits ? ART_OK : ART_ERR_NOMEM;
    output_text(&s->table, "clade\tprobability\tfrequency\n");
    for (const char *at = text; at && status == ART_OK;) {
        const char *end = strchr(at, ';');
        const size_t length = end ? (size_t)(end - at) : strlen(at);
        double frequency;
        status = parse_clade(bits, at, length, &r->trees->taxa, &s->diag);
        if (status == ART_OK) {
            const double p = clade_report_clade(&frequency, r, bits);
            output_printf(&s->table, "%.*s\t%.6f\t%.6f\n", (int)length, at, p, frequency);
        }
        at = end ? end + 1 : NULL;
    }
    free(bits);
    return status;
}

static int put_ccd(session *s, const settings *set, const tree_set *trees,
                   const split_table *splits)
{
    const ccd_settings *o = &set->clades;
    clade_report *r = NULL;
    int status = clade_report_create(&r, trees, CLADE_KIND[o->kind], (size_t)o->best);
    if (status != ART_OK)
        return status;
    put_report(&s->table, r, o->kind);
    if (o->tree)
        status = put_levels(s, r, o->tree);
    if (status == ART_OK && o->clades)
        status = put_clades(s, r, o->clades);
    if (status == ART_OK)
        status = clade_report_write(r, splits, s->prefix, &s->diag);
    clade_report_free(r);
    return status;
}

static void list_suffixes(const char *out[SUFFIXES], bool ccd)
{
    int count = 0;
    for (int i = 0; SUMMARY_SUFFIXES[i]; i++)
        out[count++] = SUMMARY_SUFFIXES[i];
    for (int i = 0; ccd && CLADE_REPORT_SUFFIXES[i]; i++)
        out[count++] = CLADE_REPORT_SUFFIXES[i];
    out[count] = NULL;
}

static int run(session *s, void *chosen)
{
    settings *set = chosen;
    tree_set trees = {0};
    split_table splits = {0};
    taxa common = {0};
    tree_sample sample = {0};
    rooting root = {0};
    tree_options options;
    list_suffixes(set->suffixes, set->ccd);
    int status = tree_input_options(&options, &set->input, TREE_LENGTHS_KNOWN, &s->diag);
    options.polytomies = !set->ccd; /* a clade distribution is one of fully resolved trees */
    options.sample = &sample;
    if (status == ART_OK && !set->ccd)
        status = options_refuse(&s->options, CCD_OPTIONS, "needs --ccd", &s->diag);
    if (status == ART_OK)
        status = session_begin(s, set->trees.path[0], set->suffixes, -1);
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
    if (set->ccd) /* first, because what is asked of it may be wrong: then no file is written */
        status = put_ccd(s, set, &trees, &splits);
    if (status == ART_OK)
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
        "as burn-in, unless --burnin says otherwise; trees may have polytomies. With --ccd, a "
        "conditional clade distribution is fitted to the trees, taken as unrooted and fully "
        "resolved; PREFIX.ccd.map.nwk, .hipstr.nwk, .mrhipstr.nwk, .ccd.trprobs, .ccd.clades.tsv "
        "and .rogues.tsv have its summaries.",
    .options = OPTIONS,
    .defaults = &DEFAULTS,
    .size = sizeof(settings),
    .run = run,
};
