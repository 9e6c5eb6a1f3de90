/* sample: trees drawn from a model. */
#include "artreeformer.h"
#include "cli/model_input.h"
#include "cli/progress.h"
#include "cli/rooting_options.h"
#include "density/tree_draws.h"
#include "tree/tree_write.h"

#include <stdio.h>

enum sample_format { FORMAT_NEXUS, FORMAT_NEWICK };

typedef struct settings {
    common_settings common;
    model_settings model;
    int64_t number;
    int format; /* of enum sample_format */
    bool topologies;
    rooting_settings rooting;
} settings;

static const settings DEFAULTS = {
    .common = COMMON_DEFAULTS, .model = MODEL_DEFAULTS, .number = 1000};

static const option OPTIONS[] = {
    OPTION_HEADING("Input"),
    OPTION_INCLUDE(settings, model, MODEL_OPTIONS),
    OPTION_HEADING("What to draw"),
    OPTION_INT(settings, number, "-n --number", OPTIONAL, 1, 4e9, "number of trees"),
    OPTION_CHOICE(settings, format, "--format", OPTIONAL, "nexus|newick",
                  "NEXUS with a TRANSLATE table, or one Newick tree per line"),
    OPTION_FLAG(settings, topologies, "--topologies", OPTIONAL,
                "leave out branch lengths even if the model has them"),
    OPTION_INCLUDE(settings, rooting, ROOTING_OPTIONS),
    OPTION_INCLUDE(settings, common, COMMON_SEED),
    OPTION_INCLUDE(settings, model, MODEL_SPEED_OPTIONS),
    OPTION_INCLUDE(settings, common, COMMON_THREADS),
    OPTION_INCLUDE(settings, common, COMMON_MESSAGES),
    OPTION_END,
};

/* A batch of draws and their text. */
typedef struct drawer {
    tree_draws draws;
    tree_writer writer;
    rooting root;
    buffer text;
} drawer;

static int drawer_init(drawer *w, const model_file *m, const settings *set, diag *d)
{
    buffer_init(&w->text);
    const bool lengths = !set->topologies && m->branches;
    int status = rooting_open(&w->root, &set->rooting, &m->taxa, d);
    if (!status && w->root.kind == ROOT_MIDPOINT && !lengths)
        status = diag_error(d, ART_ERR_USAGE, (diag_place){0},
                            "--root midpoint needs branch lengths, and these trees have none -- "
                            "give an --outgroup, or leave the trees unrooted");
    if (!status)
        status = tree_draws_init(&w->draws, m->trees, lengths ? m->branches : NULL, MODEL_BATCH);
    if (!status)
        status = tree_writer_init(&w->writer, &m->taxa);
    w->writer.rooting = &w->root;
    return status;
}

static void drawer_free(drawer *w)
{
    tree_draws_free(&w->draws);
    tree_writer_free(&w->writer);
    rooting_free(&w->root);
    buffer_free(&w->text);
}

/* Draws trees first .. first + k - 1 and leaves them in w->text. */
static int draw(drawer *w, const settings *set, int64_t first, int k)
{
    const tree_draws *d = &w->draws;
    int status = tree_draws_fill(&w->draws, (uint64_t)set->common.seed, (uint32_t)first, k);
    for (int i = 0; i < k && status == ART_OK; i++) {
        char name[32];
        snprintf(name, sizeof name, "tree_%lld", (long long)(first + i + 1));
        if (set->format == FORMAT_NEXUS) {
            tree_write_tree(&w->text, &w->writer, name, NULL, tree_draws_decision(d, i),
                            tree_draws_length(d, i));
        } else {
            tree_write_newick(&w->text, &w->writer, tree_draws_decision(d, i),
                              tree_draws_length(d, i));
            buffer_char(&w->text, '\n');
        }
    }
    return status == ART_OK ? buffer_status(&w->text) : status;
}

static void put(drawer *w, output *table)
{
    output_write(table, w->text.text, w->text.length);
    buffer_clear(&w->text);
}

static int run(session *s, void *chosen)
{
    const settings *set = chosen;
    model_input in = {0};
    drawer w = {0};
    progress line;
    int status = model_input_open(&in, s, &set->model);
    if (status == ART_OK)
        status = drawer_init(&w, &in.file, set, &s->diag);
    if (status != ART_OK)
        goto out;
    progress_start(&line, &s->log, "sampling", "trees", (double)set->number, 0);
    if (set->format == FORMAT_NEXUS)
        tree_write_begin(&w.text, &in.file.taxa);
    for (int64_t i = 0; i < set->number && status == ART_OK; i += MODEL_BATCH) {
        int k = set->number - i < MODEL_BATCH ? (int)(set->number - i) : MODEL_BATCH;
        status = draw(&w, set, i, k);
        if (status == ART_OK)
            put(&w, &s->table);
        progress_update(&line, (double)(i + k), "%s", "");
    }
    progress_end(&line);
    if (status == ART_OK && set->format == FORMAT_NEXUS)
        tree_write_end(&w.text);
    if (status == ART_OK)
        put(&w, &s->table);
    if (status == ART_OK && w.writer.not_clades)
        log_warning(
            &s->log,
            "the outgroup is not monophyletic in %zu of the %lld trees; these are rooted at "
            "the taxon that was named first",
            w.writer.not_clades, (long long)set->number);
out:
    drawer_free(&w);
    model_input_close(&in);
    return status;
}

const command sample_command = {
    .name = "sample",
    .summary = "trees drawn from a model",
    .description = "Draws trees from the model's distribution and prints them, with branch lengths "
                   "if the model has them. The same seed gives the same trees on any number of "
                   "threads, and tree i does not depend on how many are drawn.",
    .options = OPTIONS,
    .defaults = &DEFAULTS,
    .size = sizeof(settings),
    .run = run,
};
