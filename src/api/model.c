#include "api/objects.h"
#include "base/mem.h"
#include "infer/evidence.h"
#include "infer/train.h"
#include "infer/variational.h"
#include "model/artreeformer_model.h"
#include "model/branch_lognormal.h"
#include "phylo/model_string.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { CACHE_BYTES = 64 << 20 };

static const double PRIOR_RATE = 10;

/* The prior that a model was trained with; the usual one where its file does not say. */
static double prior_rate(const model_file *file)
{
    json_t *all = file->settings ? json_loads(file->settings, 0, NULL) : NULL;
    double rate = json_number_value(json_object_get(all, "prior_rate"));
    json_decref(all);
    return rate > 0 ? rate : PRIOR_RATE;
}

int art_model_read(art_model **out, const char *path, int threads, art_messages *m)
{
    *out = NULL;
    art_model *q = mem_zeros(1, sizeof *q);
    if (!q)
        return ART_ERR_NOMEM;
    int status = threads >= 1 ? pool_create(&q->threads, threads) : ART_ERR_USAGE;
    if (!status)
        status = model_file_read(&q->file, path, MODEL_AVERAGE, q->threads, messages_diag(m));
    if (!status)
        status = q->file.trees->ops->freeze(q->file.trees, CACHE_BYTES);
    if (!status)
        q->prior_rate = prior_rate(&q->file);
    if (status)
        art_model_free(q);
    else
        *out = q;
    return status;
}

int art_model_write(const art_model *q, const char *path, art_messages *m)
{
    const model_file *f = &q->file;
    model_contents contents = {.taxa = &f->taxa,
                               .trees = f->trees,
                               .hidden = f->hidden,
                               .heads = f->heads,
                               .branches = f->branches,
                               .branch_hidden = f->branch_hidden,
                               .substitution = f->substitution,
                               .settings = f->settings};
    return model_file_write(path, &contents, messages_diag(m));
}

void art_model_free(art_model *q)
{
    if (!q)
        return;
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

/* row[i] becomes the row of the alignment that is taxon i of the model; to be freed. */
static int match_rows(int **row, const art_model *q, const art_alignment *a, diag *d)
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
    int status = match_rows(&row, q, a, messages_diag(m));
    if (!status)
        status = model_string_parse(&model, q->file.substitution, &a->data, messages_diag(m));
    if (!status)
        status = target_likelihood(&goal, &a->data, row, &model, EVIDENCE_BATCH, q->threads);
    if (!status) {
        particle_source source = {q->file.trees, q->file.branches, goal, q->prior_rate, seed};
        status = evidence_run(&e, &source, &(evidence_settings){k, repeats}, NULL, NULL);
    }
    if (!status)
        *out = (art_evidence){e.log_evidence,  e.log_evidence_sd, e.log_evidence_se,
                              e.lower_bound_1, e.lower_bound_10,  e.ess,
                              e.pareto_k};
    target_free(goal);
    free(row);
    return status;
}

void art_infer_defaults(art_infer_settings *s)
{
    *s = (art_infer_settings){.steps = 50000,
                              .anneal_steps = 25000,
                              .particles = 10,
                              .tree_rate = 1e-4,
                              .branch_rate = 3e-3,
                              .decay = 0.75,
                              .decay_every = 5000,
                              .prior_rate = PRIOR_RATE,
                              .hidden = 100,
                              .heads = 4,
                              .branch_hidden = 100,
                              .threads = 1,
                              .seed = 1};
}

/* An untrained model of the alignment's taxa, in lexicographic order. */
static int make_model(art_model *q, const art_alignment *a, const subst_model *model,
                      const art_infer_settings *s)
{
    char text[MODEL_STRING_SIZE];
    model_file *f = &q->file;
    q->prior_rate = s->prior_rate;
    f->hidden = s->hidden;
    f->heads = s->heads;
    f->branch_hidden = s->branch_hidden;
    model_string_print(text, model);
    f->substitution = mem_text(text, strlen(text));
    json_t *settings = json_pack("{s:f}", "prior_rate", s->prior_rate);
    f->settings = settings ? json_dumps(settings, JSON_COMPACT) : NULL;
    json_decref(settings);
    int status =
        f->substitution && f->settings ? pool_create(&q->threads, s->threads) : ART_ERR_NOMEM;
    if (!status)
        status = taxa_copy(&f->taxa, &a->rows);
    if (!status)
        status = taxa_sort(&f->taxa, NULL);
    if (!status)
        status = artreeformer_create(&f->trees, a->data.n_taxa, s->hidden, s->heads, q->threads);
    if (!status)
        status =
            branch_lognormal_create(&f->branches, a->data.n_taxa, s->branch_hidden, q->threads);
    if (status)
        return status;
    f->trees->ops->initialise(f->trees, s->seed);
    f->branches->ops->initialise(f->branches, s->seed);
    return ART_OK;
}

static int train(const particle_source *source, const art_infer_settings *s, pool *threads,
                 art_progress *progress, void *context)
{
    train_settings plan = train_defaults();
    plan.steps = s->steps;
    plan.anneal_steps = s->anneal_steps;
    plan.tree_rate = s->tree_rate;
    plan.branch_rate = s->branch_rate;
    plan.decay = s->decay;
    plan.decay_every = s->decay_every;
    task *job = NULL;
    trainer *loop = NULL;
    train_report report;
    int status = variational_create(&job, source, s->particles, ESTIMATOR_VIMCO_GEOMETRIC);
    if (!status)
        status = trainer_create(&loop, job, &plan, threads);
    while (!status && loop->step < plan.steps) {
        status = trainer_advance(loop, NULL);
        if (!status && progress) {
            trainer_report(loop, &report);
            if (progress(context, loop->step, report.objective))
                status = ART_ERR_STOPPED;
        }
    }
    trainer_free(loop);
    if (job)
        job->ops->free(job);
    return status;
}

int art_infer(art_model **out, const art_alignment *a, const char *model,
              const art_infer_settings *settings, art_progress *progress, void *context)
{
    *out = NULL;
    art_infer_settings s;
    art_infer_defaults(&s);
    if (settings)
        s = *settings;
    if (s.steps < 1 || s.particles < 2 || s.threads < 1 || s.hidden < 1 || s.heads < 1 ||
        s.hidden % s.heads || s.branch_hidden < 1 || !(s.prior_rate > 0))
        return ART_ERR_USAGE;
    art_model *q = mem_zeros(1, sizeof *q);
    if (!q)
        return ART_ERR_NOMEM;
    subst_model parsed;
    target *goal = NULL;
    int *row = NULL;
    taxa_init(&q->file.taxa);
    int status = model_string_parse(&parsed, model, &a->data, NULL);
    if (!status)
        status = make_model(q, a, &parsed, &s);
    if (!status)
        status = match_rows(&row, q, a, NULL);
    if (!status)
        status = target_likelihood(&goal, &a->data, row, &parsed, s.particles, q->threads);
    if (!status) {
        particle_source source = {q->file.trees, q->file.branches, goal, s.prior_rate, s.seed};
        status = train(&source, &s, q->threads, progress, context);
    }
    if (!status)
        status = q->file.trees->ops->freeze(q->file.trees, CACHE_BYTES);
    target_free(goal);
    free(row);
    if (status)
        art_model_free(q);
    else
        *out = q;
    return status;
}
