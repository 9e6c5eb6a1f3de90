#include "branch/parameter_mode.h"

#include "artreeformer.h"
#include "base/cholesky.h"
#include "base/mem.h"
#include "branch/length_scale.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_STEPS = 60,  /* of the search: BFGS in ten dimensions is done in twenty or thirty .. */
    STEPS_EACH = 6,   /* .. and for each parameter, where there are more */
    MOST_HALVES = 12, /* of a step that does not lead uphill */
};
static const double LONGEST_STEP = 1;  /* of one coordinate: a factor of e, or as much in a logit */
static const double DIFFERENCE = 0.02; /* of a coordinate, for second derivatives of phi */
/* The same for those of f: the gradient is exact, so that the square of this is the error. */
static const double FINE_DIFFERENCE = 1e-3;

/* Numbers of the arrays that depend on how many lengths and parameters there are. */
static size_t memory_size(const branch_posterior *p)
{
    const size_t edges = (size_t)p->n_edges, n = (size_t)p->free.n_free;
    return 3 * edges + 2 * n * n + 7 * n;
}

static void lay_out(parameter_mode *q, double *memory)
{
    const size_t edges = (size_t)q->view.n_edges, n = (size_t)q->view.free.n_free;
    q->by_length = memory;
    q->start = q->by_length + edges;
    q->other = q->start + edges;
    q->inverse = q->other + edges;
    q->scratch = q->inverse + n * n;
    q->z = q->scratch + n * n;
    q->slope = q->z + n;
    q->step = q->slope + n;
    q->from = q->step + n;
    q->from_slope = q->from + n;
    q->trial = q->from_slope + n;
    q->change = q->trial + n;
}

int parameter_mode_create(parameter_mode **out, const branch_posterior *p)
{
    *out = NULL;
    parameter_mode *q = mem_zeros(1, sizeof *q);
    if (!q)
        return ART_ERR_NOMEM;
    double *memory;
    int status;
    if ((status = branch_posterior_view(&q->view, p)) ||
        (status = branch_solver_create(&q->solver, &q->view)) ||
        (status = parameter_slopes_create(&q->slopes, &q->view)))
        goto out;
    memory = mem_zeros(memory_size(p), sizeof *memory);
    status = memory ? ART_OK : ART_ERR_NOMEM;
    if (status)
        goto out;
    lay_out(q, memory);
    *out = q;
    return ART_OK;
out:
    parameter_mode_free(q);
    return status;
}

void parameter_mode_free(parameter_mode *q)
{
    if (!q)
        return;
    branch_solver_free(q->solver);
    parameter_slopes_free(q->slopes);
    branch_posterior_view_free(&q->view);
    free(q->by_length);
    free(q);
}

size_t parameter_mode_memory(const branch_posterior *p)
{
    return sizeof(parameter_mode) + branch_solver_memory(p) + parameter_slopes_memory(p) +
           memory_size(p) * sizeof(double);
}

void parameter_mode_gradient(parameter_mode *q, double *by_x, double *by_z, const double *z)
{
    const branch_posterior *p = &q->view;
    const branch_solver *s = q->solver;
    branch_solver_refresh(q->solver);
    const block_slopes *by = parameter_slopes_compute(q->slopes, q->by_length, s);
    const double shared = branch_prior_total_first(p->prior, branch_solver_length(s), p->n_edges);
    for (int e = 0; by_x && e < p->n_edges; e++) {
        const int32_t v = edge_node(e, p->n_taxa);
        const branch_place place = branch_place_of(topology_is_external(&s->tree, v));
        const double x = s->branch[v].cbrt_length, b = length_scale_length(x);
        by_x[e] = length_scale_first(x, q->by_length[e] + branch_prior_first(p->prior, b, place) +
                                            shared);
    }
    block_parameters_gradient(by_z, &p->free, z, by);
}

/* Other parameters, with the lengths that the solver has. */
static void move(parameter_mode *q, const double *z)
{
    branch_solver *s = q->solver;
    branch_posterior_move(&q->view, z);
    for (int e = 0; e < q->view.n_edges; e++)
        q->start[e] = s->branch[edge_node(e, q->view.n_taxa)].cbrt_length;
    branch_solver_move(s, q->start); /* the transitions of the new model */
}

int parameter_mode_second(parameter_mode *q, double *mixed, double *own, const double *z)
{
    const int n = q->view.free.n_free, edges = q->view.n_edges;
    double *at = q->trial, *up = q->from, *down = q->from_slope;
    memcpy(at, z, (size_t)n * sizeof *z);
    for (int k = 0; k < n; k++, mixed += edges) {
        if (interrupt_is_due(q->solver->stop))
            return ART_ERR_STOPPED;
        at[k] = z[k] + FINE_DIFFERENCE;
        move(q, at);
        parameter_mode_gradient(q, mixed, up, at);
        at[k] = z[k] - FINE_DIFFERENCE;
        move(q, at);
        parameter_mode_gradient(q, q->other, down, at);
        at[k] = z[k];
        for (int e = 0; e < edges; e++)
            mixed[e] = (mixed[e] - q->other[e]) / (2 * FINE_DIFFERENCE);
        for (int i = 0; i < n; i++)
            own[k * n + i] = (up[i] - down[i]) / (2 * FINE_DIFFERENCE);
    }
    return ART_OK;
}

/* phi and its gradient at z, the lengths fitted from those that the solver has. */
static int evaluate(parameter_mode *q, const double *z)
{
    branch_solver *s = q->solver;
    move(q, z);
    int status = branch_solver_mode(s, q->tolerance);
    q->evaluations++;
    if (status)
        return status;
    q->log_density = s->log_density + block_parameters_log_prior(&q->view.free, z);
    parameter_mode_gradient(q, NULL, q->slope, z);
    memcpy(q->z, z, (size_t)q->view.free.n_free * sizeof *z);
    return isfinite(q->log_density) ? ART_OK : ART_ERR_NUMERIC;
}

/* The inverse Hessian after a step with the change y of the slopes downhill (Broyden, Fletcher,
 * Goldfarb, Shanno); unchanged where phi is not concave along the step. turned [n] is scratch. */
static void update(double *inverse, const double *step, const double *y, double *turned, int n)
{
    double along = 0, spread = 0;
    for (int i = 0; i < n; i++) {
        turned[i] = 0;
        for (int j = 0; j < n; j++)
            turned[i] += inverse[i * n + j] * y[j];
        along += step[i] * y[i];
        spread += y[i] * turned[i];
    }
    if (!(along > 1e-10 * sqrt(spread) * fabs(along) && along > 0))
        return;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            inverse[i * n + j] += (1 + spread / along) * step[i] * step[j] / along -
                                  (turned[i] * step[j] + step[i] * turned[j]) / along;
}

/* step = inverse slope, no coordinate longer than LONGEST_STEP; returns the gain that it promises,
 * slope inverse slope / 2. */
static double newton_step(double *step, const double *inverse, const double *slope, int n)
{
    double gain = 0, longest = 0;
    for (int i = 0; i < n; i++) {
        step[i] = 0;
        for (int j = 0; j < n; j++)
            step[i] += inverse[i * n + j] * slope[j];
        gain += slope[i] * step[i] / 2;
        longest = fmax(longest, fabs(step[i]));
    }
    for (int i = 0; i < n && longest > LONGEST_STEP; i++)
        step[i] *= LONGEST_STEP / longest;
    return gain;
}

/* Goes from z along q->step, or a half, a quarter .. of it, uphill. */
static int go_uphill(parameter_mode *q, int n)
{
    const size_t size = (size_t)n * sizeof *q->z;
    const double before = q->log_density;
    double part = 1;
    memcpy(q->from, q->z, size);
    memcpy(q->from_slope, q->slope, size);
    for (int i = 0; i < MOST_HALVES; i++, part /= 2) {
        for (int k = 0; k < n; k++)
            q->trial[k] = q->from[k] + part * q->step[k];
        int status = evaluate(q, q->trial);
        if (!status && q->log_density >= before)
            return ART_OK;
        if (status == ART_ERR_STOPPED)
            break;
    }
    const int status = evaluate(q, q->from); /* nowhere uphill: back to where it was */
    memcpy(q->slope, q->from_slope, size);
    memcpy(q->z, q->from, size);
    q->log_density = status ? before : q->log_density;
    return status;
}

int parameter_mode_improve(parameter_mode *q, const double *z, const double *covariance,
                           double tolerance)
{
    const int n = q->view.free.n_free;
    const int most_steps = STEPS_EACH * n > MOST_STEPS ? STEPS_EACH * n : MOST_STEPS;
    memcpy(q->inverse, covariance, (size_t)n * (size_t)n * sizeof *covariance);
    q->tolerance = tolerance;
    q->log_density = -HUGE_VAL;
    int status = evaluate(q, z);
    for (int i = 0; i < most_steps && !status; i++) {
        if (newton_step(q->step, q->inverse, q->slope, n) < tolerance)
            break;
        const double before = q->log_density;
        status = go_uphill(q, n);
        for (int k = 0; k < n; k++) {
            q->step[k] = q->z[k] - q->from[k];
            q->change[k] = q->from_slope[k] - q->slope[k];
        }
        if (!status && q->log_density - before <= 0)
            break; /* no step leads uphill: rounding, or the tolerance of the lengths */
        update(q->inverse, q->step, q->change, q->trial, n);
    }
    return status;
}

int parameter_mode_find(parameter_mode *q, const int32_t *decision, double *length, double *z,
                        const double *covariance, double tolerance)
{
    branch_posterior_move(&q->view, z);
    branch_solver_set(q->solver, decision, length);
    int status = parameter_mode_improve(q, z, covariance, tolerance);
    if (status)
        return status;
    branch_solver_lengths(length, q->solver);
    memcpy(z, q->z, (size_t)q->view.free.n_free * sizeof *z);
    return ART_OK;
}

int parameter_mode_spread(parameter_mode *q, double *covariance)
{
    const int n = q->view.free.n_free;
    const double usual = q->tolerance;
    double *z = q->trial, *precision = q->inverse, *up = q->from;
    memcpy(z, q->z, (size_t)n * sizeof *z);
    q->tolerance = 1e-9; /* slopes are compared: the lengths must not be off */
    int status = ART_OK;
    for (int k = 0; k < n && !status; k++) {
        const double at = z[k];
        z[k] = at + DIFFERENCE;
        status = evaluate(q, z);
        memcpy(up, q->slope, (size_t)n * sizeof *up);
        z[k] = at - DIFFERENCE;
        if (!status)
            status = evaluate(q, z);
        for (int i = 0; i < n; i++)
            precision[k * n + i] = -(up[i] - q->slope[i]) / (2 * DIFFERENCE);
        z[k] = at;
    }
    if (!status)
        status = evaluate(q, z);
    q->tolerance = usual;
    if (status)
        return status;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            precision[i * n + j] = precision[j * n + i] =
                (precision[i * n + j] + precision[j * n + i]) / 2;
    if (cholesky_invert(covariance, precision, q->scratch, n))
        return ART_OK;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            covariance[i * n + j] = i != j                     ? 0
                                    : precision[i * n + i] > 0 ? 1 / precision[i * n + i]
                                                               : PARAMETER_ROUGH;
    return ART_OK;
}
