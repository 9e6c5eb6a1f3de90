#include "api/objects.h"
#include "train/defaults.h"
#include "base/mem.h"
#include "train/target.h"
#include "subst/model_string.h"

#include <stdlib.h>
#include <string.h>

int model_begin(art_model **out, const taxa *names, int threads)
{
    art_model *q = *out = mem_zeros(1, sizeof *q);
    if (!q)
        return ART_ERR_NOMEM;
    taxa_init(&q->file.taxa);
    q->prior = branch_prior_exponential(MODEL_PRIOR_RATE);
    int status = pool_create(&q->threads, threads);
    return status || !names ? status : taxa_copy(&q->file.taxa, names);
}

int model_end(art_model **out, art_model *q, int status)
{
    if (!status)
        status = topology_model_freeze(q->file.trees, EVALUATION_CACHE);
    if (status)
        art_model_free(q);
    *out = status ? NULL : q;
    return status;
}

int art_model_read(art_model **out, const char *path, int threads, art_messages *m)
{
    art_model *q = NULL;
    int status = threads >= 1 ? model_begin(&q, NULL, threads) : ART_ERR_USAGE;
    if (!status)
        status = model_file_read(&q->file, path, MODEL_AVERAGE, q->threads, messages_diag(m));
    if (!status)
        status = model_file_prior(&q->prior, &q->file, messages_diag(m));
    return model_end(out, q, status);
}

int art_model_write(const art_model *q, const char *path, art_messages *m)
{
    const model_file *f = &q->file;
    model_contents contents = {.taxa = &f->taxa,
                               .trees = f->trees,
                               .branches = f->branches,
                               .substitution = f->substitution,
                               .settings = f->settings};
    return model_file_write(path, &contents, messages_diag(m));
}

void art_model_free(art_model *q)
{
    if (!q)
        return;
    tree_set_free(&q->found);
    model_file_free(&q->file);
    pool_free(q->threads);
    free(q);
}

int art_model_taxa(const art_model *q)
{
    return q->file.taxa.count;
}

const char *art_model_name(const art_model *q, int i)
{
    return i >= 0 && i < q->file.taxa.count ? q->file.taxa.name[i] : NULL;
}

int model_match_rows(int **row, const art_model *q, const art_alignment *a, diag *d)
{
    *row = NULL;
    int status =
        taxa_compare(&a->rows, "the alignment", &q->file.taxa, "the model", (diag_place){0}, d);
    if (status)
        return status;
    *row = mem_zeros((size_t)a->rows.count, sizeof **row);
    if (!*row)
        return ART_ERR_NOMEM;
    taxa_map(*row, &q->file.taxa, &a->rows);
    return ART_OK;
}

art_evidence model_evidence(const evidence *e, const verdict *v)
{
    const evidence shown = verdict_shown(v, e);
    return (art_evidence){.log_evidence = shown.log_evidence,
                          .log_evidence_sd = shown.log_evidence_sd,
                          .log_evidence_se = shown.log_evidence_se,
                          .lower_bound_1 = shown.lower_bound_1,
                          .lower_bound_10 = shown.lower_bound_10,
                          .draws = shown.total,
                          .ess = shown.ess,
                          .pareto_k = shown.pareto_k,
                          .outside_weight = shown.outside,
                          .outside_weight_se = shown.outside_se};
}

int art_model_evidence(art_evidence *out, art_model *q, const art_alignment *a, int k, int repeats,
                       uint64_t seed, art_messages *m)
{
    memset(out, 0, sizeof *out);
    if (!q->file.branches || !q->file.substitution)
        return ART_ERR_UNSUPPORTED;
    subst_model model;
    target *goal = NULL;
    int *row = NULL;
    evidence e;
    int status = model_match_rows(&row, q, a, messages_diag(m));
    if (!status)
        status = model_string_parse(&model, q->file.substitution, &a->data, messages_diag(m));
    if (!status)
        status = target_likelihood(&goal, &a->data, row, &model, EVIDENCE_BATCH, q->threads);
    if (!status) {
        particle_source source = {q->file.trees, q->file.branches, goal, q->prior, seed};
        status = evidence_run(&e, &source, &(evidence_settings){k, repeats});
    }
    if (!status) {
        verdict v;
        verdict_init(&v);
        verdict_of_evidence(&v, &e, VERDICT_TRAIN);
        messages_verdict(m, &v);
        *out = model_evidence(&e, &v);
    }
    target_free(goal);
    free(row);
    return status;
}
