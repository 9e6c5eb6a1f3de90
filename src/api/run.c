#include "api/run.h"

#include "api/density.h"
#include "base/hash.h"
#include "base/host.h"
#include "base/mem.h"
#include "io/output.h"
#include "subst/branch_prior_string.h"
#include "subst/model_list.h"
#include "train/checkpoint.h"
#include "train/defaults.h"
#include "train/drive.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As the program has them. */
enum { REPORT_EVERY = 1000, CHECKPOINT_EVERY = 120 };
static const evaluation_settings EVALUATION = {.particles = EVALUATION_PARTICLES,
                                               .repeats = EVALUATION_REPEATS,
                                               .sample = EVALUATION_SAMPLE,
                                               .cache = EVALUATION_CACHE};

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

void art_fit_defaults(art_fit_settings *s)
{
    *s = (art_fit_settings){.hidden = DEFAULT_HIDDEN,
                            .heads = DEFAULT_HEADS,
                            .threads = 1,
                            .seed = 1,
                            .steps = FIT_STEPS,
                            .batch = FIT_BATCH,
                            .rate = FIT_RATE,
                            .decay = DEFAULT_DECAY,
                            .average = FIT_AVERAGE,
                            .average_from = FIT_AVERAGE_FROM,
                            .cooling = FIT_COOLING,
                            .counts = 1,
                            .sbn_alpha = SBN_ALPHA};
}

void art_parsimony_defaults(art_parsimony_settings *s)
{
    *s = (art_parsimony_settings){.gap_is_state = 1,
                                  .hidden = DEFAULT_HIDDEN,
                                  .heads = DEFAULT_HEADS,
                                  .threads = 1,
                                  .seed = 1,
                                  .steps = PARSIMONY_STEPS,
                                  .anneal_steps = PARSIMONY_ANNEAL,
                                  .particles = PARSIMONY_PARTICLES,
                                  .rate = PARSIMONY_RATE,
                                  .decay = DEFAULT_DECAY,
                                  .decay_every = PARSIMONY_DECAY_EVERY};
}

void art_search_defaults(art_search_settings *s)
{
    *s = (art_search_settings){.gap_is_state = 1,
                               .threads = 1,
                               .seed = 1,
                               .hits = SEARCH_HITS,
                               .starts = SEARCH_STARTS,
                               .rounds = SEARCH_ROUNDS,
                               .max_trees = SEARCH_TREES};
}

void run_core_free(run_core *c)
{
    if (!c)
        return;
    infer_job_free(c->infer);
    model_average_free(c->average);
    fit_job_free(c->fit);
    parsimony_job_free(c->parsimony);
    search_job_free(c->search);
    pool_free(c->threads);
    taxa_free(&c->data.taxa);
    free(c->data.row);
    json_decref(c->identity);
    free(c->model);
    free(c);
}

void art_run_free(art_run *r)
{
    if (r)
        run_core_free(r->core);
    free(r);
}

static int core_create(run_core **out, int threads, uint64_t seed)
{
    run_core *c = *out = mem_zeros(1, sizeof *c);
    if (!c)
        return ART_ERR_NOMEM;
    c->seed = seed;
    return pool_create(&c->threads, threads);
}

/* The alignment with its taxa in lexicographic order. */
static int set_data(run_core *c, const art_alignment *a)
{
    c->data.alignment = a->data;
    taxa_init(&c->data.taxa);
    int status = taxa_copy(&c->data.taxa, &a->rows);
    if (!status)
        status = taxa_sort(&c->data.taxa, NULL);
    c->data.row = mem_zeros((size_t)a->rows.count, sizeof *c->data.row);
    if (!status && !c->data.row)
        status = ART_ERR_NOMEM;
    if (!status)
        taxa_map(c->data.row, &c->data.taxa, &a->rows);
    return status;
}

/* Hands the run out, or frees what there is of it. settings and data identify it (taken over). */
static int core_end(art_run **out, run_core *c, int status, const char *kind, json_t *settings,
                    json_t *data)
{
    *out = NULL;
    art_run *r = status ? NULL : mem_zeros(1, sizeof *r);
    json_t *identity = json_pack("{s:s, s:s, s:o, s:o}", "version", art_version(), "command", kind,
                                 "settings", settings, "data", data);
    if (!status && (!r || !identity))
        status = ART_ERR_NOMEM;
    if (status) {
        json_decref(identity);
        run_core_free(c);
        free(r);
        return status;
    }
    c->identity = identity;
    r->core = c;
    *out = r;
    return ART_OK;
}

static bool schedule_is_valid(int64_t steps, double rate, double decay, int64_t decay_every)
{
    return steps >= 1 && is_within(rate, DBL_MIN, 1) && is_within(decay, DBL_MIN, 1) &&
           decay_every >= 0;
}

static bool infer_is_valid(const art_infer_settings *s)
{
    const bool tables =
        s->method == ART_VBPI && s->density == ART_SBN && is_within(s->floor, 0, 0.5);
    if (s->threads < 1 || s->branch_hidden < 1 ||
        !(tables || density_is_network(s->density, s->hidden, s->heads)) ||
        (!s->branch_prior && !is_within(s->prior_rate, DBL_MIN, 1e6)))
        return false;
    if (s->method == ART_VBPI)
        return schedule_is_valid(s->steps, s->tree_rate, s->decay, s->decay_every) &&
               s->anneal_steps >= 0 && s->particles >= 2 && is_within(s->branch_rate, DBL_MIN, 1);
    return s->method == ART_COLLAPSED && is_within(s->standard_error, DBL_MIN, 10) &&
           s->rounds >= 1 && s->rounds <= ROUNDS_MOST && s->fit_steps >= 1 &&
           is_within(s->fit_kl, 0, 100);
}

static train_settings schedule(int64_t steps, double rate, double decay, int64_t decay_every)
{
    train_settings plan = train_defaults();
    plan.steps = steps;
    plan.tree_rate = rate;
    plan.decay = decay;
    plan.decay_every = decay_every;
    return plan;
}

static infer_settings infer_plan(const art_infer_settings *s, branch_prior prior, int n_taxa,
                                 int repeats)
{
    const topology_config trees = s->density == ART_SBN
                                      ? sbn_config(s->floor)
                                      : density_network(s->density, s->hidden, s->heads);
    infer_settings plan = {
        .method = s->method == ART_VBPI ? INFER_VBPI : INFER_COLLAPSED,
        .seed = s->seed,
        .prior = prior,
        .trees = trees,
        .branches = branch_config_beside(trees.kind, s->branch_hidden),
        .training = schedule(s->steps, s->tree_rate, s->decay, s->decay_every),
        .particles = s->particles,
        .estimator = ESTIMATOR_VIMCO_GEOMETRIC,
        .report_every = REPORT_EVERY,
        .evaluation = EVALUATION,
    };
    collapsed_settings *c = &plan.collapsed;
    plan.evaluation.repeats = repeats;
    plan.training.branch_rate = s->branch_rate;
    plan.training.anneal_steps = s->anneal_steps;
    plan.training.anneal_shape = ANNEAL_GEOMETRIC;
    *c = collapsed_defaults(s->seed);
    c->error = s->standard_error;
    c->table.capacity = tree_table_capacity(n_taxa, (double)s->table_bytes);
    c->rounds.rounds = s->rounds;
    c->fit.steps = s->fit_steps;
    c->fit.polish = s->fit_kl;
    return plan;
}

/* Everything that can change the results, as numbers; nothing of the other method, whose settings
 * may be anything. */
static json_t *infer_identity(const art_infer_settings *s, branch_prior prior, const char *model)
{
    char text[BRANCH_PRIOR_STRING_SIZE];
    json_t *all = json_pack("{s:s, s:i, s:s, s:i, s:i, s:I}", "model", model, "method", s->method,
                            "branch_prior", branch_prior_print(text, prior), "density", s->density,
                            "branch_hidden", s->branch_hidden, "seed", (json_int_t)s->seed);
    json_t *density = s->density == ART_SBN
                          ? json_pack("{s:f}", "floor", s->floor)
                          : json_pack("{s:i, s:i}", "hidden", s->hidden, "heads", s->heads);
    json_t *own =
        s->method == ART_COLLAPSED
            ? json_pack("{s:f, s:i, s:I, s:f, s:I}", "se", s->standard_error, "rounds", s->rounds,
                        "fit_steps", (json_int_t)s->fit_steps, "fit_kl", s->fit_kl, "table_memory",
                        (json_int_t)s->table_bytes)
            : json_pack("{s:I, s:I, s:i, s:f, s:f, s:f, s:I}", "steps", (json_int_t)s->steps,
                        "anneal", (json_int_t)s->anneal_steps, "particles", s->particles,
                        "tree_rate", s->tree_rate, "branch_rate", s->branch_rate, "decay", s->decay,
                        "decay_every", (json_int_t)s->decay_every);
    if (all &&
        (!own || json_object_update(all, own) || !density || json_object_update(all, density) ||
         (s->parameter_priors &&
          json_object_set_new(all, "parameter_priors", json_string(s->parameter_priors))))) {
        json_decref(all);
        all = NULL;
    }
    json_decref(own);
    json_decref(density);
    return all;
}

/* What the run is made from; taken over by core_end. */
static json_t *infer_data(const run_core *c, const art_infer_settings *s)
{
    json_t *data = dataset_identity(&c->data);
    if (data && s->density == ART_SBN && s->support)
        json_object_set_new(data, "support", tree_set_identity(&s->support->set));
    return data;
}

/* The published method has no distribution of the parameters, and no average over models. */
static int check_method(const free_model *model, int n, const art_infer_settings *s, diag *d)
{
    char text[MODEL_STRING_SIZE];
    if (s->method != ART_VBPI || (n == 1 && !model->n_free))
        return ART_OK;
    if (n > 1)
        return diag_error(d, ART_ERR_USAGE, (diag_place){0},
                          "the method VBPI has no average over models -- choose the collapsed "
                          "method, or give one model");
    return diag_error(d, ART_ERR_USAGE, (diag_place){0},
                      "%s has parameters to be estimated, which the method VBPI does not do -- "
                      "choose the collapsed method, or fix them by numbers in braces, such as "
                      "HKY{2.5}+F+G4{0.5}",
                      free_model_print(text, model));
}

static int name_model(run_core *c, const char *name)
{
    c->model = mem_text(name, strlen(name));
    return c->model ? ART_OK : ART_ERR_NOMEM;
}

/* The job, with the support of its tables if it was given; and what its model is called. */
static int make_infer_job(run_core *c, const free_model *model, infer_settings *plan,
                          const art_infer_settings *s, art_messages *m)
{
    char text[MODEL_STRING_SIZE];
    tree_set support = {0};
    int status = ART_OK;
    if (s->density == ART_SBN && s->support) {
        status = density_support(&support, &s->support->set, &c->data.taxa, messages_diag(m));
        plan->support = &support;
    }
    if (!status)
        status = infer_job_create(&c->infer, &c->data, model, plan, c->threads);
    tree_set_free(&support);
    if (status)
        return status;
    c->work = infer_job_run(c->infer);
    return name_model(c, free_model_print(text, model));
}

/* The average over several models. */
static int make_average(run_core *c, const free_model *model, int n, const infer_settings *plan)
{
    char title[MODEL_AVERAGE_TITLE];
    int status = model_average_create(&c->average, &c->data, model, n, plan, c->threads);
    if (status)
        return status;
    c->work = model_average_run(c->average);
    model_average_title(title, c->average);
    return name_model(c, title);
}

/* repeats: of the evaluation that follows ART_VBPI. */
static int run_infer(art_run **out, const art_alignment *a, const char *model,
                     const art_infer_settings *settings, int repeats, art_messages *m)
{
    *out = NULL;
    art_infer_settings s;
    art_infer_defaults(&s);
    if (settings)
        s = *settings;
    if (!infer_is_valid(&s))
        return ART_ERR_USAGE;
    run_core *c = NULL;
    free_model *parsed;
    int n;
    branch_prior prior = branch_prior_exponential(s.prior_rate);
    diag *d = messages_diag(m);
    int status = model_list_parse(&parsed, &n, model, s.parameter_priors, &a->data, d);
    if (!status)
        status = check_method(parsed, n, &s, d);
    if (!status && s.branch_prior)
        status = branch_prior_parse(&prior, s.branch_prior, d);
    if (status) {
        free(parsed);
        return status;
    }
    infer_settings plan = infer_plan(&s, prior, a->data.n_taxa, repeats);
    status = core_create(&c, s.threads, s.seed);
    if (!status)
        status = set_data(c, a);
    if (!status) {
        c->prior = prior;
        status =
            n == 1 ? make_infer_job(c, parsed, &plan, &s, m) : make_average(c, parsed, n, &plan);
    }
    free(parsed);
    return core_end(out, c, status, "infer",
                    status ? NULL : infer_identity(&s, prior, n == 1 ? c->model : model),
                    status ? NULL : infer_data(c, &s));
}

int art_run_infer(art_run **out, const art_alignment *a, const char *model,
                  const art_infer_settings *settings, art_messages *m)
{
    return run_infer(out, a, model, settings, (int)EVALUATION.repeats, m);
}

static bool fit_is_valid(const art_fit_settings *s)
{
    return s->threads >= 1 && density_fit_is_valid(s) &&
           schedule_is_valid(s->steps, s->rate, s->decay, s->decay_every) && s->batch >= 1 &&
           is_within(s->average, 0, 0.9999999) && s->average_from >= 0 &&
           is_within(s->cooling, 0, 1) && (s->counts == 0 || s->counts == 1);
}

int art_run_fit(art_run **out, const art_trees *t, const art_fit_settings *settings,
                art_messages *m)
{
    (void)m;
    *out = NULL;
    art_fit_settings s;
    art_fit_defaults(&s);
    if (settings)
        s = *settings;
    if (!fit_is_valid(&s))
        return ART_ERR_USAGE;
    const bool is_network = density_is_network(s.density, s.hidden, s.heads);
    fit_settings plan = {.seed = s.seed,
                         .trees = density_fit(&s),
                         .training = schedule(s.steps, s.rate, s.decay, s.decay_every),
                         .batch = s.batch,
                         .picks = is_network ? PICKS_THRESHOLD : PICKS_INDEPENDENT,
                         .counts = is_network && s.counts,
                         .stops = is_network && s.counts,
                         .report_every = FIT_REPORT_EVERY,
                         .truth_every = REPORT_EVERY};
    if (is_network) {
        plan.training.beta2 = FIT_BETA2;
        plan.training.nesterov = true;
        plan.training.clip = FIT_CLIP;
        plan.training.cooling = llround(s.cooling * (double)s.steps);
    }
    plan.training.average = s.average;
    plan.training.average_from = s.average_from;
    run_core *c = NULL;
    int status = core_create(&c, s.threads, s.seed);
    if (!status) {
        c->trees = &t->set;
        status = fit_job_create(&c->fit, &t->set, NULL, &plan, c->threads);
    }
    if (!status)
        c->work = fit_job_run(c->fit);
    json_t *identity = json_pack("{s:i, s:i, s:I, s:I, s:i, s:f, s:f, s:I, s:f, s:I}", "hidden",
                                 s.hidden, "heads", s.heads, "seed", (json_int_t)s.seed, "steps",
                                 (json_int_t)s.steps, "batch", s.batch, "rate", s.rate, "decay",
                                 s.decay, "decay_every", (json_int_t)s.decay_every, "average",
                                 s.average, "average_from", (json_int_t)s.average_from);
    if (identity)
        json_object_update_new(identity, json_pack("{s:f, s:b, s:i, s:i, s:f, s:b, s:f}", "cooling",
                                                   s.cooling, "counts", s.counts, "density",
                                                   s.density, "sbn_method", s.sbn_method,
                                                   "sbn_alpha", s.sbn_alpha, "sbn_zero_start",
                                                   s.sbn_zero_start != 0, "smooth", s.smooth));
    return core_end(out, c, status, "fit", identity, tree_set_identity(&t->set));
}

static bool parsimony_is_valid(const art_parsimony_settings *s)
{
    return s->threads >= 1 && density_is_network(s->density, s->hidden, s->heads) &&
           schedule_is_valid(s->steps, s->rate, s->decay, s->decay_every) && s->anneal_steps >= 0 &&
           s->particles >= 2;
}

int art_run_parsimony(art_run **out, const art_alignment *a, const art_parsimony_settings *settings,
                      art_messages *m)
{
    (void)m;
    *out = NULL;
    art_parsimony_settings s;
    art_parsimony_defaults(&s);
    if (settings)
        s = *settings;
    if (!parsimony_is_valid(&s))
        return ART_ERR_USAGE;
    parsimony_settings plan = {.seed = s.seed,
                               .gap = s.gap_is_state ? GAP_FIFTH : GAP_MISSING,
                               .trees = density_network(s.density, s.hidden, s.heads),
                               .training = schedule(s.steps, s.rate, s.decay, s.decay_every),
                               .particles = s.particles,
                               .estimator = ESTIMATOR_VIMCO_GEOMETRIC,
                               .report_every = REPORT_EVERY,
                               .evaluation = EVALUATION};
    plan.training.anneal_steps = s.anneal_steps;
    run_core *c = NULL;
    int status = core_create(&c, s.threads, s.seed);
    if (!status)
        status = set_data(c, a);
    if (!status)
        status = parsimony_job_create(&c->parsimony, &c->data, &plan, c->threads);
    if (!status)
        c->work = parsimony_job_run(c->parsimony);
    json_t *identity =
        json_pack("{s:b, s:i, s:i, s:i, s:I, s:I, s:I, s:i, s:f, s:f, s:I}", "gap_is_state",
                  s.gap_is_state != 0, "density", s.density, "hidden", s.hidden, "heads", s.heads,
                  "seed", (json_int_t)s.seed, "steps", (json_int_t)s.steps, "anneal",
                  (json_int_t)s.anneal_steps, "particles", s.particles, "rate", s.rate, "decay",
                  s.decay, "decay_every", (json_int_t)s.decay_every);
    return core_end(out, c, status, "parsimony", identity,
                    status ? NULL : dataset_identity(&c->data));
}

static bool search_is_valid(const art_search_settings *s)
{
    return s->threads >= 1 && s->hits >= 1 && s->starts >= 1 && s->rounds >= 0 &&
           s->max_trees >= 1 && s->max_trees <= SEARCH_TREES_MOST;
}

int art_run_search(art_run **out, const art_alignment *a, const art_search_settings *settings,
                   art_messages *m)
{
    (void)m;
    *out = NULL;
    art_search_settings s;
    art_search_defaults(&s);
    if (settings)
        s = *settings;
    if (!search_is_valid(&s))
        return ART_ERR_USAGE;
    const parsimony_search_settings plan = {.seed = s.seed,
                                            .hits = s.hits,
                                            .starts = s.starts,
                                            .rounds = s.rounds,
                                            .drop = SEARCH_DROP,
                                            .trees = (size_t)s.max_trees};
    run_core *c = NULL;
    int status = core_create(&c, s.threads, s.seed);
    if (!status)
        status = set_data(c, a);
    if (!status)
        status = search_job_create(&c->search, &c->data, s.gap_is_state ? GAP_FIFTH : GAP_MISSING,
                                   &plan, c->threads);
    if (!status)
        c->work = search_job_run(c->search);
    json_t *identity = json_pack("{s:b, s:I, s:i, s:i, s:i, s:i}", "gap_is_state",
                                 s.gap_is_state != 0, "seed", (json_int_t)s.seed, "hits", s.hits,
                                 "starts", s.starts, "ratchet", s.rounds, "max_trees", s.max_trees);
    return core_end(out, c, status, "search", identity, status ? NULL : dataset_identity(&c->data));
}

static bool is_done(const run *work)
{
    run_progress now;
    work->ops->progress(work, &now);
    return now.is_done;
}

int art_run_advance(art_run *r, art_messages *m)
{
    if (!r->core)
        return ART_ERR_USAGE;
    run *work = r->core->work;
    const double start = clock_seconds();
    work->seconds = r->core->seconds;
    work->time_limit = 0;
    r->core->is_under_way = true;
    int status = is_done(work) ? ART_OK : work->ops->advance(work, messages_diag(m));
    r->core->seconds += clock_seconds() - start;
    return status;
}

void art_run_look(const art_run *r, art_run_state *out)
{
    *out = (art_run_state){.stage = "done", .unit = "", .value = NAN, .is_done = 1};
    if (!r->core)
        return;
    run_progress now;
    r->core->work->ops->progress(r->core->work, &now);
    *out = (art_run_state){.stage = now.stage,
                           .unit = now.unit,
                           .done = now.done,
                           .total = now.total,
                           .value = now.value,
                           .is_done = now.is_done};
    snprintf(out->detail, sizeof out->detail, "%s", now.detail);
}

void art_run_finish_now(art_run *r)
{
    if (r->core)
        r->core->work->ops->finish_now(r->core->work);
}

int art_run_save(art_run *r, const char *path, art_messages *m)
{
    if (!r->core)
        return ART_ERR_USAGE;
    saved_state s = {0};
    char *identity = json_dumps(r->core->identity, JSON_COMPACT);
    int status = identity ? safetensors_set(&s.tensors, "run", identity) : ART_ERR_NOMEM;
    state_f64(&s, "run.seconds", &r->core->seconds);
    if (!status)
        status = r->core->work->ops->fields(r->core->work, &s);
    if (!status)
        status = checkpoint_write_file(&s, path, messages_diag(m));
    saved_state_free(&s);
    free(identity);
    return status;
}

int art_run_load(art_run *r, const char *path, art_messages *m)
{
    if (!r->core || r->core->is_under_way)
        return ART_ERR_USAGE;
    diag *d = messages_diag(m);
    saved_state s = {0};
    char text[1024] = "it does not say of which";
    int status = checkpoint_read_file(&s, path, d);
    const char *said = status ? NULL : safetensors_get(&s.tensors, "run");
    json_t *before = said ? json_loads(said, 0, NULL) : NULL;
    if (!status && (!before || identity_differs(text, sizeof text, before, r->core->identity)))
        status =
            diag_error(d, ART_ERR_MISMATCH, (diag_place){.file = path},
                       "the state of another run: %s -- give the same settings and data", text);
    if (!status) {
        r->core->is_under_way = true;
        state_f64(&s, "run.seconds", &r->core->seconds);
        status = r->core->work->ops->fields(r->core->work, &s);
    }
    if (!status)
        status = saved_state_end(&s);
    json_decref(before);
    saved_state_free(&s);
    return status;
}

/* The caller of art_run_drive. */
typedef struct caller {
    art_progress *progress;
    void *context;
    int64_t pieces;
    int action;
} caller;

/* Called before the first piece too, of which the caller is not told. */
static drive_action ask(void *context, const run_progress *now)
{
    caller *c = context;
    if (c->progress && c->pieces > 0 && c->action != ART_STOP) {
        const int action = c->progress(c->context, c->pieces, now->value);
        if (action == ART_FINISH_NOW || (action == ART_GO_ON && c->action == ART_FINISH_NOW))
            c->action = ART_FINISH_NOW;
        else
            c->action = action == ART_GO_ON ? ART_GO_ON : ART_STOP;
    }
    c->pieces++;
    return c->action == ART_GO_ON        ? DRIVE_GO_ON
           : c->action == ART_FINISH_NOW ? DRIVE_FINISH_NOW
                                         : DRIVE_STOP;
}

int art_run_drive(art_run *r, const art_drive_settings *settings, art_progress *progress,
                  void *context, art_messages *m)
{
    static const art_drive_settings NOTHING;
    const art_drive_settings *s = settings ? settings : &NOTHING;
    if (!r->core || !is_within(s->time_limit, 0, DBL_MAX) ||
        !is_within(s->checkpoint_every, 0, DBL_MAX))
        return ART_ERR_USAGE;
    if (r->core->is_under_way && is_done(r->core->work))
        return ART_OK;
    caller c = {progress, context, 0, ART_GO_ON};
    drive d;
    const drive_settings plan = {.prefix = s->prefix,
                                 .time_limit = s->time_limit,
                                 .checkpoint_every = s->checkpoint_every > 0 ? s->checkpoint_every
                                                                             : CHECKPOINT_EVERY,
                                 .is_under_way = r->core->is_under_way,
                                 .seconds_before = r->core->seconds};
    int status = drive_open(&d, &plan, r->core->identity, messages_diag(m));
    if (!status) {
        r->core->is_under_way = true;
        status = drive_run(&d, r->core->work, &(drive_observer){.context = &c, .look = ask},
                           messages_diag(m));
        r->core->seconds = drive_seconds(&d);
    }
    if (!status)
        status = drive_end(&d, messages_diag(m));
    drive_close(&d, messages_diag(m));
    return status;
}

/* Drives a run without files to its end and takes the model. */
static int drive_to_model(art_model **out, art_run *r, int status, art_progress *progress,
                          void *context, art_messages *m)
{
    art_result *found = NULL;
    *out = NULL;
    if (!status)
        status = art_run_drive(r, NULL, progress, context, m);
    if (!status)
        status = art_run_result(&found, r, m);
    if (!status)
        status = art_result_model(out, found);
    art_result_free(found);
    art_run_free(r);
    return status;
}

int art_infer(art_model **out, const art_alignment *a, const char *model,
              const art_infer_settings *settings, art_progress *progress, void *context,
              art_messages *m)
{
    art_run *r;
    int status = run_infer(&r, a, model, settings, 0, m);
    if (!status && r->core->average)
        status = diag_error(messages_diag(m), ART_ERR_UNSUPPORTED, (diag_place){0},
                            "an average over models leaves no trained model -- give one model, or "
                            "make a run, which has a result");
    return drive_to_model(out, r, status, progress, context, m);
}

int art_fit(art_model **out, const art_trees *t, const art_fit_settings *settings,
            art_progress *progress, void *context, art_messages *m)
{
    art_run *r;
    int status = art_run_fit(&r, t, settings, m);
    return drive_to_model(out, r, status, progress, context, m);
}
