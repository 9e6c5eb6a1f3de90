#include "branch/parameter_likelihood.h"

#include "artreeformer.h"
#include "base/cholesky.h"
#include "base/mem.h"
#include "branch/length_scale.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_STEPS = 200,       /* of the search in z: ten dimensions need twenty or thirty .. */
    STEPS_EACH = 20,        /* .. and for each parameter, where there are more */
    MOST_LOOKS = 3,         /* at the second derivatives, before a search ends */
    MOST_TRIALS = 20,       /* of parts of a step that do not lead uphill */
    SLOW = 8,               /* sweeps after which to look where they lead */
    MOST_LENGTH_STEPS = 40, /* on one branch at a time */
};
static const double PRECISE = 1e-6;      /* a tolerance for which it is worth looking */
static const double DIFFERENCE = 1e-3;   /* of u, for second derivatives */
static const double FLAT = 1000;         /* times a promise made before anything is learned */
static const double LONGEST_STEP = 1;    /* of one coordinate */
static const double SMALL_STEP = 0.1;    /* share of y: a Newton step of less is the last */
static const double LENGTH_SHARE = 0.01; /* tolerance of the lengths, as a share of that of z */
static const double SUFFICIENT = 1e-4;   /* share of its promise that a step must keep */

/* The arrays; returns how many doubles they take. */
static size_t lay_out(parameter_likelihood *q, double *memory)
{
    const size_t edges = (size_t)q->view.n_edges, n = (size_t)q->view.free.n_free;
    const struct {
        double **part;
        size_t size;
    } table[] = {
        {&q->by_length, edges},
        {&q->start, edges},
        {&q->earlier, edges},
        {&q->z, n},
        {&q->u, n},
        {&q->slope, n},
        {&q->low, n},
        {&q->high, n},
        {&q->inverse, n * n},
        {&q->second, n * n},
        {&q->scratch, n * n},
        {&q->step, n},
        {&q->from, n},
        {&q->from_slope, n},
        {&q->trial, n},
        {&q->trial_z, n},
        {&q->change, n},
    };
    size_t total = 0;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (memory)
            *table[i].part = memory + total;
        total += table[i].size;
    }
    return total;
}

int parameter_likelihood_create(parameter_likelihood **out, const branch_posterior *p)
{
    *out = NULL;
    parameter_likelihood *q = mem_zeros(1, sizeof *q);
    if (!q)
        return ART_ERR_NOMEM;
    const size_t n = (size_t)p->free.n_free;
    double *memory;
    int status;
    if ((status = branch_posterior_view(&q->view, p)) ||
        (status = branch_solver_create(&q->solver, &q->view)) ||
        (status = parameter_slopes_create(&q->slopes, &q->view)))
        goto out;
    memory = mem_zeros(lay_out(q, NULL), sizeof *memory);
    q->is_root = mem_zeros(2 * n + 1, sizeof *q->is_root);
    status = memory && q->is_root ? ART_OK : ART_ERR_NOMEM;
    if (status) {
        free(memory);
        goto out;
    }
    q->is_held = q->is_root + n;
    lay_out(q, memory);
    block_parameters_bounds(q->low, q->high, &p->free);
    for (int k = 0; k < p->free.n_free; k++)
        if ((q->is_root[k] = q->low[k] > 0)) {
            q->low[k] = pow(q->low[k], 1.5);
            q->high[k] = pow(q->high[k], 1.5);
        }
    parameter_likelihood_forget(q);
    *out = q;
    return ART_OK;
out:
    parameter_likelihood_free(q);
    return status;
}

void parameter_likelihood_free(parameter_likelihood *q)
{
    if (!q)
        return;
    branch_solver_free(q->solver);
    parameter_slopes_free(q->slopes);
    branch_posterior_view_free(&q->view);
    free(q->by_length);
    free(q->is_root);
    free(q);
}

static double within(double x, double low, double high)
{
    return fmin(fmax(x, low), high);
}

/* Newton steps in y on the branch above v, whose two partials are current. A maximum lies between
 * the last point where log L rose and the last where it fell; a step that leaves these halves the
 * interval instead. Returns the gain predicted for the first step; 0 at an edge that the branch
 * would leave. */
static double improve(branch_solver *s, int32_t v, double enough)
{
    const double shortest = sqrt(LIKELIHOOD_SHORTEST), longest = sqrt(LIKELIHOOD_LONGEST);
    double low = shortest, high = longest, predicted = 0;
    double y = within(sqrt(length_scale_length(s->branch[v].cbrt_length)), low, high);
    branch_edge_set(&s->edge, &s->down[v], branch_outside(s, v));
    for (int i = 0; i < MOST_LENGTH_STEPS; i++) {
        double l[2];
        branch_edge_slopes(l, &s->edge, length_scale_x(y * y));
        const double slope = 2 * y * l[0], second = 2 * l[0] + 4 * y * y * l[1];
        if ((y <= shortest && slope <= 0) || (y >= longest && slope >= 0) || slope == 0)
            break;
        if (slope > 0)
            low = y;
        else
            high = y;
        double next = second < 0 ? y - slope / second : slope > 0 ? 4 * y : y / 4;
        next = within(next, fmax(y / 16, shortest), fmin(4 * y, longest));
        if ((next <= low && low > shortest) || (next >= high && high < longest))
            next = sqrt(low * high);
        const double gain = fabs(slope * (next - y)) / 2;
        if (i == 0)
            predicted = gain;
        const int is_last = second < 0 && (fabs(next - y) <= SMALL_STEP * y || gain < enough);
        y = next;
        if (is_last)
            break;
    }
    branch_solver_set_branch(s, v, length_scale_x(y * y));
    return predicted;
}

/* Every branch once; returns the gain predicted. */
static double sweep(branch_solver *s, double enough)
{
    const branch_posterior *p = s->problem;
    double gain = 0;
    for (int i = 0; i < 2 * p->n_edges; i++) {
        const int32_t v = s->tour[i];
        if (v >= 0) {
            if (s->tree.parent[v] != 0)
                branch_solver_join(s, v, 1);
            gain += improve(s, v, enough);
        } else if (~v >= p->n_taxa) {
            branch_solver_join(s, ~v, 0);
        }
    }
    return gain;
}

/* y of branch e. */
static double root_length(const parameter_likelihood *q, int e)
{
    return sqrt(length_scale_length(q->solver->branch[edge_node(e, q->view.n_taxa)].cbrt_length));
}

/* Branches that can stand for each other, such as short neighbours, move together, a little in each
 * sweep: goes on in the direction of the last ones, from q->earlier, twice as far each time, while
 * that leads uphill. */
static void go_on(parameter_likelihood *q)
{
    branch_solver *s = q->solver;
    const int edges = q->view.n_edges;
    double best = branch_solver_value(s), far = 0;
    for (double next = 1; next < 1e4; next *= 2) {
        for (int e = 0; e < edges; e++) {
            const double y = root_length(q, e), step = (next - far) * q->earlier[e];
            const double to = within(y + step, sqrt(LIKELIHOOD_SHORTEST), sqrt(LIKELIHOOD_LONGEST));
            q->by_length[e] = s->branch[edge_node(e, q->view.n_taxa)].cbrt_length;
            branch_solver_set_branch(s, edge_node(e, q->view.n_taxa), length_scale_x(to * to));
        }
        const double value = branch_solver_value(s);
        if (!(value > best)) {
            branch_solver_move(s, q->by_length); /* back */
            branch_solver_value(s);
            return;
        }
        best = value;
        far = next;
    }
}

/* Sweeps until they promise less than the tolerance. */
static void fit_lengths(parameter_likelihood *q)
{
    const branch_posterior *p = &q->view;
    const double enough = q->tolerance / p->n_edges / 10;
    double gain = HUGE_VAL, left = HUGE_VAL;
    for (int i = 0; i < p->set.sweeps && left >= q->tolerance; i++) {
        const double before = gain;
        const int is_slow = i % SLOW == SLOW - 1;
        for (int e = 0; e < p->n_edges && is_slow; e++)
            q->earlier[e] = -root_length(q, e);
        gain = sweep(q->solver, enough);
        left = gain / (1 - fmin(gain / before, 0.99)); /* of a geometric series */
        for (int e = 0; e < p->n_edges && is_slow; e++)
            q->earlier[e] += root_length(q, e);
        if (is_slow && left >= q->tolerance)
            go_on(q);
    }
}

/* phi and its gradient at u, the lengths fitted from q->start. */
static int evaluate(parameter_likelihood *q, const double *u)
{
    branch_solver *s = q->solver;
    const branch_posterior *p = &q->view;
    double *z = q->trial_z;
    const int32_t top = s->tree.child[0][0];
    for (int k = 0; k < p->free.n_free; k++)
        z[k] = q->is_root[k] ? cbrt(u[k] * u[k]) : u[k];
    branch_posterior_move(&q->view, z);
    branch_solver_move(s, q->start); /* with the transitions of the new model */
    if (!isfinite(branch_solver_value(s)))
        return ART_ERR_NUMERIC;
    fit_lengths(q);
    branch_solver_refresh(s);
    branch_edge_set(&s->edge, &s->down[top], branch_outside(s, top));
    q->log_likelihood = branch_edge_log_likelihood(&s->edge, s->branch[top].cbrt_length);
    q->evaluations++;
    block_parameters_likelihood_gradient(q->slope, &p->free, z,
                                         parameter_slopes_compute(q->slopes, q->by_length, s));
    for (int k = 0; k < p->free.n_free; k++) {
        q->slope[k] *= q->is_root[k] ? 2 / (3 * sqrt(z[k])) : 1; /* dz/du */
        q->z[k] = z[k];
        q->u[k] = u[k];
    }
    return isfinite(q->log_likelihood) ? ART_OK : ART_ERR_NUMERIC;
}

/* The lengths of the solver are where the next evaluation starts. */
static void keep_lengths(parameter_likelihood *q)
{
    for (int e = 0; e < q->view.n_edges; e++)
        q->start[e] = q->solver->branch[edge_node(e, q->view.n_taxa)].cbrt_length;
}

void parameter_likelihood_forget(parameter_likelihood *q)
{
    const int n = q->view.free.n_free;
    for (int i = 0; i < n * n; i++)
        q->inverse[i] = i % (n + 1) ? 0 : PARAMETER_ROUGH;
    q->is_rough = 1;
}

/* What a step teaches, with the change y of the slopes downhill (Broyden, Fletcher, Goldfarb,
 * Shanno); nothing where phi is not concave along it. The first one also shows the size of the
 * inverse, step y / y y. These are q->step and q->change. */
static void learn(parameter_likelihood *q)
{
    const double *step = q->step, *y = q->change;
    const int n = q->view.free.n_free;
    double *inverse = q->inverse, *turned = q->trial, along = 0, square = 0, spread = 0;
    for (int i = 0; i < n; i++) {
        along += step[i] * y[i];
        square += y[i] * y[i];
    }
    if (!(along > 0 && isfinite(square / along)))
        return;
    for (int i = 0; i < n && q->is_rough; i++)
        inverse[i * (n + 1)] = along / square;
    q->is_rough = 0;
    for (int i = 0; i < n; i++) {
        turned[i] = 0;
        for (int j = 0; j < n; j++)
            turned[i] += inverse[i * n + j] * y[j];
        spread += y[i] * turned[i];
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            inverse[i * n + j] += (1 + spread / along) * step[i] * step[j] / along -
                                  (turned[i] * step[j] + step[i] * turned[j]) / along;
}

/* q->step = inverse slope over the coordinates that are not held at an edge, none longer than
 * LONGEST_STEP and none beyond its edges; returns the gain that it promises, slope step / 2. */
static double propose(parameter_likelihood *q)
{
    double *step = q->step;
    const int n = q->view.free.n_free;
    double gain = 0, longest = 0;
    int *is_held = q->is_held;
    for (int i = 0; i < n; i++)
        is_held[i] = q->slope[i] > 0 ? q->u[i] >= q->high[i] : q->u[i] <= q->low[i];
    for (int i = 0; i < n; i++) {
        step[i] = 0;
        for (int j = 0; j < n && !is_held[i]; j++)
            step[i] += is_held[j] ? 0 : q->inverse[i * n + j] * q->slope[j];
        longest = fmax(longest, fabs(step[i]));
    }
    for (int i = 0; i < n; i++) {
        step[i] *= longest > LONGEST_STEP ? LONGEST_STEP / longest : 1;
        step[i] = within(q->u[i] + step[i], q->low[i], q->high[i]) - q->u[i];
        gain += q->slope[i] * step[i] / 2;
    }
    return gain;
}

/* Where it is, with the lengths, is where trials set out. */
static void set_out(parameter_likelihood *q)
{
    const size_t size = (size_t)q->view.free.n_free * sizeof *q->u;
    memcpy(q->from, q->u, size);
    memcpy(q->from_slope, q->slope, size);
    keep_lengths(q);
}

/* Goes from q->u a part of q->step, uphill: all of it, or as much as a parabola through what is
 * known has its top at. *gained is what that brought, 0 if nothing of it leads uphill. promise is
 * half the slope along the step. */
static int go_uphill(parameter_likelihood *q, double *gained, double promise)
{
    const int n = q->view.free.n_free;
    const double before = q->log_likelihood;
    const double *step = q->step;
    double *from = q->from, *u = q->trial, part = 1;
    set_out(q);
    for (int i = 0; i < MOST_TRIALS; i++) {
        for (int k = 0; k < n; k++)
            u[k] = within(from[k] + part * step[k], q->low[k], q->high[k]);
        const int status = evaluate(q, u);
        *gained = q->log_likelihood - before;
        if (!status && *gained >= SUFFICIENT * part * promise)
            return ART_OK;
        const double top = promise * part * part / (2 * promise * part - *gained);
        part = status ? part / 10 : within(top, part / 10, part / 2);
    }
    *gained = 0;
    return evaluate(q, from);
}

/* Near 0 the slope by the square root u of a ratio vanishes also if phi rises with the ratio, by
 * slope / 2u: tries larger ones. Returns whether that led uphill. */
static int leave_edges(parameter_likelihood *q, double tolerance)
{
    static const double away[] = {0.1, 0.03, 0.01};
    const double before = q->log_likelihood;
    const int n = q->view.free.n_free;
    double *from = q->from, *u = q->trial;
    set_out(q);
    for (int k = 0; k < n; k++)
        for (int i = 0; i < 3 && q->is_root[k]; i++) {
            const double by_ratio = q->slope[k] / (2 * from[k]);
            if (from[k] >= away[i] || by_ratio * away[i] * away[i] < tolerance)
                continue;
            memcpy(u, from, (size_t)n * sizeof *u);
            u[k] = away[i];
            if (!evaluate(q, u) && q->log_likelihood > before + tolerance)
                return 1;
            evaluate(q, from);
        }
    return 0;
}

/* Where phi is flat in one direction and steep in another, what steps have taught may promise too
 * little: takes the second derivatives from differences of slopes. Returns whether there is more to
 * gain than the tolerance. */
static int look_again(parameter_likelihood *q, double tolerance)
{
    const int n = q->view.free.n_free;
    double *from = q->from, *u = q->trial, *slope = q->from_slope, *second = q->second;
    int *is_fixed = q->is_held;
    set_out(q);
    for (int k = 0; k < n; k++) {
        const double h = from[k] + DIFFERENCE < q->high[k] ? DIFFERENCE : -DIFFERENCE;
        is_fixed[k] = from[k] - q->low[k] < DIFFERENCE || q->high[k] - from[k] < DIFFERENCE;
        memcpy(u, from, (size_t)n * sizeof *u);
        u[k] += h;
        if (!is_fixed[k] && evaluate(q, u))
            is_fixed[k] = 1;
        for (int j = 0; j < n; j++)
            second[k * n + j] = (slope[j] - q->slope[j]) / h;
    }
    int status = evaluate(q, from);
    for (int k = 0; k < n; k++)
        for (int j = 0; j <= k; j++) {
            const double mean = (second[k * n + j] + second[j * n + k]) / 2;
            second[k * n + j] = second[j * n + k] = !is_fixed[k] && !is_fixed[j] ? mean
                                                    : j == k ? 1 / PARAMETER_ROUGH
                                                             : 0;
        }
    if (status || !cholesky_invert(q->inverse, second, q->scratch, n))
        return 0;
    q->is_rough = 0;
    return propose(q) >= tolerance;
}

/* From q->u, which has been evaluated, to the top. */
static int climb(parameter_likelihood *q, double tolerance)
{
    const int n = q->view.free.n_free;
    const int most_steps = STEPS_EACH * n > MOST_STEPS ? STEPS_EACH * n : MOST_STEPS;
    double gained = 0;
    int status = ART_OK, looks = 0;
    for (int i = 0; i < most_steps && n > 0 && !status; i++) {
        double promise = propose(q);
        if (!q->is_rough && !(promise > 0)) { /* an edge cut the step: it leads downhill */
            parameter_likelihood_forget(q);
            promise = propose(q);
        }
        if (!(promise * (q->is_rough ? FLAT : 1) >= tolerance)) {
            if (leave_edges(q, tolerance))
                parameter_likelihood_forget(q);
            else if (tolerance > PRECISE || looks++ == MOST_LOOKS || !look_again(q, tolerance))
                break;
            continue;
        }
        status = go_uphill(q, &gained, promise);
        if (status || (gained <= 0 && q->is_rough))
            break; /* rounding, or the tolerance of the lengths */
        if (gained <= 0) {
            parameter_likelihood_forget(q);
            continue;
        }
        for (int k = 0; k < n; k++) {
            q->step[k] = q->u[k] - q->from[k];
            q->change[k] = q->from_slope[k] - q->slope[k];
        }
        learn(q);
    }
    return status;
}

/* Evaluates z, with lengths from `length`. */
static int begin(parameter_likelihood *q, const int32_t *decision, const double *length,
                 const double *z, double tolerance)
{
    double *inside = q->trial;
    for (int k = 0; k < q->view.free.n_free; k++)
        inside[k] = within(q->is_root[k] ? z[k] * sqrt(z[k]) : z[k], q->low[k], q->high[k]);
    q->tolerance = tolerance;
    branch_solver_set(q->solver, decision, length);
    keep_lengths(q);
    return evaluate(q, inside);
}

int parameter_likelihood_find(parameter_likelihood *q, const int32_t *decision, double *length,
                              double *z, double tolerance)
{
    int status = begin(q, decision, length, z, LENGTH_SHARE * tolerance);
    if (!status)
        status = climb(q, tolerance);
    if (status)
        return status;
    branch_solver_lengths(length, q->solver);
    memcpy(z, q->z, (size_t)q->view.free.n_free * sizeof *z);
    return ART_OK;
}

int parameter_likelihood_fit(parameter_likelihood *q, const int32_t *decision, double *length,
                             const double *z, double tolerance)
{
    const int status = begin(q, decision, length, z, tolerance);
    if (!status)
        branch_solver_lengths(length, q->solver);
    return status;
}
