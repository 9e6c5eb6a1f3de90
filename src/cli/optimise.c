#include "cli/optimise.h"

#include "artreeformer.h"
#include "base/format.h"
#include "base/mem.h"
#include "cli/prior_options.h"
#include "subst/prior_string.h"
#include "train/particles.h"
#include "tree/tree_file.h"
#include "tree/tree_write.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 64 }; /* trees optimised at a time */

const option OPTIMISE_OPTIONS[] = {
    OPTION_CHOICE(optimise_settings, criterion, "--criterion", OPTIONAL, "likelihood|posterior",
                  "what --optimise maximises"),
    OPTION_TEXT(optimise_settings, priors, "--prior", EXPERT, "PRIORS",
                "priors of estimated parameters where they are not the usual ones, for "
                "example " PRIOR_STRING_EXAMPLES),
    OPTION_END,
};

#define TREES ".optimised.nwk"
static const char *const FILES[] = {TREES, NULL};

typedef struct optimising {
    session *s;
    const dataset *data;
    branch_posterior problem;
    pool *threads;
    tree_optimum *optimum;
    tree_writer writer;
    buffer newick; /* the trees with their lengths */
    int n_columns; /* parameters of the table */
    size_t index;  /* trees done, over all files */
    int count;     /* of the batch */
    optimum_job job[BATCH];
    int32_t *decision; /* [BATCH][N-3] */
    double *length;    /* [BATCH][E] */
    double *z;         /* [BATCH][p] */
} optimising;

static void optimising_free(optimising *o)
{
    tree_optimum_free(o->optimum);
    branch_posterior_free(&o->problem);
    pool_free(o->threads);
    tree_writer_free(&o->writer);
    buffer_free(&o->newick);
    free(o->decision);
    free(o->length);
    free(o->z);
}

static int optimising_init(optimising *o, session *s, const dataset *data, const free_model *model,
                           branch_prior prior, optimum_kind kind)
{
    const alignment *a = &data->alignment;
    int status;
    o->s = s;
    o->data = data;
    if ((status = branch_posterior_init_free(&o->problem, a, data->row, model, prior)) ||
        (status = session_pool(s, &o->threads)) ||
        (status = tree_optimum_create(&o->optimum, &o->problem, kind, o->threads)) ||
        (status = tree_writer_init(&o->writer, &data->taxa)))
        return status;
    o->decision = mem_zeros(BATCH * (size_t)a->n_taxa, sizeof *o->decision);
    o->length = mem_zeros(BATCH * (size_t)o->problem.n_edges, sizeof *o->length);
    o->z = mem_zeros(BATCH * (size_t)model->n_free + 1, sizeof *o->z);
    return o->decision && o->length && o->z ? ART_OK : ART_ERR_NOMEM;
}

static void put_head(optimising *o)
{
    const block_parameters *f = &o->problem.free;
    char name[PARAMETER_NAME_SIZE];
    output *table = &o->s->table;
    o->n_columns = block_parameters_columns(f);
    output_text(table, "index\tlog_likelihood\tlog_prior\tTL");
    for (int i = 0; i < o->n_columns; i++) {
        block_parameters_name(name, f, i);
        output_printf(table, "\t%s", name);
    }
    output_text(table, "\tmodel\n");
}

static void put_number(output *table, double value)
{
    char number[FORMAT_SIZE];
    output_printf(table, "\t%s", format_real(number, sizeof number, value));
}

/* A line of the table and one of the trees. */
static void put_tree(optimising *o, const optimum_job *job)
{
    const branch_posterior *p = &o->problem;
    output *table = &o->s->table;
    char text[MODEL_STRING_SIZE];
    double total = 0;
    subst_model m;
    for (int e = 0; e < p->n_edges; e++)
        total += job->length[e];
    output_printf(table, "%zu", ++o->index);
    put_number(table, job->log_likelihood);
    /* Without that of the topology. */
    put_number(table, log_prior(job->decision, job->length, p->n_taxa, p->prior) +
                          log_topologies(p->n_taxa) +
                          block_parameters_stated_prior(&p->free, job->z));
    put_number(table, total);
    for (int i = 0; i < o->n_columns; i++)
        put_number(table, block_parameters_value(&p->free, job->z, i));
    free_model_at(&m, &p->free.block[0].model, job->z); /* there is one block */
    output_printf(table, "\t%s\n", model_string_print(text, &m));
    tree_write_newick(&o->newick, &o->writer, job->decision, job->length);
    buffer_char(&o->newick, '\n');
}

static int finish_batch(optimising *o)
{
    int status = ART_OK;
    tree_optimum_run(o->optimum, o->job, o->count);
    for (int k = 0; k < o->count && !status; k++) {
        if (o->job[k].status == ART_ERR_NUMERIC)
            diag_error(&o->s->diag, ART_ERR_NUMERIC, (diag_place){0},
                       "tree %zu: no branch lengths and parameters were found at which the data "
                       "have a likelihood",
                       o->index + 1);
        status = o->job[k].status;
        if (!status)
            put_tree(o, &o->job[k]);
    }
    o->count = 0;
    return status ? status : output_flush(&o->s->table);
}

static int add_tree(optimising *o, const tree *t)
{
    const size_t decisions = (size_t)t->n_taxa - 3, edges = (size_t)o->problem.n_edges;
    const size_t k = (size_t)o->count++;
    int32_t *decision = o->decision + k * decisions;
    double *length = o->length + k * edges;
    memcpy(decision, t->decision, decisions * sizeof *decision);
    memcpy(length, t->length, edges * sizeof *length);
    o->job[k] = (optimum_job){
        .decision = decision, .length = length, .z = o->z + k * (size_t)o->problem.free.n_free};
    return o->count == BATCH ? finish_batch(o) : ART_OK;
}

static int read_file(optimising *o, const char *path)
{
    tree_file file;
    diag *d = &o->s->diag;
    const tree_options options = {.taxa = &o->data->taxa,
                                  .taxa_from = "the alignment",
                                  .use = TREE_LENGTHS_KNOWN}; /* where the search starts */
    int status = tree_file_open(&file, path, &options, d);
    while (!status && tree_file_more(&file)) {
        status = tree_file_next(&file, d);
        if (!status)
            status = add_tree(o, &file.tree);
    }
    if (!status)
        status = finish_batch(o);
    tree_file_free(&file);
    session_notes(o->s);
    return status;
}

/* What is estimated and, if they enter, under which priors. */
static void say_model(session *s, const free_model *model, branch_prior prior, optimum_kind kind)
{
    char text[MODEL_STRING_SIZE];
    log_info(&s->log, "model: %s", free_model_print(text, model));
    if (kind == OPTIMUM_LIKELIHOOD)
        return;
    prior_say(s, model, 1, prior);
}

int optimise_trees(session *s, const dataset *data, const char *model,
                   const optimise_settings *settings, branch_prior prior, option_files trees,
                   const char *prefix)
{
    const optimum_kind kind = (optimum_kind)settings->criterion;
    free_model f;
    optimising o = {0};
    buffer_init(&o.newick);
    int status = free_model_read(&f, model, settings->priors, &data->alignment, &s->diag);
    if (!status)
        status = session_begin(s, prefix, FILES, -1);
    if (status)
        goto out;
    session_notes(s);
    say_model(s, &f, prior, kind);
    if ((status = optimising_init(&o, s, data, &f, prior, kind)))
        goto out;
    put_head(&o);
    for (int i = 0; !status && i < trees.count; i++)
        status = read_file(&o, trees.path[i]);
    if (!status)
        status = output_result(s->prefix, TREES, &o.newick, &s->diag);
out:
    optimising_free(&o);
    return status;
}
