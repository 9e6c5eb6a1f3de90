#include "jobs/model_screen.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "branch/topology_evidence.h"
#include "train/particles.h"
#include "tree/saved_trees.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An error of about 0.05 nats: models that are compared by it are nats apart. */
enum { DRAWS = 300 };
static const double TOLERANCE = 1e-4; /* nats, of joint modes */

int model_screen_create(model_screen **out, const dataset *data, const free_model *model,
                        int n_models, const infer_settings *settings)
{
    *out = NULL;
    model_screen *s = mem_zeros(1, sizeof *s);
    if (!s)
        return ART_ERR_NOMEM;
    s->data = data;
    s->model = model;
    s->n_models = n_models;
    s->prior = settings->prior;
    s->search = settings->collapsed.search;
    s->seed = settings->seed;
    for (int i = 1; i < n_models; i++)
        if (model[i].n_free > model[s->richest].n_free)
            s->richest = i;
    const size_t n = (size_t)data->alignment.n_taxa;
    const free_model *richest = &model[s->richest];
    s->decision = mem_zeros(n, sizeof *s->decision);
    s->length = mem_zeros(2 * n, sizeof *s->length);
    s->value = mem_zeros((size_t)n_models, sizeof *s->value);
    int status = s->decision && s->length && s->value ? ART_OK : ART_ERR_NOMEM;
    for (int i = 0; i < n_models && !status; i++)
        s->value[i] = -HUGE_VAL;
    if (!status)
        status =
            branch_posterior_init_free(&s->problem, &data->alignment, data->row, richest, s->prior);
    if (!status && richest->n_free)
        status = parameter_stage_create(&s->stage, &s->problem, &data->alignment, data->row,
                                        &s->search, s->seed);
    if (status)
        model_screen_free(s);
    else
        *out = s;
    return status;
}

void model_screen_free(model_screen *s)
{
    if (!s)
        return;
    parameter_stage_free(s->stage);
    branch_posterior_free(&s->problem);
    free(s->decision);
    free(s->length);
    free(s->value);
    free(s);
}

static void keep_tree(model_screen *s, const fitted_tree *t)
{
    const size_t n = (size_t)s->problem.n_taxa, edges = (size_t)s->problem.n_edges;
    memcpy(s->decision, t->decision, (n - 3) * sizeof *s->decision);
    memcpy(s->length, t->length, edges * sizeof *s->length);
    s->has_tree = true;
}

/* The best of some climbs, where nothing is estimated. */
static int climb_trees(model_screen *s, const interrupt *stop)
{
    search_worker worker = {0};
    fitted_tree peak = {0};
    double best = -HUGE_VAL;
    int64_t scored = 0;
    int status =
        search_worker_init(&worker, &s->problem, &s->data->alignment, s->data->row, &s->search);
    if (!status)
        status = fitted_tree_init(&peak, &s->problem);
    for (int i = 0; i < parameter_stage_climbs(s->problem.n_taxa) && !status; i++) {
        const rng stream = rng_at(s->seed, RNG_START, 0, (uint32_t)i);
        if (search_climb(&worker, &peak, stream, &scored, stop) == ART_ERR_STOPPED) {
            if (s->has_tree)
                break;
            search_parsimony(&worker, &peak, stream);
        }
        if (!peak.status && peak.laplace > best) {
            best = peak.laplace;
            keep_tree(s, &peak);
        }
    }
    if (!status && !s->has_tree)
        status = ART_ERR_NUMERIC;
    fitted_tree_free(&peak);
    search_worker_free(&worker);
    return status;
}

static int look_for_tree(model_screen *s, const interrupt *stop)
{
    if (!s->stage)
        return climb_trees(s, stop);
    int status = parameter_stage_advance(s->stage, stop);
    if (status || !s->stage->is_done)
        return status;
    keep_tree(s, &s->stage->best);
    parameter_stage_free(s->stage);
    s->stage = NULL;
    return ART_OK;
}

/* The joint mode from `length` times a factor, if it is better than the best so far. */
static int try_mode(parameter_mode *mode, const branch_posterior *p, const model_screen *s,
                    double factor, double *length, double *z, double *best)
{
    const size_t n = (size_t)p->free.n_free;
    double own[FREE_MOST];
    double *trial = mem_zeros((size_t)p->n_edges, sizeof *trial);
    if (!trial)
        return ART_ERR_NOMEM;
    memcpy(own, p->centre, n * sizeof *own);
    for (int e = 0; e < p->n_edges; e++)
        trial[e] = factor * s->length[e];
    int status = parameter_mode_find(mode, s->decision, trial, own, p->spread, TOLERANCE);
    if (!status && mode->log_density > *best) {
        *best = mode->log_density;
        memcpy(z, own, n * sizeof *own);
        memcpy(length, trial, (size_t)p->n_edges * sizeof *length);
    }
    free(trial);
    return status == ART_ERR_NUMERIC ? ART_OK : status;
}

/* The parameters of p become those of the joint mode, length [E] its lengths. */
static int find_centre(branch_posterior *p, const model_screen *s, double *length,
                       const interrupt *stop)
{
    const size_t n = (size_t)p->free.n_free; /* of one block */
    double z[FREE_MOST], spread[FREE_MOST * FREE_MOST], best = -HUGE_VAL;
    parameter_mode *mode = NULL;
    int status = parameter_mode_create(&mode, p);
    if (!status)
        mode->solver->stop = stop;
    if (!status)
        status = try_mode(mode, p, s, 1, length, z, &best);
    if (!status)
        status = try_mode(mode, p, s, PARAMETER_LONGER, length, z, &best);
    if (!status && !isfinite(best))
        status = ART_ERR_NUMERIC;
    memcpy(spread, p->spread, n * n * sizeof *spread);
    if (!status)
        status = parameter_mode_find(mode, s->decision, length, z, spread, TOLERANCE);
    if (!status)
        status = parameter_mode_spread(mode, spread);
    if (!status)
        branch_posterior_recentre(p, z, spread);
    parameter_mode_free(mode);
    return status;
}

static int integrate(double *value, const branch_posterior *p, const model_screen *s,
                     double *length, const interrupt *stop)
{
    topology_evidence *t = NULL;
    log_mean mean = {0};
    int status = topology_evidence_create(&t, p);
    if (!status)
        t->solver->stop = stop;
    if (!status)
        status = topology_evidence_mode(t, s->decision, length, TOLERANCE);
    if (!status)
        status = topology_evidence_proposal(t, EVIDENCE_SKEWED);
    if (!status)
        status = topology_evidence_sample(t, &mean, (length_draws){0}, DRAWS,
                                          rng_at(s->seed, RNG_TREE_LENGTHS, 0, (uint32_t)s->next));
    if (!status)
        *value = log_mean_value(&mean) - log_topologies(p->n_taxa);
    topology_evidence_free(t);
    return status;
}

static int judge(model_screen *s, const interrupt *stop)
{
    const dataset *data = s->data;
    const free_model *model = &s->model[s->next];
    branch_posterior p = {0};
    double *length = mem_zeros((size_t)s->problem.n_edges, sizeof *length);
    if (!length)
        return ART_ERR_NOMEM;
    memcpy(length, s->length, (size_t)s->problem.n_edges * sizeof *length);
    int status = branch_posterior_init_free(&p, &data->alignment, data->row, model, s->prior);
    if (!status && model->n_free)
        status = find_centre(&p, s, length, stop);
    if (!status)
        status = integrate(&s->value[s->next], &p, s, length, stop);
    branch_posterior_free(&p);
    free(length);
    return status == ART_ERR_NUMERIC ? ART_OK : status; /* it keeps its -inf */
}

int model_screen_advance(model_screen *s, const interrupt *stop)
{
    int status = s->has_tree ? ART_OK : look_for_tree(s, stop);
    if (status || !s->has_tree)
        return status;
    status = judge(s, s->next > 0 ? stop : NULL); /* one model there must be */
    if (status == ART_ERR_STOPPED) {
        s->is_done = true;
        return ART_OK;
    }
    s->next++;
    s->is_done = s->next == s->n_models;
    return status;
}

int model_screen_fields(model_screen *s, saved_state *state)
{
    state_bool(state, "has_tree", &s->has_tree);
    state_bool(state, "is_done", &s->is_done);
    state_int_in(state, "next", &s->next, 0, s->n_models);
    state_trees(state, "tree", s->decision, 1, s->problem.n_taxa);
    state_f64_array(state, "length", s->length, 1, (size_t)s->problem.n_edges);
    state_log_array(state, "value", s->value, (size_t)s->n_models, 1);
    if (state_loaded(state) && s->has_tree) {
        parameter_stage_free(s->stage);
        s->stage = NULL;
    }
    return state->status;
}
