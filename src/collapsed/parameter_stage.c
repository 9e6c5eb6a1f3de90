#include "collapsed/parameter_stage.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLIMBS = 3,      /* parameters of good trees differ little: enough to meet one */
    MANY_TAXA = 110, /* from here on one has to do */
};
static const double TOLERANCE = 1e-4; /* nats, of joint fits */

int parameter_stage_climbs(int n_taxa)
{
    return n_taxa > MANY_TAXA ? 1 : CLIMBS;
}

int parameter_stage_create(parameter_stage **out, branch_posterior *problem, const alignment *a,
                           const int *taxon, const search_settings *settings, uint64_t seed)
{
    *out = NULL;
    parameter_stage *s = mem_zeros(1, sizeof *s);
    if (!s)
        return ART_ERR_NOMEM;
    s->problem = problem;
    s->seed = seed;
    s->search = *settings;
    s->log_density = -HUGE_VAL;
    s->most_climbs = parameter_stage_climbs(problem->n_taxa);
    const size_t n = (size_t)problem->free.n_free;
    int status = search_worker_init(&s->worker, problem, a, taxon, &s->search);
    s->z = mem_zeros(n + n * n, sizeof *s->z);
    if (!status && !s->z)
        status = ART_ERR_NOMEM;
    if (!status)
        s->spread = s->z + n;
    if (!status)
        status = parameter_mode_create(&s->mode, problem);
    if (!status)
        status = fitted_tree_init(&s->tree, problem);
    if (!status)
        status = fitted_tree_init(&s->best, problem);
    if (status)
        parameter_stage_free(s);
    else
        *out = s;
    return status;
}

void parameter_stage_free(parameter_stage *s)
{
    if (!s)
        return;
    search_worker_free(&s->worker);
    parameter_mode_free(s->mode);
    fitted_tree_free(&s->tree);
    fitted_tree_free(&s->best);
    free(s->z);
    free(s);
}

/* The joint mode of s->tree from its lengths; if it is the best so far it becomes the centre. So
 * does the point that was reached when a stop was due, with the lengths that it set out from,
 * unless these are much longer ones. */
static int fit(parameter_stage *s, bool is_long)
{
    const size_t n = (size_t)s->problem->free.n_free;
    memcpy(s->z, s->problem->centre, n * sizeof *s->z);
    const int status = parameter_mode_find(s->mode, s->tree.decision, s->tree.length, s->z,
                                           s->problem->spread, TOLERANCE);
    if (status == ART_ERR_NUMERIC)
        return ART_OK;
    if ((status && (status != ART_ERR_STOPPED || is_long)) ||
        !(s->mode->log_density > s->log_density))
        return status;
    s->log_density = s->mode->log_density;
    s->is_long = is_long;
    fitted_tree_copy(&s->best, &s->tree, s->problem);
    branch_posterior_recentre(s->problem, s->mode->z, s->problem->spread);
    return status;
}

/* The same from its lengths and from much longer ones. */
static int fit_both(parameter_stage *s)
{
    int status = fit(s, false);
    for (int e = 0; e < s->problem->n_edges; e++)
        s->tree.length[e] *= PARAMETER_LONGER;
    return status ? status : fit(s, true);
}

/* The best tree, whose mode at z the solver has, becomes the reference. */
static int set_reference(parameter_stage *s, const double *z)
{
    const size_t n = (size_t)s->problem->free.n_free, edges = (size_t)s->problem->n_edges;
    double *mixed = mem_zeros(n * (edges + n), sizeof *mixed);
    if (!mixed)
        return ART_ERR_NOMEM;
    parameter_mode_second(s->mode, mixed, mixed + n * edges, z);
    const int status = parameter_reference_set(&s->problem->reference, s->best.decision, mixed);
    free(mixed);
    return status;
}

/* The covariance and the reference at the best mode; then the stage is done. */
static int finish(parameter_stage *s, const interrupt *stop)
{
    const size_t n = (size_t)s->problem->free.n_free;
    double *z = s->z, *spread = s->spread;
    s->is_done = true;
    if (interrupt_is_due(stop))
        return ART_OK;
    if (!isfinite(s->log_density))
        return ART_ERR_NUMERIC;
    memcpy(z, s->problem->centre, n * sizeof *z);
    memcpy(spread, s->problem->spread, n * n * sizeof *spread);
    int status =
        parameter_mode_find(s->mode, s->best.decision, s->best.length, z, spread, TOLERANCE);
    if (!status)
        status = parameter_mode_spread(s->mode, spread);
    if (!status)
        branch_posterior_recentre(s->problem, z, spread);
    if (!status)
        status = set_reference(s, z);
    return status == ART_ERR_STOPPED ? ART_OK : status;
}

/* One climb and the joint fits of its peak; the first is of a parsimony tree as it is. */
static int look_at_tree(parameter_stage *s, const interrupt *stop)
{
    const rng stream = rng_at(s->seed, RNG_START, 0, (uint32_t)s->climbs);
    if (!s->has_first) {
        search_parsimony(&s->worker, &s->tree, stream);
        s->has_first = true;
        return fit_both(s);
    }
    int64_t scored = 0;
    if (search_climb(&s->worker, &s->tree, stream, &scored, stop) == ART_ERR_STOPPED)
        return ART_ERR_STOPPED;
    s->climbs++;
    return s->tree.status ? ART_OK : fit_both(s);
}

int parameter_stage_advance(parameter_stage *s, const interrupt *stop)
{
    s->mode->solver->stop = stop;
    if ((s->has_first && s->climbs == s->most_climbs) || interrupt_is_due(stop))
        return finish(s, stop);
    const int status = look_at_tree(s, stop);
    return status == ART_ERR_STOPPED ? finish(s, stop) : status;
}

void parameter_centre_fields(branch_posterior *p, bool is_known, saved_state *s)
{
    const size_t n = (size_t)p->free.n_free;
    if (!n || !is_known)
        return;
    state_f64_array(s, "parameters.centre", p->centre, 1, n);
    state_f64_array(s, "parameters.spread", p->spread, n, n);
    if (state_loaded(s))
        branch_posterior_recentre(p, p->centre, p->spread);
    parameter_reference_fields(&p->reference, s);
}
