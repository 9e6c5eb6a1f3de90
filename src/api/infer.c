#include "api/objects.h"
#include "base/mem.h"
#include "infer/collapsed_answer.h"
#include "infer/train.h"
#include "infer/variational.h"
#include "model/artreeformer_model.h"
#include "model/branch_lognormal.h"
#include "phylo/model_string.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* As the program has them. */
enum { PARTICLES = 1000, MOST_PASSES = 100, SAMPLE = 1 };

void art_infer_defaults(art_infer_settings *s)
{
    *s = (art_infer_settings){.method = ART_COLLAPSED,
                              .prior_rate = API_PRIOR_RATE,
                              .hidden = 100,
                              .heads = 4,
                              .branch_hidden = 100,
                              .threads = 1,
                              .seed = 1,
                              .standard_error = COLLAPSED_ERROR,
                              .rounds = COLLAPSED_USUAL_ROUNDS,
                              .fit_steps = TABLE_FIT_STEPS,
                              .table_bytes = COLLAPSED_MEMORY,
                              .steps = 50000,
                              .anneal_steps = 25000,
                              .particles = 10,
                              .tree_rate = 1e-4,
                              .branch_rate = 3e-3,
                              .decay = 0.75,
                              .decay_every = 5000};
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
            const int wish = progress(context, loop->step, report.objective);
            if (wish == ART_HURRY)
                break;
            status = wish == ART_GO_ON ? ART_OK : ART_ERR_STOPPED;
        }
    }
    trainer_free(loop);
    if (job)
        job->ops->free(job);
    return status;
}

/* Topologies and lengths learned together. */
static int infer_vbpi(art_model *q, const art_alignment *a, const int *row,
                      const subst_model *model, const art_infer_settings *s, art_progress *progress,
                      void *context)
{
    target *goal = NULL;
    int status = target_likelihood(&goal, &a->data, row, model, s->particles, q->threads);
    if (!status) {
        particle_source source = {q->file.trees, q->file.branches, goal, s->prior_rate, s->seed};
        status = train(&source, s, q->threads, progress, context);
    }
    target_free(goal);
    return status;
}

/* Who looks on while it works. */
typedef struct onlooker {
    art_progress *progress;
    void *context;
    collapsed *c;
    int64_t pieces;
    int wish;
} onlooker;

static void look(onlooker *o)
{
    const double value = o->c->table.count ? collapsed_log_table(o->c) : -HUGE_VAL;
    if (o->progress && o->wish != ART_STOP)
        o->wish = o->progress(o->context, ++o->pieces, value);
}

static bool is_stopped(void *context)
{
    const onlooker *o = context;
    return o->wish != ART_GO_ON && o->wish != ART_HURRY;
}

static bool is_late(void *context)
{
    return ((const onlooker *)context)->wish == ART_HURRY;
}

static void see(void *context, answer_part part, int64_t done, double error)
{
    (void)part, (void)done, (void)error;
    look(context);
}

static int make_rounds(collapsed *c, onlooker *o)
{
    int status = ART_OK;
    while (!status && c->stage != COLLAPSED_DONE) {
        status = collapsed_advance(c, NULL);
        if (status || !o->progress)
            continue;
        look(o);
        if (is_late(o))
            collapsed_hurry(c);
        status = is_stopped(o) ? ART_ERR_STOPPED : ART_OK;
    }
    return status;
}

/* The model keeps what was found. */
static void keep_answer(art_model *q, answer *found)
{
    q->answer = model_evidence(&found->evidence);
    q->found = found->posterior.trees;
    memset(&found->posterior.trees, 0, sizeof found->posterior.trees);
    q->has_answer = true;
}

/* Lengths integrated out. */
static int infer_collapsed(art_model *q, const art_alignment *a, const int *row,
                           const subst_model *model, const art_infer_settings *s,
                           art_progress *progress, void *context)
{
    branch_problem problem = {0};
    answer found = {0};
    onlooker eye = {.progress = progress, .context = context};
    collapsed_settings plan = collapsed_defaults(s->seed);
    plan.capacity = topology_table_capacity(a->data.n_taxa, (double)s->table_bytes);
    plan.rounds = s->rounds;
    plan.fit.steps = s->fit_steps;
    plan.fit.polish = s->gap;
    plan.error = s->standard_error;
    plan.sampled = answer_draws(PARTICLES);
    int status = branch_problem_init(&problem, &a->data, row, model, s->prior_rate);
    if (!status)
        status =
            collapsed_create(&eye.c, &problem, &a->data, row, q->file.trees, &plan, q->threads);
    if (!status)
        status = make_rounds(eye.c, &eye);
    if (!status)
        status = collapsed_answer(&found, eye.c, q->file.branches, &q->file.taxa,
                                  &(answer_settings){PARTICLES, SAMPLE, MOST_PASSES,
                                                     s->standard_error, API_CACHE_BYTES, s->seed},
                                  &(answer_watch){&eye, is_stopped, is_late, progress ? see : NULL},
                                  NULL);
    if (!status)
        keep_answer(q, &found);
    posterior_free(&found.posterior);
    collapsed_free(eye.c);
    branch_problem_free(&problem);
    return status;
}

static bool settings_are_valid(const art_infer_settings *s)
{
    const bool both = s->threads >= 1 && s->hidden >= 1 && s->heads >= 1 &&
                      s->hidden % s->heads == 0 && s->branch_hidden >= 1 && s->prior_rate > 0;
    if (s->method == ART_VBPI)
        return both && s->steps >= 1 && s->particles >= 2;
    return both && s->method == ART_COLLAPSED && s->standard_error > 0 && s->rounds >= 1 &&
           s->rounds <= COLLAPSED_ROUNDS && s->fit_steps >= 1 && s->gap >= 0;
}

int art_infer(art_model **out, const art_alignment *a, const char *model,
              const art_infer_settings *settings, art_progress *progress, void *context)
{
    *out = NULL;
    art_infer_settings s;
    art_infer_defaults(&s);
    if (settings)
        s = *settings;
    if (!settings_are_valid(&s))
        return ART_ERR_USAGE;
    art_model *q = mem_zeros(1, sizeof *q);
    if (!q)
        return ART_ERR_NOMEM;
    subst_model parsed;
    int *row = NULL;
    taxa_init(&q->file.taxa);
    int status = model_string_parse(&parsed, model, &a->data, NULL);
    if (!status)
        status = make_model(q, a, &parsed, &s);
    if (!status)
        status = model_match_rows(&row, q, a, NULL);
    if (!status && s.method == ART_VBPI)
        status = infer_vbpi(q, a, row, &parsed, &s, progress, context);
    else if (!status)
        status = infer_collapsed(q, a, row, &parsed, &s, progress, context);
    if (!status)
        status = q->file.trees->ops->freeze(q->file.trees, API_CACHE_BYTES);
    free(row);
    if (status)
        art_model_free(q);
    else
        *out = q;
    return status;
}

int art_model_answer(const art_model *q, art_evidence *e, art_trees **trees)
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
