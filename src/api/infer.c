#include "api/objects.h"
#include "api/progress.h"
#include "base/mem.h"
#include "collapsed/final_sampling.h"
#include "train/defaults.h"
#include "train/variational_task.h"
#include "density/artreeformer/artreeformer_model.h"
#include "density/lognormal/branch_lognormal.h"
#include "subst/model_string.h"

#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLE = 1 }; /* draws with lengths that are kept: nobody asks for them */

void art_infer_defaults(art_infer_settings *s)
{
    *s = (art_infer_settings){.method = ART_COLLAPSED,
                              .prior_rate = MODEL_PRIOR_RATE,
                              .hidden = DEFAULT_HIDDEN,
                              .heads = DEFAULT_HEADS,
                              .branch_hidden = DEFAULT_BRANCH_HIDDEN,
                              .threads = 1,
                              .seed = 1,
                              .standard_error = DEFAULT_STANDARD_ERROR,
                              .rounds = DEFAULT_ROUNDS,
                              .fit_steps = NETWORK_FIT_STEPS,
                              .table_bytes = DEFAULT_TABLE_MEMORY,
                              .steps = VBPI_STEPS,
                              .anneal_steps = VBPI_ANNEAL,
                              .particles = VBPI_PARTICLES,
                              .tree_rate = VBPI_TREE_RATE,
                              .branch_rate = VBPI_BRANCH_RATE,
                              .decay = DEFAULT_DECAY,
                              .decay_every = VBPI_DECAY_EVERY};
}

/* The untrained networks of a model whose taxa are those of the alignment. */
static int make_networks(art_model *q, const subst_model *model, const art_infer_settings *s)
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
    int status = f->substitution && f->settings ? ART_OK : ART_ERR_NOMEM;
    if (!status)
        status = artreeformer_create(&f->trees, f->taxa.count, s->hidden, s->heads, q->threads);
    if (!status)
        status = branch_lognormal_create(&f->branches, f->taxa.count, s->branch_hidden, q->threads);
    if (status)
        return status;
    f->trees->ops->initialise(f->trees, s->seed);
    f->branches->ops->initialise(f->branches, s->seed);
    return ART_OK;
}

/* Topologies and lengths learned together. */
static int infer_vbpi(art_model *q, const art_alignment *a, const int *row,
                      const subst_model *model, const art_infer_settings *s, watcher *o)
{
    train_settings plan = train_defaults();
    plan.steps = s->steps;
    plan.anneal_steps = s->anneal_steps;
    plan.tree_rate = s->tree_rate;
    plan.branch_rate = s->branch_rate;
    plan.decay = s->decay;
    plan.decay_every = s->decay_every;
    task *job = NULL;
    target *goal = NULL;
    int status = target_likelihood(&goal, &a->data, row, model, s->particles, q->threads);
    const particle_source source = {q->file.trees, q->file.branches, goal, s->prior_rate, s->seed};
    if (!status)
        status = variational_create(&job, &source, s->particles, ESTIMATOR_VIMCO_GEOMETRIC);
    if (!status)
        status = watcher_train(o, job, &plan, q->threads);
    if (job)
        job->ops->free(job);
    target_free(goal);
    return status;
}

static bool is_late(const watcher *o)
{
    return o->wish == ART_FINISH_NOW;
}

static int make_rounds(rounds *c, watcher *o)
{
    int status = ART_OK;
    o->value = -HUGE_VAL;
    while (!status && c->stage != ROUNDS_DONE) {
        const rounds_stage stage = c->stage;
        if (is_late(o))
            rounds_finish_now(c);
        status = rounds_advance(c, o->diag);
        const bool fits = stage == ROUNDS_FIT || stage == ROUNDS_POLISH;
        if (!status && o->progress && !fits && c->table.count)
            o->value = rounds_log_table(c);
        if (!status)
            status = watcher_look(o);
    }
    return status;
}

static int make_answer(answer *out, rounds *c, art_model *q, watcher *o)
{
    final_sampling *a;
    int status = final_sampling_create(&a, c, q->file.branches, &q->file.taxa);
    while (!status && a->stage != FINAL_DONE) {
        if (is_late(o))
            final_sampling_finish_now(a);
        status = final_sampling_advance(a, o->diag);
        if (!status)
            status = watcher_look(o);
    }
    if (!status)
        status = final_sampling_finish(a, out);
    final_sampling_free(a);
    return status;
}

/* The model keeps what was found. */
static void keep_answer(art_model *q, answer *found, diag *d)
{
    const char *warning[EVIDENCE_WARNINGS];
    const int warnings = evidence_warnings(warning, &found->evidence);
    for (int i = 0; i < warnings; i++)
        diag_warning(d, (diag_place){0}, "%s", warning[i]);
    q->answer = model_evidence(&found->evidence);
    q->found = found->posterior.trees;
    memset(&found->posterior.trees, 0, sizeof found->posterior.trees);
    q->has_answer = true;
}

/* Lengths integrated out. */
static int infer_collapsed(art_model *q, const art_alignment *a, const int *row,
                           const subst_model *model, const art_infer_settings *s, watcher *o)
{
    branch_posterior problem = {0};
    rounds *c = NULL;
    answer found = {0};
    collapsed_settings plan = collapsed_defaults(s->seed);
    plan.error = s->standard_error;
    plan.table.capacity = tree_table_capacity(a->data.n_taxa, (double)s->table_bytes);
    plan.rounds.rounds = s->rounds;
    plan.fit.steps = s->fit_steps;
    plan.fit.polish = s->fit_kl;
    plan.sampler.sample = SAMPLE;
    int status = branch_posterior_init(&problem, &a->data, row, model, s->prior_rate);
    if (!status)
        status = rounds_create(&c, &problem, &a->data, row, q->file.trees, &plan, q->threads);
    if (!status)
        status = make_rounds(c, o);
    if (!status)
        status = make_answer(&found, c, q, o);
    if (!status)
        keep_answer(q, &found, o->diag);
    posterior_free(&found.posterior);
    rounds_free(c);
    branch_posterior_free(&problem);
    return status;
}

static bool settings_are_valid(const art_infer_settings *s)
{
    const bool both = s->threads >= 1 && s->hidden >= 1 && s->heads >= 1 &&
                      s->hidden % s->heads == 0 && s->branch_hidden >= 1 &&
                      is_within(s->prior_rate, DBL_MIN, 1e6);
    if (s->method == ART_VBPI)
        return both && s->steps >= 1 && s->anneal_steps >= 0 && s->particles >= 2 &&
               is_within(s->tree_rate, DBL_MIN, 1) && is_within(s->branch_rate, DBL_MIN, 1) &&
               is_within(s->decay, DBL_MIN, 1) && s->decay_every >= 0;
    return both && s->method == ART_COLLAPSED && is_within(s->standard_error, DBL_MIN, 10) &&
           s->rounds >= 1 && s->rounds <= ROUNDS_MOST && s->fit_steps >= 1 &&
           is_within(s->fit_kl, 0, 100);
}

int art_infer(art_model **out, const art_alignment *a, const char *model,
              const art_infer_settings *settings, art_progress *progress, void *context,
              art_messages *m)
{
    *out = NULL;
    art_infer_settings s;
    art_infer_defaults(&s);
    if (settings)
        s = *settings;
    if (!settings_are_valid(&s))
        return ART_ERR_USAGE;
    watcher eye = {.progress = progress, .context = context, .diag = messages_diag(m)};
    art_model *q = NULL;
    subst_model parsed;
    int *row = NULL;
    int status = model_string_parse(&parsed, model, &a->data, eye.diag);
    if (!status)
        status = model_begin(&q, &a->rows, s.threads);
    if (!status)
        status = taxa_sort(&q->file.taxa, NULL);
    if (!status)
        status = make_networks(q, &parsed, &s);
    if (!status)
        status = model_match_rows(&row, q, a, NULL);
    if (!status && s.method == ART_VBPI)
        status = infer_vbpi(q, a, row, &parsed, &s, &eye);
    else if (!status)
        status = infer_collapsed(q, a, row, &parsed, &s, &eye);
    free(row);
    return model_end(out, q, status);
}

int art_model_answer(art_evidence *e, art_trees **trees, const art_model *q)
{
    if (trees)
        *trees = NULL;
    if (!q->has_answer)
        return ART_ERR_UNSUPPORTED;
    *e = q->answer;
    if (!trees)
        return ART_OK;
    art_trees *t = mem_zeros(1, sizeof *t);
    int status = t ? tree_set_init(&t->set, &q->found.taxa) : ART_ERR_NOMEM;
    for (size_t i = 0; i < q->found.count && !status; i++)
        status = tree_set_add(&t->set, tree_set_decision(&q->found, i), q->found.weight[i]);
    if (!status)
        status = tree_set_normalise(&t->set);
    if (status)
        art_trees_free(t);
    else
        *trees = t;
    return status;
}
