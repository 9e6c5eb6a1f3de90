/* score: log q of given trees. */
#include "artreeformer.h"
#include "base/mem.h"
#include "cli/model_input.h"
#include "tree/tree_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct settings {
    common_settings common;
    model_settings model;
    option_files trees;
} settings;

static const settings DEFAULTS = {.common = COMMON_DEFAULTS, .model = MODEL_DEFAULTS};

static const option OPTIONS[] = {
    OPTION_HEADING("Input"),
    OPTION_FILES(settings, trees, "TREES", REQUIRED,
                 "Newick or NEXUS trees on the model's taxa; - is standard input"),
    OPTION_INCLUDE(settings, model, MODEL_OPTIONS),
    OPTION_INCLUDE(settings, model, MODEL_SPEED_OPTIONS),
    OPTION_INCLUDE(settings, common, COMMON_THREADS),
    OPTION_INCLUDE(settings, common, COMMON_MESSAGES),
    OPTION_END,
};

/* Trees collected for the model. */
typedef struct batch {
    int32_t *decision; /* [MODEL_BATCH][N-3] */
    double *log_q;     /* [MODEL_BATCH] */
    int count;
    size_t done;    /* trees printed */
    size_t outside; /* those of probability 0 */
} batch;

static int put_batch(batch *b, topology_model *m, output *table)
{
    int status = topology_model_score(m, b->log_q, b->decision, b->count);
    for (int i = 0; i < b->count && status == ART_OK; i++) {
        output_printf(table, "%zu\t%.9g\n", ++b->done, b->log_q[i]);
        b->outside += isinf(b->log_q[i]) != 0;
    }
    b->count = 0;
    return status;
}

static int score_file(session *s, const char *path, model_file *m, batch *b)
{
    const size_t n = (size_t)m->taxa.count - 3;
    const tree_options options = {.taxa = &m->taxa, .taxa_from = "the model", .use = TREE_TOPOLOGY};
    tree_file f;
    int status = tree_file_open(&f, path, &options, &s->diag);
    while (status == ART_OK && tree_file_more(&f)) {
        status = tree_file_next(&f, &s->diag);
        if (status != ART_OK)
            break;
        memcpy(b->decision + (size_t)b->count++ * n, f.tree.decision, n * sizeof *b->decision);
        if (b->count == MODEL_BATCH)
            status = put_batch(b, m->trees, &s->table);
    }
    tree_file_free(&f);
    return status;
}

static int run(session *s, void *chosen)
{
    const settings *set = chosen;
    model_input in = {0};
    batch b = {0};
    int status = model_input_open(&in, s, &set->model);
    if (status != ART_OK)
        goto out;
    b.decision = mem_zeros(MODEL_BATCH * ((size_t)in.file.taxa.count - 3), sizeof *b.decision);
    b.log_q = mem_zeros(MODEL_BATCH, sizeof *b.log_q);
    status = b.decision && b.log_q ? ART_OK : ART_ERR_NOMEM;
    output_text(&s->table, "index\tlog_q\n");
    for (int i = 0; i < set->trees.count && status == ART_OK; i++)
        status = score_file(s, set->trees.path[i], &in.file, &b);
    if (status == ART_OK)
        status = put_batch(&b, in.file.trees, &s->table);
    if (status == ART_OK && b.outside)
        log_warning(&s->log,
                    "%zu of %zu trees are outside the support of the model: their probability is 0 "
                    "(fit with --smooth to give every tree a probability)",
                    b.outside, b.done);
out:
    free(b.decision);
    free(b.log_q);
    model_input_close(&in);
    return status;
}

const command score_command = {
    .name = "score",
    .summary = "log q of given trees",
    .description =
        "Prints the number of every tree, counted from 1 over all files, and the log "
        "probability that the model assigns to its topology. Branch lengths are "
        "ignored. The trees must have exactly the model's taxa. Trees outside the support of a "
        "subsplit network or conditional clade distribution have log q -inf.",
    .options = OPTIONS,
    .defaults = &DEFAULTS,
    .size = sizeof(settings),
    .run = run,
};
