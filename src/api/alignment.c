#include "api/objects.h"
#include "base/mem.h"
#include "branch/tree_optimum.h"
#include "lik/likelihood.h"
#include "subst/model_string.h"
#include "pars/parsimony.h"
#include "tree/tree_write.h"

#include <stdlib.h>
#include <string.h>

int art_alignment_read(art_alignment **out, const char *path, art_messages *m)
{
    *out = NULL;
    art_alignment *a = mem_zeros(1, sizeof *a);
    if (!a)
        return ART_ERR_NOMEM;
    taxa_init(&a->rows);
    int status = alignment_read(&a->data, path, NULL, messages_diag(m));
    for (int i = 0; i < a->data.n_taxa && !status; i++)
        status = taxa_add(&a->rows, a->data.name[i], strlen(a->data.name[i]));
    if (status)
        art_alignment_free(a);
    else
        *out = a;
    return status;
}

void art_alignment_free(art_alignment *a)
{
    if (!a)
        return;
    alignment_free(&a->data);
    taxa_free(&a->rows);
    free(a);
}

int art_alignment_taxa(const art_alignment *a)
{
    return a->data.n_taxa;
}

size_t art_alignment_sites(const art_alignment *a)
{
    return a->data.n_sites;
}

size_t art_alignment_patterns(const art_alignment *a)
{
    return a->data.n_patterns;
}

const char *art_alignment_name(const art_alignment *a, int i)
{
    return i >= 0 && i < a->data.n_taxa ? a->data.name[i] : NULL;
}

/* Opens the one tree of a text, on the taxa of the alignment in the order of its rows. */
static int read_newick(tree_file *f, const art_alignment *a, const char *text, tree_use use,
                       diag *d)
{
    input in;
    tree_options options = {.taxa = &a->rows, .taxa_from = "the alignment", .use = use};
    memset(f, 0, sizeof *f);
    int status = input_from_memory(&in, "newick", text, strlen(text), NULL, d);
    if (status) {
        input_free(&in);
        return status;
    }
    status = tree_file_from_input(f, &in, &options, d);
    return status ? status : tree_file_next(f, d);
}

int art_log_likelihood(double *value, const art_alignment *a, const char *model, const char *text,
                       art_messages *m)
{
    diag *d = messages_diag(m);
    subst_model parsed;
    tree_file f;
    int status = model_string_parse(&parsed, model, &a->data, d);
    if (status)
        return status;
    status = read_newick(&f, a, text, TREE_LENGTHS, d);
    if (!status && !f.tree.has_lengths)
        status = diag_error(d, ART_ERR_INPUT, (diag_place){.file = "newick"},
                            "a branch has no length -- the likelihood needs all of them");
    likelihood *engine = NULL;
    if (!status)
        status = likelihood_create(&engine, &a->data, NULL, &parsed, 1, NULL);
    if (!status)
        likelihood_batch(engine, value, NULL, f.tree.decision, f.tree.length, 1);
    likelihood_free(engine);
    tree_file_free(&f);
    return status;
}

/* The tree with its best lengths, as a text. */
static int hand_out_tree(char *text, size_t size, size_t *length, const art_alignment *a,
                         const optimum_job *job)
{
    buffer whole;
    tree_writer writer = {0};
    buffer_init(&whole);
    int status = tree_writer_init(&writer, &a->rows);
    if (!status) {
        tree_write_newick(&whole, &writer, job->decision, job->length);
        status = text_hand_out(text, size, length, &whole);
    }
    tree_writer_free(&writer);
    buffer_free(&whole);
    return status;
}

static int hand_out_model(char *text, size_t size, const free_model *f, const double *z)
{
    char printed[MODEL_STRING_SIZE];
    subst_model m;
    buffer whole;
    buffer_init(&whole);
    free_model_at(&m, f, z);
    buffer_text(&whole, model_string_print(printed, &m));
    int status = text_hand_out(text, size, NULL, &whole);
    buffer_free(&whole);
    return status;
}

int art_maximum_likelihood(double *value, char *fitted, size_t size, size_t *length,
                           char *fitted_model, size_t model_size, const art_alignment *a,
                           const char *model, const char *text, art_messages *m)
{
    diag *d = messages_diag(m);
    free_model f;
    tree_file file = {0};
    branch_posterior problem = {0};
    tree_optimum *optimum = NULL;
    int status = free_model_parse(&f, model, &a->data, NULL, d);
    if (status)
        return status;
    if ((status = read_newick(&file, a, text, TREE_LENGTHS, d)) ||
        (status = branch_posterior_init_free(&problem, &a->data, NULL, &f,
                                             branch_prior_exponential(MODEL_PRIOR_RATE))) ||
        (status = tree_optimum_create(&optimum, &problem, OPTIMUM_LIKELIHOOD, NULL)))
        goto out;
    double z[FREE_MOST]; /* one block */
    optimum_job job = {.decision = file.tree.decision, .length = file.tree.length, .z = z};
    tree_optimum_run(optimum, &job, 1);
    if ((status = job.status))
        goto out;
    *value = job.log_likelihood;
    status = hand_out_tree(fitted, size, length, a, &job);
    const int printed = hand_out_model(fitted_model, model_size, &f, job.z);
    status = status ? status : printed;
out:
    tree_optimum_free(optimum);
    branch_posterior_free(&problem);
    tree_file_free(&file);
    return status;
}

int art_parsimony_score(int64_t *score, const art_alignment *a, int gap_is_state, const char *text,
                        art_messages *m)
{
    tree_file f;
    parsimony *engine = NULL;
    int status = read_newick(&f, a, text, TREE_TOPOLOGY, messages_diag(m));
    if (!status)
        status =
            parsimony_create(&engine, &a->data, NULL, gap_is_state ? GAP_FIFTH : GAP_MISSING, NULL);
    if (!status)
        parsimony_batch(engine, score, f.tree.decision, 1);
    parsimony_free(engine);
    tree_file_free(&f);
    return status;
}
