#include "branch/topology_evidence.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "branch/length_prior.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int topology_evidence_create(topology_evidence **out, const branch_posterior *p)
{
    *out = NULL;
    topology_evidence *t = mem_zeros(1, sizeof *t);
    if (!t)
        return ART_ERR_NOMEM;
    const size_t edges = (size_t)p->n_edges, n_free = (size_t)p->free.n_free;
    int status;
    t->problem = p;
    status = n_free ? parameter_mode_create(&t->joint, p) : branch_solver_create(&t->solver, p);
    if (status)
        goto out;
    if (t->joint)
        t->solver = t->joint->solver;
    if ((status = branch_hessian_create(&t->hessian, t->solver->problem)) ||
        (status = length_proposal_init(&t->gauss, p->n_edges)) ||
        (status = parameter_proposal_init(&t->parameters, p->n_edges, p->free.n_free)) ||
        (n_free && (status = reference_space_init(&t->space, p->n_taxa))))
        goto out;
    t->second = mem_zeros(edges * (edges + 6 + n_free) + n_free * (n_free + 4), sizeof *t->second);
    status = t->second ? ART_OK : ART_ERR_NOMEM;
    if (status)
        goto out;
    t->mode = t->second + edges * edges;
    t->curvature = t->mode + edges;
    t->draw = t->curvature + edges;
    t->scratch = t->draw + edges;
    t->shift = t->scratch + edges;
    t->skew = t->shift + edges;
    t->mixed = t->skew + edges;
    t->own = t->mixed + edges * n_free;
    t->z = t->own + n_free * n_free;
    t->joint_mode = t->z + n_free;
    t->slope = t->joint_mode + n_free;
    *out = t;
    return ART_OK;
out:
    topology_evidence_free(t);
    return status;
}

void topology_evidence_free(topology_evidence *t)
{
    if (!t)
        return;
    if (t->joint)
        parameter_mode_free(t->joint);
    else
        branch_solver_free(t->solver);
    branch_hessian_free(t->hessian);
    length_proposal_free(&t->gauss);
    parameter_proposal_free(&t->parameters);
    reference_space_free(&t->space);
    free(t->second);
    free(t);
}

size_t topology_evidence_memory(const branch_posterior *p)
{
    const size_t edges = (size_t)p->n_edges, n_free = (size_t)p->free.n_free;
    return (n_free ? parameter_mode_memory(p) : branch_solver_memory(p)) +
           branch_hessian_memory(p) +
           ((2 * edges + 10 + 2 * n_free) * edges + (3 * n_free + 6) * n_free) * sizeof(double);
}

/* The mode that the solver has found. */
static void take_mode(topology_evidence *t)
{
    const branch_solver *s = t->solver;
    for (int e = 0; e < s->problem->n_edges; e++) {
        int32_t v = edge_node(e, s->problem->n_taxa);
        t->mode[e] = s->branch[v].cbrt_length;
        t->curvature[e] = s->branch[v].curvature;
    }
}

int topology_evidence_mode(topology_evidence *t, const int32_t *decision, double *length,
                           double tolerance)
{
    branch_solver *s = t->solver;
    if (t->joint)
        branch_posterior_move(&t->joint->view, t->problem->centre);
    branch_solver_set(s, decision, length);
    int status = branch_solver_mode(s, tolerance);
    if (status)
        return status;
    branch_solver_lengths(length, s);
    take_mode(t);
    t->tolerance = tolerance;
    t->log_density = s->log_density;
    t->laplace = s->laplace;
    return ART_OK;
}

/* Moves lengths and parameters to x [E] and z [p]. */
static void move(topology_evidence *t, const double *x, const double *z)
{
    if (t->joint)
        branch_posterior_move(&t->joint->view, z);
    branch_solver_move(t->solver, x);
}

/* Whether the parameters' derivatives are those of the reference tree. */
static bool is_common(const topology_evidence *t)
{
    return t->wants_common && t->problem->reference.is_set;
}

/* From the mode of the lengths at the centre to the joint mode. */
static int find_joint_mode(topology_evidence *t)
{
    move(t, t->mode, t->problem->centre);
    int status =
        parameter_mode_improve(t->joint, t->problem->centre, t->problem->spread, t->tolerance);
    if (status)
        return status;
    take_mode(t);
    t->log_density = t->joint->log_density;
    return ART_OK;
}

/* The slopes of f at t->draw and t->z, added to t->shift and t->slope; not finite where the data
 * are impossible. */
static int add_slopes(topology_evidence *t)
{
    const branch_posterior *p = t->problem;
    if (interrupt_is_due(t->solver->stop))
        return ART_ERR_STOPPED;
    move(t, t->draw, t->z);
    if (t->joint) {
        double *by_z = t->slope + p->free.n_free;
        parameter_mode_gradient(t->joint, t->scratch, by_z, t->z);
        for (int e = 0; e < p->n_edges; e++)
            t->shift[e] += t->scratch[e];
        for (int k = 0; k < p->free.n_free; k++)
            t->slope[k] += by_z[k];
        return ART_OK;
    }
    branch_solver_inspect(t->solver);
    for (int e = 0; e < p->n_edges; e++)
        t->shift[e] += t->solver->branch[edge_node(e, p->n_taxa)].slope;
    return ART_OK;
}

/* Lengths and parameters one standard deviation away from the mode in every direction of a basis,
 * with signs of their own for every two numbers; odd numbers are opposite to even ones. */
static void go_around(topology_evidence *t, int number)
{
    const branch_posterior *p = t->problem;
    const double sign = number % 2 ? -1 : 1;
    rng signs = rng_at(0, RNG_SIGNS, 0, (uint32_t)(number / 2));
    for (int e = 0; e < p->n_edges; e++)
        t->draw[e] = rng_below(&signs, 2) ? sign : -sign;
    length_proposal_spread(t->draw, &t->gauss);
    if (t->joint) {
        for (int k = 0; k < p->free.n_free; k++)
            t->z[k] = rng_below(&signs, 2) ? sign : -sign;
        parameter_proposal_place(t->z, &t->parameters);
        parameter_proposal_shift(t->scratch, &t->parameters, t->z);
        for (int e = 0; e < p->n_edges; e++)
            t->draw[e] += t->scratch[e];
    }
    for (int e = 0; e < p->n_edges; e++)
        t->draw[e] = fmax(t->mode[e] + t->draw[e], LENGTH_LEAST_SHARE * t->mode[e]);
}

/* The skewness along every branch, at the mode with all partials current. With f = -u^2 / 2 + c
 * u^3, u in standard deviations s, the slopes at u = -z and z add up to 6 c z^2 / s, and the
 * skewness is 2 c / s. */
static void find_skewness(topology_evidence *t)
{
    branch_solver_measure(t->solver);
    for (int e = 0; e < t->problem->n_edges; e++) {
        const double deviation = 1 / sqrt(t->curvature[e]);
        const double step = fmin(deviation, (1 - LENGTH_LEAST_SHARE) * t->mode[e]);
        double slope[2];
        branch_solver_slopes_around(slope, t->solver, edge_node(e, t->problem->n_taxa), step);
        t->skew[e] = (slope[0] + slope[1]) / 3 * (deviation * deviation) / (step * step);
    }
}

/* The mean of slopes in all places; 0 where one of them has none. */
static double mean_of(double sum)
{
    return isfinite(sum) ? sum / (2 * LENGTH_PAIRS) : 0;
}

/* Moves the proposal to the mean, and skews it. The mean of the slopes in pairs of places opposite
 * to each other has no part of the terms of f of even order; what is left is the slope that the
 * third derivatives have on average over the proposal. */
static int move_to_mean(topology_evidence *t)
{
    const int edges = t->problem->n_edges, n_free = t->problem->free.n_free;
    memset(t->shift, 0, (size_t)edges * sizeof *t->shift);
    memset(t->slope, 0, (size_t)n_free * sizeof *t->slope);
    for (int i = 0; i < 2 * LENGTH_PAIRS; i++) {
        go_around(t, i);
        const int status = add_slopes(t);
        if (status)
            return status;
    }
    for (int e = 0; e < edges; e++)
        t->shift[e] = mean_of(t->shift[e]);
    for (int k = 0; k < n_free; k++)
        t->slope[k] = mean_of(t->slope[k]);
    if (t->joint)
        parameter_proposal_move(&t->parameters, t->slope, t->shift);
    length_proposal_solve(t->shift, &t->gauss);
    for (int e = 0; e < edges; e++)
        t->shift[e] = fmax(t->shift[e], (LENGTH_LEAST_SHARE - 1) * t->mode[e]);
    length_proposal_skew(&t->gauss, t->shift, t->skew);
    return ART_OK;
}

static bool is_full(evidence_shape shape)
{
    return shape == EVIDENCE_FULL || shape == EVIDENCE_SKEWED;
}

static int set_lengths(topology_evidence *t, evidence_shape shape)
{
    if (!is_full(shape)) {
        length_proposal_set_diagonal(&t->gauss, t->mode, t->curvature);
        return ART_OK;
    }
    move(t, t->mode, t->joint_mode); /* draws may have moved it */
    branch_solver_refresh(t->solver);
    const int status = branch_hessian_compute(t->hessian, t->scratch, t->second, t->solver);
    if (status)
        return status;
    length_proposal_set(&t->gauss, t->mode, t->second, t->curvature);
    if (shape == EVIDENCE_SKEWED)
        find_skewness(t);
    return ART_OK;
}

/* The proposal of the parameters at the joint mode, once that of the lengths is set. */
static int set_parameters(topology_evidence *t, evidence_shape shape)
{
    const branch_posterior *p = t->problem;
    if (shape == EVIDENCE_ROUGH || is_common(t)) {
        memset(t->mixed, 0, (size_t)p->free.n_free * (size_t)p->n_edges * sizeof *t->mixed);
        if (p->reference.is_set)
            parameter_reference_look_up(t->mixed, &p->reference, &t->solver->tree, &t->space);
        parameter_proposal_set_common(&t->parameters, t->joint_mode, t->mixed, &t->gauss,
                                      p->spread);
        return ART_OK;
    }
    move(t, t->mode, t->joint_mode);
    const int status = parameter_mode_second(t->joint, t->mixed, t->own, t->joint_mode);
    if (!status)
        parameter_proposal_set(&t->parameters, t->joint_mode, t->mixed, t->own, &t->gauss,
                               p->spread);
    return status;
}

int topology_evidence_proposal(topology_evidence *t, evidence_shape shape)
{
    const branch_posterior *p = t->problem;
    const bool is_rough = shape == EVIDENCE_ROUGH;
    int status = t->joint && !is_rough ? find_joint_mode(t) : ART_OK;
    if (status)
        return status;
    if (t->joint)
        memcpy(t->joint_mode, is_rough ? p->centre : t->joint->z,
               (size_t)p->free.n_free * sizeof *t->joint_mode);
    status = set_lengths(t, shape);
    if (!status && t->joint)
        status = set_parameters(t, shape);
    if (status)
        return status;
    t->full_laplace = t->log_density - t->gauss.log_peak;
    if (t->joint)
        t->full_laplace -= t->parameters.log_peak;
    return shape == EVIDENCE_SKEWED ? move_to_mean(t) : ART_OK;
}

/* log(exp a + exp b) */
static double log_add(double a, double b)
{
    return fmax(a, b) + log1p(exp(-fabs(a - b)));
}

/* The log density of the normal part of the proposal at t->draw and t->z. */
static double normal_density(topology_evidence *t)
{
    if (!t->joint)
        return length_proposal_log_density(&t->gauss, t->draw);
    parameter_proposal_shift(t->shift, &t->parameters, t->z);
    for (int e = 0; e < t->problem->n_edges; e++)
        t->shift[e] = t->draw[e] - t->shift[e];
    return length_proposal_log_density(&t->gauss, t->shift) +
           parameter_proposal_log_density(&t->parameters, t->z);
}

/* A draw of the normal part, as t->draw and t->z; returns its log density there. */
static double draw_normal(topology_evidence *t, rng *stream)
{
    if (!t->joint)
        return length_proposal_draw(t->draw, &t->gauss, stream);
    parameter_proposal_draw(t->z, &t->parameters, stream);
    const double lengths = length_proposal_draw(t->draw, &t->gauss, stream);
    parameter_proposal_shift(t->shift, &t->parameters, t->z);
    for (int e = 0; e < t->problem->n_edges; e++)
        t->draw[e] += t->shift[e];
    return lengths + parameter_proposal_log_density(&t->parameters, t->z);
}

/* Draws x, and z, from the proposal, normal distribution and prior mixed; returns its log density
 * there, -inf if some x is not positive. */
static double propose(topology_evidence *t, rng *stream)
{
    const branch_posterior *p = t->problem;
    const int edges = p->n_edges, top = node_edge(t->solver->tree.child[0][0], p->n_taxa);
    const double part = p->set.prior_draws / edges;
    double normal;
    if (rng_uniform(stream) < part) {
        length_prior_draw(t->draw, edges, top, p->prior, stream);
        if (t->joint)
            block_parameters_draw(t->z, &p->free, stream);
        normal = normal_density(t);
    } else {
        normal = draw_normal(t, stream);
        for (int e = 0; e < edges; e++)
            if (!(t->draw[e] > 0))
                return -HUGE_VAL;
    }
    double prior = length_prior_log_joint(p->prior, t->draw, edges, top);
    if (t->joint)
        prior += block_parameters_log_prior(&p->free, t->z);
    return log_add(log1p(-part) + normal, log(part) + prior);
}

int topology_evidence_sample(topology_evidence *t, log_mean *m, length_draws out, int draws,
                             rng stream)
{
    branch_solver *s = t->solver;
    const int edges = s->problem->n_edges, n_free = t->problem->free.n_free;
    for (int i = 0; i < draws; i++) {
        if (interrupt_is_due(s->stop))
            return ART_ERR_STOPPED;
        const double proposed = propose(t, &stream);
        double likelihood = -HUGE_VAL, weight = -HUGE_VAL;
        if (isfinite(proposed)) {
            move(t, t->draw, t->z);
            likelihood = branch_solver_value(s);
            weight = branch_solver_density(s, likelihood) - proposed;
            if (t->joint)
                weight += block_parameters_log_prior(&t->problem->free, t->z);
        } else {
            memset(t->draw, 0, (size_t)edges * sizeof *t->draw);
        }
        log_mean_add(m, weight);
        if (out.log_weight)
            out.log_weight[i] = weight;
        if (out.log_likelihood)
            out.log_likelihood[i] = likelihood;
        for (int e = 0; out.length && e < edges; e++)
            out.length[(ptrdiff_t)i * edges + e] = length_scale_length(t->draw[e]);
        for (int k = 0; out.parameter && k < n_free; k++)
            out.parameter[(ptrdiff_t)i * n_free + k] = t->z[k];
    }
    return ART_OK;
}
