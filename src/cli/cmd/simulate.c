/* simulate: a random tree, or a given one, and an alignment under a model. */
#include "artreeformer.h"
#include "base/format.h"
#include "base/mem.h"
#include "cli/prior_options.h"
#include "cli/session.h"
#include "subst/branch_prior_string.h"
#include "subst/prior_string.h"
#include "subst/simulate.h"
#include "seq/alignment_write.h"
#include "seq/patterns.h"
#include "tree/tree_file.h"
#include "tree/tree_write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct settings {
    common_settings common;
    int64_t taxa;
    const char *tree;
    double mean;
    double rate;
    const char *prior;
    const char *model;
    bool from_prior;
    const char *priors;
    int64_t sites;
    int format; /* index of FORMATS */
} settings;

static const settings DEFAULTS = {.common = COMMON_DEFAULTS,
                                  .taxa = 10,
                                  .mean = 0.1,
                                  .rate = (double)NAN,
                                  .model = "JC",
                                  .sites = 1000};

static const option OPTIONS[] = {
    OPTION_HEADING("Tree"),
    OPTION_INT(settings, taxa, "-n --taxa", OPTIONAL, 3, 1e6,
               "number of taxa of a random tree, t1 .. tN, uniform over topologies"),
    OPTION_FILE(settings, tree, "-t --tree", OPTIONAL,
                "file with a tree to use instead of a random one"),
    OPTION_REAL(settings, mean, "--mean", OPTIONAL, OPTION_ABOVE_0, 1000,
                "mean of the exponentially distributed branch lengths, used if the tree has none"),
    OPTION_REAL(settings, rate, "--rate", OPTIONAL, OPTION_ABOVE_0, 1e9,
                "rate of their distribution, 1 / mean; an alternative to --mean"),
    OPTION_TEXT(settings, prior, "--branch-prior", EXPERT, "PRIOR",
                "distribution of the branch lengths instead: exponential(10), or "
                "gammadir(1,0.1,1,1), the default of MrBayes"),
    OPTION_HEADING("Alignment"),
    OPTION_TEXT(
        settings, model, "-m --model", OPTIONAL, "MODEL",
        "substitution model with its parameters, for example HKY{2}+F{0.3,0.2,0.2,0.3}+G4{0.5}"),
    OPTION_FLAG(
        settings, from_prior, "--from-prior", OPTIONAL,
        "draw the parameters that the model has no numbers for from their priors, and write "
        "them to PREFIX.parameters.tsv"),
    OPTION_TEXT(settings, priors, "--prior", EXPERT, "PRIORS",
                "priors of these parameters where they are not the usual ones, for "
                "example " PRIOR_STRING_EXAMPLES),
    OPTION_INT(settings, sites, "-l --sites --length", OPTIONAL, 1, 4e9, "number of sites"),
    OPTION_INCLUDE(settings, common, COMMON_SEED),
    OPTION_INCLUDE(settings, common, COMMON_OUTPUT),
    OPTION_CHOICE(settings, format, "--format", OPTIONAL, "fasta|phylip|nexus",
                  "format of the alignment"),
    OPTION_HEADING("Running"),
    OPTION_INCLUDE(settings, common, COMMON_THREADS),
    OPTION_INCLUDE(settings, common, COMMON_MESSAGES),
    OPTION_END,
};

#define PARAMETERS ".parameters.tsv"

static const struct {
    alignment_format format;
    const char *suffixes[3];
    const char *with_parameters[4];
} FORMATS[] = {
    {ALIGNMENT_FASTA, {".fasta", ".nwk", NULL}, {".fasta", ".nwk", PARAMETERS, NULL}},
    {ALIGNMENT_PHYLIP, {".phy", ".nwk", NULL}, {".phy", ".nwk", PARAMETERS, NULL}},
    {ALIGNMENT_NEXUS, {".nex", ".nwk", NULL}, {".nex", ".nwk", PARAMETERS, NULL}},
};

/* The tree the sequences evolve on. */
typedef struct truth {
    taxa taxa;
    int32_t *decision; /* [N-3] */
    double *length;    /* [2N-3] */
} truth;

static void truth_free(truth *t)
{
    taxa_free(&t->taxa);
    free(t->decision);
    free(t->length);
}

static int truth_allocate(truth *t)
{
    size_t n = (size_t)t->taxa.count;
    t->decision = mem_zeros(n, sizeof *t->decision);
    t->length = mem_zeros(2 * n, sizeof *t->length);
    return t->decision && t->length ? ART_OK : ART_ERR_NOMEM;
}

static int truth_random(truth *t, const settings *set)
{
    int status = ART_OK;
    for (int64_t i = 1; i <= set->taxa && status == ART_OK; i++) {
        char name[32];
        int n = snprintf(name, sizeof name, "t%lld", (long long)i);
        status = taxa_add(&t->taxa, name, (size_t)n);
    }
    if (status == ART_OK)
        status = truth_allocate(t);
    if (status == ART_OK)
        simulate_topology(t->decision, t->taxa.count, (uint64_t)set->common.seed);
    return status;
}

/* The number of branches with a length. */
static size_t count_lengths(const double *length, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += !isnan(length[i]);
    return count;
}

/* *has_lengths is set to whether the tree has branch lengths. */
static int truth_read(truth *t, const char *path, bool *has_lengths, diag *d)
{
    tree_file f;
    tree_options options = {.use = TREE_LENGTHS};
    int status = tree_file_open(&f, path, &options, d);
    if (status == ART_OK && f.count > 1)
        status = diag_error(d, ART_ERR_INPUT, (diag_place){.file = path},
                            "the file has %zu trees -- give a file with one tree", f.count);
    if (status == ART_OK)
        status = tree_file_next(&f, d);
    if (status == ART_OK)
        status = taxa_copy(&t->taxa, f.taxa);
    if (status == ART_OK)
        status = truth_allocate(t);
    if (status == ART_OK) {
        const size_t n = (size_t)t->taxa.count, some = count_lengths(f.tree.length, 2 * n - 3);
        *has_lengths = f.tree.has_lengths;
        if (some > 0 && some < 2 * n - 3)
            status = diag_error(d, ART_ERR_INPUT, (diag_place){.file = path},
                                "%zu of %zu branches have a length -- give all lengths, or none to "
                                "have them simulated",
                                some, 2 * n - 3);
        memcpy(t->decision, f.tree.decision, (n - 3) * sizeof *t->decision);
        memcpy(t->length, f.tree.length, (2 * n - 3) * sizeof *t->length);
    }
    tree_file_free(&f);
    return status;
}

/* By --branch-prior, --rate or --mean. */
static int draw_lengths(truth *t, session *s, const settings *set)
{
    const uint64_t seed = (uint64_t)set->common.seed;
    const double mean = set->rate > 0 ? 1 / set->rate : set->mean; /* NaN: rate not given */
    branch_prior prior;
    int status = set->prior ? branch_prior_parse(&prior, set->prior, &s->diag) : ART_OK;
    if (!status && set->prior)
        simulate_prior_lengths(t->length, t->decision, t->taxa.count, prior, seed);
    else if (!status)
        simulate_lengths(t->length, t->taxa.count, mean, seed);
    return status;
}

static int make_truth(truth *t, session *s, const settings *set)
{
    bool has_lengths = false;
    int status =
        set->tree ? truth_read(t, set->tree, &has_lengths, &s->diag) : truth_random(t, set);
    if (status == ART_OK && !has_lengths)
        status = draw_lengths(t, s, set);
    if (status == ART_OK && set->tree && !has_lengths)
        log_info(&s->log, "the tree has no branch lengths: they are drawn at random");
    return status;
}

/* The alignment of the simulated sites, one row per taxon of the tree. */
static int make_alignment(alignment *a, session *s, const settings *set, const truth *t,
                          const subst_model *model)
{
    int n = t->taxa.count;
    size_t sites = (size_t)set->sites;
    pool *threads = NULL;
    a->n_taxa = n;
    a->n_sites = sites;
    a->name = mem_zeros((size_t)n, sizeof *a->name);
    a->state = sites <= SIZE_MAX / (size_t)n ? mem_zeros((size_t)n * sites, 1) : NULL;
    int status = a->name && a->state ? session_pool(s, &threads) : ART_ERR_NOMEM;
    for (int i = 0; i < n && status == ART_OK; i++) {
        a->name[i] = mem_text(t->taxa.name[i], strlen(t->taxa.name[i]));
        status = a->name[i] ? ART_OK : ART_ERR_NOMEM;
    }
    if (status == ART_OK)
        status = simulate_sites(a->state, t->decision, t->length, n, model, sites,
                                (uint64_t)set->common.seed, threads);
    if (status == ART_OK)
        status = patterns_compress(a);
    pool_free(threads);
    return status;
}

static int write_files(session *s, const settings *set, const truth *t, const alignment *a)
{
    buffer text;
    tree_writer w;
    buffer_init(&text);
    int status = alignment_write(&text, a, FORMATS[set->format].format, &s->diag);
    if (status == ART_OK)
        status = output_result(s->prefix, FORMATS[set->format].suffixes[0], &text, &s->diag);
    buffer_clear(&text);
    if (status == ART_OK)
        status = tree_writer_init(&w, &t->taxa);
    if (status == ART_OK) {
        tree_write_newick(&text, &w, t->decision, t->length);
        buffer_char(&text, '\n');
        status = output_result(s->prefix, FORMATS[set->format].suffixes[1], &text, &s->diag);
        tree_writer_free(&w);
    }
    buffer_free(&text);
    return status;
}

/* The model of the options; what it has no numbers for must be wanted from the prior. */
static int read_model(free_model *f, session *s, const settings *set)
{
    int status = free_model_read(f, set->model, set->priors, NULL, &s->diag);
    if (status || f->n_free == 0 || set->from_prior)
        return status;
    return diag_error(&s->diag, ART_ERR_INPUT, (diag_place){0},
                      "-m %s has parameters without numbers -- write them in braces, for example "
                      "HKY{2}+F{0.3,0.2,0.2,0.3}+G4{0.5}, or draw them from their priors with "
                      "--from-prior",
                      set->model);
}

/* Draws what is free, says it, and gives the model with these numbers. */
static void draw_model(subst_model *m, double *z, session *s, const free_model *f, uint64_t seed)
{
    char text[MODEL_STRING_SIZE];
    prior_say_parameters(s, f, 1);
    simulate_parameters(z, f, seed);
    free_model_at(m, f, z);
    log_info(&s->log, "model: %s", model_string_print(text, m));
}

/* The tree length and the drawn parameters: a line of names and a line of numbers. */
static int write_parameters(session *s, const truth *t, const free_model *f, const double *z)
{
    char name[FREE_COLUMNS_MOST][PARAMETER_NAME_SIZE], number[FORMAT_SIZE];
    double value[FREE_COLUMNS_MOST], total = 0;
    buffer text;
    const int n = free_model_columns(name, f);
    free_model_values(value, f, z);
    for (int32_t e = 0; e < 2 * t->taxa.count - 3; e++)
        total += t->length[e];
    buffer_init(&text);
    buffer_text(&text, "TL");
    for (int i = 0; i < n; i++)
        buffer_printf(&text, "\t%s", name[i]);
    buffer_printf(&text, "\n%s", format_real(number, sizeof number, total));
    for (int i = 0; i < n; i++)
        buffer_printf(&text, "\t%s", format_real(number, sizeof number, value[i]));
    buffer_text(&text, "\n");
    log_info(&s->log, "tree length: %g", total);
    for (int i = 0; i < n; i++)
        log_info(&s->log, "%s: %g", name[i], value[i]);
    int status = output_result(s->prefix, PARAMETERS, &text, &s->diag);
    buffer_free(&text);
    return status;
}

static int refuse_both(session *s, const char *a, const char *b)
{
    if (!options_given(&s->options, a) || !options_given(&s->options, b))
        return ART_OK;
    return diag_error(&s->diag, ART_ERR_USAGE, (diag_place){0}, "%s and %s cannot be used together",
                      a, b);
}

static int check_choice(session *s)
{
    int status = refuse_both(s, "--taxa", "--tree");
    if (!status && options_given(&s->options, "--prior") &&
        !options_given(&s->options, "--from-prior"))
        status = diag_error(&s->diag, ART_ERR_USAGE, (diag_place){0},
                            "--prior is of parameters that are drawn -- add --from-prior");
    if (!status)
        status = refuse_both(s, "--mean", "--rate");
    if (!status)
        status = refuse_both(s, "--mean", "--branch-prior");
    return status ? status : refuse_both(s, "--rate", "--branch-prior");
}

static int run(session *s, void *chosen)
{
    const settings *set = chosen;
    free_model free_of;
    subst_model model;
    double z[FREE_MOST];
    truth tree_of = {0};
    alignment a = {0};
    taxa_init(&tree_of.taxa);
    int status = check_choice(s);
    if (status == ART_OK)
        status = read_model(&free_of, s, set);
    if (status == ART_OK)
        status = session_begin(s, "simulated",
                               set->from_prior ? FORMATS[set->format].with_parameters
                                               : FORMATS[set->format].suffixes,
                               -1);
    if (status != ART_OK)
        return status;
    draw_model(&model, z, s, &free_of, (uint64_t)set->common.seed);
    status = make_truth(&tree_of, s, set);
    session_notes(s);
    if (status == ART_OK)
        status = make_alignment(&a, s, set, &tree_of, &model);
    if (status == ART_OK)
        status = write_files(s, set, &tree_of, &a);
    if (status == ART_OK && set->from_prior)
        status = write_parameters(s, &tree_of, &free_of, z);
    alignment_free(&a);
    truth_free(&tree_of);
    return status;
}

const command simulate_command = {
    .name = "simulate",
    .summary = "a random tree and an alignment under a model",
    .description =
        "Draws a tree, uniform over topologies with exponential branch lengths, or takes a given "
        "one, and evolves sequences along it. Writes PREFIX.fasta (or .phy, .nex) and PREFIX.nwk. "
        "With --from-prior, parameters of the model that have no numbers are drawn from their "
        "priors: everything is then a draw from the model that infer assumes. "
        "The same seed gives the same files on any number of threads; a longer alignment of the "
        "same seed begins with the shorter one.",
    .options = OPTIONS,
    .defaults = &DEFAULTS,
    .size = sizeof(settings),
    .run = run,
};
