/* evaluate: log-likelihood, prior and parsimony scores of given trees, or their best branch lengths
 * and parameters. */
#include "artreeformer.h"
#include "base/buffer.h"
#include "base/format.h"
#include "base/mem.h"
#include "io/nexus.h"
#include "cli/dataset_options.h"
#include "cli/optimise.h"
#include "cli/prior_options.h"
#include "cli/session.h"
#include "train/particles.h"
#include "lik/likelihood.h"
#include "subst/model_string.h"
#include "pars/parsimony.h"
#include "tree/splits.h"
#include "tree/tree_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 64 }; /* trees evaluated at a time */

typedef struct settings {
    common_settings common;
    dataset_settings data;
    const char *model;
    option_files trees;
    prior_settings prior;
    bool gradient;
    bool optimise;
    optimise_settings optimum;
} settings;

static const settings DEFAULTS = {.common = COMMON_DEFAULTS, .prior = {.rate = 10}};

static const option OPTIONS[] = {
    OPTION_HEADING("Input"),
    OPTION_INCLUDE(settings, data, DATASET_OPTIONS),
    OPTION_FILES(settings, trees, "TREES", REQUIRED,
                 "tree files: Newick or NEXUS, gzipped or not; - is standard input"),
    OPTION_TEXT(settings, model, "-m --model", REQUIRED, "MODEL",
                "substitution model, such as HKY{2.5}+F+G4{0.5}"),
    OPTION_HEADING("What to compute"),
    OPTION_INCLUDE(settings, prior, BRANCH_PRIOR_OPTIONS),
    OPTION_INCLUDE(settings, prior, PRIOR_RATE_OPTIONS),
    OPTION_FLAG(settings, gradient, "--gradient", OPTIONAL,
                "print a second table, of derivatives by the branch lengths"),
    OPTION_FLAG(settings, optimise, "--optimise | --optimize", OPTIONAL,
                "find the best branch lengths and parameters of every tree"),
    OPTION_INCLUDE(settings, optimum, OPTIMISE_OPTIONS),
    OPTION_INCLUDE(settings, common, COMMON_THREADS),
    OPTION_INCLUDE(settings, common, COMMON_OUTPUT),
    OPTION_INCLUDE(settings, common, COMMON_MESSAGES),
    OPTION_END,
};

/* Everything that persists from one batch to the next. */
typedef struct evaluation {
    const settings *set;
    branch_prior prior;
    dataset data;
    pool *threads;
    likelihood *likelihood;
    parsimony *missing, *fifth;
    size_t index;       /* trees processed so far, over all files */
    buffer derivatives; /* the second table */
    /* The trees of a batch and their computed values. */
    int count;
    int32_t *decision; /* [BATCH][N-3] */
    double *length;    /* [BATCH][2N-3] */
    double *gradient;  /* [BATCH][2N-3], NULL if not requested */
    bool has_lengths[BATCH];
    double value[BATCH];
    int64_t missing_score[BATCH], fifth_score[BATCH];
    /* For the names of splits. */
    topology tree;
    uint64_t *split; /* [2N-3][words] */
    int32_t *order;  /* [2N-3] */
} evaluation;

static void evaluation_free(evaluation *e)
{
    dataset_free(&e->data);
    likelihood_free(e->likelihood);
    parsimony_free(e->missing);
    parsimony_free(e->fifth);
    pool_free(e->threads);
    buffer_free(&e->derivatives);
    free(e->decision);
    free(e->length);
    free(e->gradient);
    topology_free(&e->tree);
    free(e->split);
    free(e->order);
}

/* A model that has all its numbers. */
static int read_model(subst_model *m, session *s, const char *text, const alignment *a)
{
    model_text t;
    diag unheard;
    int status = model_string_parse(m, text, a, &s->diag);
    if (status != ART_ERR_INPUT)
        return status;
    diag_init(&unheard);
    if (model_text_parse(&t, text, a, &unheard) == ART_OK) /* they are all that it lacks */
        diag_note(&s->diag, (diag_place){0}, "--optimise finds the numbers that a model lacks");
    diag_free(&unheard);
    return status;
}

/* Reads the model and allocates memory. */
static int evaluation_init(evaluation *e, session *s, const settings *set)
{
    subst_model model;
    char text[MODEL_STRING_SIZE];
    const alignment *a = &e->data.alignment;
    int status = read_model(&model, s, set->model, a);
    if (status)
        return status;
    session_notes(s);
    log_info(&s->log, "model: %s", model_string_print(text, &model));
    size_t n = (size_t)a->n_taxa, edges = (size_t)topology_edges(a->n_taxa);
    e->decision = mem_zeros(BATCH * (n - 3), sizeof *e->decision);
    e->length = mem_zeros(BATCH * edges, sizeof *e->length);
    e->order = mem_zeros(edges, sizeof *e->order);
    if (!e->decision || !e->length || !e->order)
        return ART_ERR_NOMEM;
    if (set->gradient) {
        e->gradient = mem_zeros(BATCH * edges, sizeof *e->gradient);
        e->split = mem_zeros(edges * split_words(a->n_taxa), sizeof *e->split);
        if (!e->gradient || !e->split)
            return ART_ERR_NOMEM;
    }
    if ((status = topology_init(&e->tree, a->n_taxa)) || (status = session_pool(s, &e->threads)) ||
        (status = likelihood_create(&e->likelihood, a, e->data.row, &model, BATCH, e->threads)) ||
        (status = parsimony_create(&e->missing, a, e->data.row, GAP_MISSING, e->threads)))
        return status;
    return parsimony_create(&e->fifth, a, e->data.row, GAP_FIFTH, e->threads);
}

static void put_number(output *o, double value, bool known)
{
    if (known)
        output_printf(o, "\t%.17g", value);
    else
        output_text(o, "\tNA");
}

/* The names of the smaller side of a split, separated by commas; if both sides have the same size,
 * the one without the first taxon. */
static void put_side(buffer *b, const uint64_t *split, const taxa *names)
{
    bool inside = 2 * split_size(split, names->count) <= names->count, first = true;
    for (int32_t i = 0; i < names->count; i++) {
        if (split_has(split, i) != inside)
            continue;
        if (!first)
            buffer_char(b, ',');
        nexus_write_name(b, names->name[i], QUOTE_NEWICK);
        first = false;
    }
}

static void put_derivatives(evaluation *e, int k)
{
    int32_t n_taxa = e->tree.n_taxa, n_edges = topology_edges(n_taxa);
    topology_build(&e->tree, e->decision + (size_t)k * (size_t)(n_taxa - 3));
    splits_of(e->split, &e->tree, e->order);
    for (int32_t edge = 0; edge < n_edges; edge++) {
        size_t at = (size_t)k * (size_t)n_edges + (size_t)edge;
        buffer_printf(&e->derivatives, "%zu\t", e->index + (size_t)k + 1);
        put_side(&e->derivatives, e->split + (size_t)edge * split_words(n_taxa), &e->data.taxa);
        buffer_printf(&e->derivatives, "\t%.17g", e->length[at]);
        if (isfinite(e->value[k])) /* otherwise there is no derivative */
            buffer_printf(&e->derivatives, "\t%.17g\n", e->gradient[at]);
        else
            buffer_text(&e->derivatives, "\tNA\n");
    }
}

static void finish_batch(evaluation *e, output *table)
{
    int n_taxa = e->tree.n_taxa;
    size_t n_edges = (size_t)topology_edges(n_taxa);
    likelihood_batch(e->likelihood, e->value, e->gradient, e->decision, e->length, e->count);
    parsimony_batch(e->missing, e->missing_score, e->decision, e->count);
    parsimony_batch(e->fifth, e->fifth_score, e->decision, e->count);
    for (int k = 0; k < e->count; k++) {
        /* The prior of the branch lengths only: the contribution of the topology is removed. */
        double prior = log_prior(e->decision + (size_t)k * (size_t)(n_taxa - 3),
                                 e->length + (size_t)k * n_edges, n_taxa, e->prior) +
                       log_topologies(n_taxa);
        output_printf(table, "%zu", e->index + (size_t)k + 1);
        put_number(table, e->value[k], e->has_lengths[k]);
        put_number(table, prior, e->has_lengths[k]);
        output_printf(table, "\t%lld\t%lld\n", (long long)e->missing_score[k],
                      (long long)e->fifth_score[k]);
        if (e->gradient && e->has_lengths[k])
            put_derivatives(e, k);
    }
    e->index += (size_t)e->count;
    e->count = 0;
}

static void add_tree(evaluation *e, const tree *t, output *table)
{
    size_t decisions = (size_t)t->n_taxa - 3, edges = (size_t)topology_edges(t->n_taxa);
    size_t k = (size_t)e->count++;
    for (size_t i = 0; i < decisions; i++)
        e->decision[k * decisions + i] = decision_edge(t->decision[i]);
    e->has_lengths[k] = t->has_lengths;
    for (size_t i = 0; i < edges; i++) /* without lengths the value is not shown */
        e->length[k * edges + i] = t->has_lengths ? t->length[i] : 1;
    if (e->count == BATCH)
        finish_batch(e, table);
}

static int evaluate_file(evaluation *e, session *s, const char *path)
{
    tree_file file;
    tree_options options = {.taxa = &e->data.taxa,
                            .taxa_from = "the alignment",
                            .use = TREE_LENGTHS,
                            .polytomies = true};
    int status = tree_file_open(&file, path, &options, &s->diag);
    size_t resolved = 0, without = 0;
    while (!status && tree_file_more(&file)) {
        status = tree_file_next(&file, &s->diag);
        if (status)
            break;
        resolved += file.tree.n_contracted > 0;
        without += !file.tree.has_lengths;
        add_tree(e, &file.tree, &s->table);
    }
    if (resolved)
        diag_note(&s->diag, (diag_place){.file = path},
                  "polytomies in %zu of the trees are resolved by branches of length 0, which does "
                  "not change the likelihood; prior and parsimony scores are those of the "
                  "resolution",
                  resolved);
    if (without)
        diag_note(
            &s->diag, (diag_place){.file = path},
            "%zu of %zu %s not have all branch lengths: likelihood and prior are NA; --optimise "
            "finds the best lengths",
            without, file.next, format_noun(file.next, "tree does", "trees do"));
    finish_batch(e, &s->table);
    tree_file_free(&file);
    session_notes(s);
    return status;
}

/* Options that go with --optimise only, or only without it. */
static int check_choice(session *s, const settings *set)
{
    static const char needs[] = "needs --optimise";
    if (set->optimise && set->gradient)
        return diag_error(&s->diag, ART_ERR_USAGE, (diag_place){0},
                          "--gradient and --optimise cannot be used together -- evaluate the trees "
                          "that --optimise writes");
    if (set->optimise)
        return set->optimum.priors && set->optimum.criterion == OPTIMUM_LIKELIHOOD
                   ? diag_error(&s->diag, ART_ERR_USAGE, (diag_place){0},
                                "--prior does not change what is most likely -- add --criterion "
                                "posterior")
                   : ART_OK;
    int status = options_refuse(&s->options, OPTIMISE_OPTIONS, needs, &s->diag);
    return status ? status : options_refuse(&s->options, COMMON_OUTPUT, needs, &s->diag);
}

/* The tables of the trees as they are. */
static int evaluate_trees(evaluation *e, session *s, const settings *set)
{
    int status = evaluation_init(e, s, set);
    if (status)
        return status;
    output_text(&s->table,
                "index\tlog_likelihood\tlog_prior\tparsimony_missing\tparsimony_fifth\n");
    for (int i = 0; !status && i < set->trees.count; i++)
        status = evaluate_file(e, s, set->trees.path[i]);
    if (!status && set->gradient && !(status = buffer_status(&e->derivatives))) {
        output_text(&s->table, "\nindex\tsplit\tlength\tderivative\n");
        output_write(&s->table, e->derivatives.text, e->derivatives.length);
    }
    return status;
}

static int run(session *s, void *chosen)
{
    const settings *set = chosen;
    evaluation e = {.set = set};
    buffer_init(&e.derivatives);
    int status = check_choice(s, set);
    if (!status)
        status = prior_settle(&e.prior, s, &set->prior);
    if (!status)
        status = dataset_open(&e.data, &set->data, &s->diag);
    if (!status)
        status = set->optimise ? optimise_trees(s, &e.data, set->model, &set->optimum, e.prior,
                                                set->trees, set->data.alignment)
                               : evaluate_trees(&e, s, set);
    evaluation_free(&e);
    return status;
}

const command evaluate_command = {
    .name = "evaluate",
    .summary = "log-likelihood, log prior and parsimony scores of given trees, or their optimum",
    .description =
        "Prints one line per tree, numbered over all files: log-likelihood, log prior of the "
        "branch "
        "lengths (not of the topology), and parsimony scores with gaps as missing data and as a "
        "fifth state. Trees without branch lengths have NA in the first two. Polytomies are "
        "resolved by branches of length 0. With --gradient, a second table has the number of the "
        "tree, the taxa on the smaller side of a branch, its length, and the derivative of the "
        "log-likelihood. With --optimise, branch lengths and parameters without numbers are "
        "estimated for every tree, by maximum likelihood or, with --criterion posterior, as the "
        "mode of the posterior density of their cube roots, infer's scale. The table then has the "
        "log-likelihood, the log prior of lengths and parameters, the tree length TL, the "
        "parameters, and the model with all its numbers, as -m takes it; the trees are written to "
        "PREFIX.optimised.nwk. The trees must not have polytomies.",
    .options = OPTIONS,
    .defaults = &DEFAULTS,
    .size = sizeof(settings),
    .run = run,
};
