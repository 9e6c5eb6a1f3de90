/* Free parameters of the substitution model: exact gradients, the joint mode with the branch
 * lengths, and the evidence with both integrated out. */
#include "support/check.h"
#include "support/problem.h"

#include "artreeformer.h"
#include "branch/branch_posterior.h"
#include "branch/length_scale.h"
#include "branch/parameter_mode.h"
#include "branch/topology_evidence.h"
#include "collapsed/parameter_stage.h"
#include "collapsed/settings.h"
#include "lik/likelihood.h"
#include "subst/simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RATE 10.0

static const char *const FREE[] = {
    "JC+G4",    "JC+I",
    "K80",      "K80+G4",
    "F81+I+G4", "HKY",
    "HKY+G4",   "HKY{2}+G4",
    "HKY+FQ+I", "HKY+F{0.3,0.2,0.1,0.4}+G4{0.7}",
    "TN93+G2",  "SYM",
    "SYM+I",    "GTR",
    "GTR+G4",   "GTR+I",
    "GTR+I+G4", "GTR+F{0.3,0.2,0.1,0.4}+G4",
};
enum { N_FREE = sizeof FREE / sizeof *FREE };

/* Coordinates near those where a search starts. */
static void some_z(double *z, const free_model *f, uint32_t number)
{
    rng stream = rng_at(1, RNG_TEST, 77, number);
    free_model_start(z, f);
    for (int k = 0; k < f->n_free; k++)
        z[k] += 0.5 * rng_normal(&stream);
}

typedef struct joint {
    problem data;
    branch_posterior p;
    parameter_mode *mode;
} joint;

/* Data of the model with the parameters of some_z. */
static void joint_init_model(joint *j, free_model f, const char *truth_of, int n_taxa, int n_sites,
                             uint64_t seed)
{
    const free_model origin = free_model_of(truth_of);
    j->data = problem_random(n_taxa, (size_t)n_sites, 1, (uint32_t)seed);
    double z[FREE_MOST];
    subst_model truth;
    some_z(z, &origin, 5);
    free_model_at(&truth, &origin, z);
    check_status(simulate_sites(j->data.alignment.state, j->data.decision, j->data.length, n_taxa,
                                &truth, (size_t)n_sites, seed, NULL));
    check_status(branch_posterior_init_free(&j->p, &j->data.alignment, NULL, &f,
                                            branch_prior_exponential(RATE)));
    check_status(parameter_mode_create(&j->mode, &j->p));
}

static void joint_init(joint *j, const char *model, int n_taxa, int n_sites, uint64_t seed)
{
    joint_init_model(j, free_model_of(model), model, n_taxa, n_sites, seed);
}

static void joint_free(joint *j)
{
    parameter_mode_free(j->mode);
    branch_posterior_free(&j->p);
    problem_free(&j->data);
}

/* f(x, z) by the other engine (lik/likelihood.h), which shares no derivatives with this one. */
static double density(const joint *j, const double *x, const double *z)
{
    const int edges = j->p.n_edges;
    double length[64], value, sum = 0;
    subst_model m;
    free_model_at(&m, &j->p.free.block[0].model, z);
    for (int e = 0; e < edges; e++)
        length[e] = length_scale_length(x[e]);
    check_status(
        likelihood_ref(&value, NULL, &j->data.alignment, NULL, &m, j->data.decision, length));
    for (int e = 0; e < edges; e++)
        sum += log(RATE) - RATE * length[e] + length_scale_log_jacobian(x[e]);
    return value + sum + free_model_log_prior(&j->p.free.block[0].model, z);
}

/* Signed differences of the density in every coordinate, for all models, with and without scaling
 * of partials (many taxa). The error of a central difference with step h is h^2 times the third
 * derivative, which is of the order of the number of sites. */
static void gradients_are_those_of_the_density(void **state)
{
    (void)state;
    for (int k = 0; k < N_FREE; k++) {
        joint j;
        joint_init(&j, FREE[k], 9, 120, 31 + (uint64_t)k);
        const int edges = j.p.n_edges, n = j.p.free.n_free;
        double x[64], z[FREE_MOST], by_x[64], by_z[FREE_MOST];
        for (int e = 0; e < edges; e++)
            x[e] = length_scale_x(j.data.length[e] * (1 + 0.3 * (e % 3)) + 0.001);
        some_z(z, &j.p.free.block[0].model, (uint32_t)k);
        branch_posterior_move(&j.mode->view, z);
        branch_solver_set(j.mode->solver, j.data.decision, j.data.length);
        branch_solver_move(j.mode->solver, x);
        parameter_mode_gradient(j.mode, by_x, by_z, z);
        const double h = 1e-5;
        for (int i = 0; i < edges + n; i++) {
            double *at = i < edges ? &x[i] : &z[i - edges], before = *at;
            *at = before + h;
            const double up = density(&j, x, z);
            *at = before - h;
            const double down = density(&j, x, z);
            *at = before;
            const double by = i < edges ? by_x[i] : by_z[i - edges];
            check_near(by, (up - down) / (2 * h), 1e-5 * (1 + fabs(by)));
        }
        joint_free(&j);
    }
}

/* The same where partials are scaled: 150 taxa on long branches; against the gradient by sums of
 * the unscaled engine is not possible, so against differences of the scaled likelihood. */
static void gradients_hold_with_scaling(void **state)
{
    (void)state;
    joint j;
    joint_init(&j, "GTR+I+G4", 150, 40, 7);
    const int edges = j.p.n_edges, n = j.p.free.n_free;
    double *x = malloc((size_t)edges * sizeof *x), z[FREE_MOST], by_z[FREE_MOST];
    for (int e = 0; e < edges; e++)
        x[e] = length_scale_x(0.5 + 0.1 * (e % 5));
    some_z(z, &j.p.free.block[0].model, 3);
    branch_posterior_move(&j.mode->view, z);
    branch_solver_set(j.mode->solver, j.data.decision, j.data.length);
    branch_solver_move(j.mode->solver, x);
    parameter_mode_gradient(j.mode, NULL, by_z, z);
    for (int i = 0; i < n; i++) {
        const double h = 1e-5, before = z[i];
        double value[2];
        for (int side = 0; side < 2; side++) {
            z[i] = side ? before - h : before + h;
            branch_posterior_move(&j.mode->view, z);
            branch_solver_move(j.mode->solver, x);
            value[side] = branch_solver_value(j.mode->solver) +
                          free_model_log_prior(&j.p.free.block[0].model, z);
        }
        z[i] = before;
        check_near(by_z[i], (value[0] - value[1]) / (2 * h), 1e-4 * (1 + fabs(by_z[i])));
    }
    free(x);
    joint_free(&j);
}

/* One branch at a time as long as can be, where exponentials of the others vanish: slopes are
 * finite, and signed differences agree. */
static void gradients_hold_on_long_branches(void **state)
{
    (void)state;
    joint j;
    joint_init(&j, "GTR+I+G4", 9, 120, 41);
    const int edges = j.p.n_edges, n = j.p.free.n_free;
    for (int e = 0; e < edges; e++) {
        double x[64], z[FREE_MOST], by_x[64], by_z[FREE_MOST];
        for (int i = 0; i < edges; i++)
            x[i] = length_scale_x(i == e ? BRANCH_LONGEST : 0.1);
        some_z(z, &j.p.free.block[0].model, 4);
        branch_posterior_move(&j.mode->view, z);
        branch_solver_set(j.mode->solver, j.data.decision, j.data.length);
        branch_solver_move(j.mode->solver, x);
        parameter_mode_gradient(j.mode, by_x, by_z, z);
        for (int i = 0; i < n; i++) {
            const double h = 1e-5, before = z[i];
            z[i] = before + h;
            const double up = density(&j, x, z);
            z[i] = before - h;
            const double down = density(&j, x, z);
            z[i] = before;
            check_near(by_z[i], (up - down) / (2 * h), 1e-5 * (1 + fabs(by_z[i])));
        }
    }
    joint_free(&j);
}

/* The joint mode has no slope in any coordinate, from near and from far. */
static void the_joint_mode_is_one(void **state)
{
    (void)state;
    for (int k = 0; k < N_FREE; k++) {
        joint j;
        joint_init(&j, FREE[k], 10, 500, 51 + (uint64_t)k);
        const int n = j.p.free.n_free;
        double length[64], z[FREE_MOST], by_x[64], by_z[FREE_MOST];
        for (int e = 0; e < j.p.n_edges; e++)
            length[e] = 0.1;
        free_model_start(z, &j.p.free.block[0].model);
        check_status(parameter_mode_find(j.mode, j.data.decision, length, z, j.p.spread, 1e-10));
        parameter_mode_gradient(j.mode, by_x, by_z, z);
        double covariance[FREE_MOST * FREE_MOST];
        for (int i = 0; i < n; i++)
            check_near(by_z[i], 0, 2e-3); /* slopes are of the order of 30 at the start */
        check_status(parameter_mode_spread(j.mode, covariance));
        for (int i = 0; i < n; i++)
            assert_true(covariance[i * n + i] > 0);
        joint_free(&j);
    }
}

/* The log evidence of the topology at fixed parameters, by sampling. */
static double evidence_at(const joint *j, const double *z, uint32_t number)
{
    subst_model m;
    branch_posterior fixed;
    topology_evidence *t;
    log_mean mean = {0};
    double length[64];
    free_model_at(&m, &j->p.free.block[0].model, z);
    check_status(branch_posterior_init(&fixed, &j->data.alignment, NULL, &m,
                                       branch_prior_exponential(RATE)));
    check_status(topology_evidence_create(&t, &fixed));
    for (int e = 0; e < fixed.n_edges; e++)
        length[e] = 0.1;
    check_status(topology_evidence_mode(t, j->data.decision, length, 1e-8));
    check_status(topology_evidence_proposal(t, EVIDENCE_FULL));
    topology_evidence_sample(t, &mean, (length_draws){0}, 4000, rng_at(4, RNG_TEST, 9, number));
    topology_evidence_free(t);
    branch_posterior_free(&fixed);
    return log_mean_value(&mean);
}

/* log of the integral over one parameter of the evidence at fixed parameters, by the trapezoidal
 * rule over twelve standard deviations; the error of the sampled evidence at one node is far below
 * that of the joint sampling. */
static double by_quadrature(const joint *j, const double *mode, double sd)
{
    enum { NODES = 49 };
    const double step = 12 * sd / (NODES - 1);
    double value[NODES], top = -HUGE_VAL, sum = 0;
    for (int i = 0; i < NODES; i++) {
        const double z = mode[0] + (i - NODES / 2) * step;
        value[i] =
            evidence_at(j, &z, (uint32_t)i) + free_model_log_prior(&j->p.free.block[0].model, &z);
        top = fmax(top, value[i]);
    }
    for (int i = 0; i < NODES; i++)
        sum += exp(value[i] - top) * step;
    return top + log(sum);
}

static void check_quadrature(const char *model, int n_taxa, int n_sites, uint64_t seed)
{
    joint j;
    joint_init(&j, model, n_taxa, n_sites, seed);
    assert_int_equal(j.p.free.n_free, 1);
    double length[64], z[FREE_MOST], spread[FREE_MOST * FREE_MOST];
    for (int e = 0; e < j.p.n_edges; e++)
        length[e] = 0.1;
    free_model_start(z, &j.p.free.block[0].model);
    check_status(parameter_mode_find(j.mode, j.data.decision, length, z, j.p.spread, 1e-8));
    check_status(parameter_mode_spread(j.mode, spread));
    branch_posterior_recentre(&j.p, z, spread);
    topology_evidence *t;
    log_mean m = {0};
    check_status(topology_evidence_create(&t, &j.p));
    for (int e = 0; e < j.p.n_edges; e++)
        length[e] = 0.1;
    double full_laplace = NAN, by_full = NAN;
    for (int shape = EVIDENCE_DIAGONAL; shape <= EVIDENCE_ROUGH; shape++) {
        check_status(topology_evidence_mode(t, j.data.decision, length, 1e-8));
        check_status(topology_evidence_proposal(t, (evidence_shape)shape));
        m = (log_mean){0};
        topology_evidence_sample(t, &m, (length_draws){0}, 20000,
                                 rng_at(6, RNG_TEST, (uint32_t)shape, 0));
        assert_true(log_mean_error(&m) <
                    (shape == EVIDENCE_FULL || shape == EVIDENCE_SKEWED ? 0.02 : 0.2));
        check_near(log_mean_value(&m), by_quadrature(&j, z, sqrt(spread[0])),
                   4 * log_mean_error(&m) + 0.002);
        if (shape == EVIDENCE_FULL) {
            full_laplace = t->full_laplace;
            by_full = log_mean_value(&m);
        }
    }
    check_near(full_laplace, by_full, 0.3);
    topology_evidence_free(t);
    joint_free(&j);
}

static void evidence_equals_quadrature_over_the_parameter(void **state)
{
    (void)state;
    check_quadrature("K80", 4, 100, 3);
    check_quadrature("K80", 5, 200, 4);
    check_quadrature("JC+G4", 4, 200, 5);
    check_quadrature("JC+G4", 5, 100, 6);
    check_quadrature("JC+I", 5, 200, 8);
}

/* Two lengths and one parameter, all numbers by hand: where the centre goes, and that lengths
 * follow the mode. */
static void parameters_move_to_their_mean(void **state)
{
    (void)state;
    const double mode[2] = {1, 2}, curvature[2] = {4, 2}, hessian[4] = {-4, 0, 0, -2};
    const double z = 0.5, mixed[2] = {2, -1}, own = -3; /* B = (1/2, -1/2), S = 1 / (3 - 3/2) */
    const double by_x[2] = {0.3, 0.1}, spread = 1, deviation = sqrt(1 / 1.5);
    length_proposal lengths;
    parameter_proposal p;
    check_status(length_proposal_init(&lengths, 2));
    check_status(parameter_proposal_init(&p, 2, 1));
    length_proposal_set(&lengths, mode, hessian, curvature);
    for (int k = 0; k < 2; k++) { /* a little, and too much */
        const double by_z = k ? 100 : 0.2, total = by_z + 0.5 * 0.3 - 0.5 * 0.1;
        double far = 1, shift[2];
        parameter_proposal_set(&p, &z, mixed, &own, &lengths, &spread);
        parameter_proposal_place(&far, &p);
        check_near(far, z + deviation, 1e-12);
        parameter_proposal_move(&p, &by_z, by_x);
        check_near(p.centre[0], z + fmin(total / 1.5, LENGTH_MOST_SHIFT * deviation), 1e-12);
        check_near(p.mode[0], z, 0);
        parameter_proposal_shift(shift, &p, &far);
        check_near(shift[0], 0.5 * deviation, 1e-12);
        const double near = p.centre[0] + 0.1, other = p.centre[0] - 0.1;
        check_near(parameter_proposal_log_density(&p, &near),
                   parameter_proposal_log_density(&p, &other), 1e-12);
    }
    parameter_proposal_free(&p);
    length_proposal_free(&lengths);
}

/* All proposals are unbiased whatever the model: they agree. */
static void proposals_agree_with_many_parameters(void **state)
{
    (void)state;
    static const char *const MODEL[] = {"HKY+G4", "GTR+G4", "GTR+I+G4"};
    for (int k = 0; k < 3; k++) {
        joint j;
        joint_init(&j, MODEL[k], 7, 400, 90 + (uint64_t)k);
        double length[64], z[FREE_MOST], spread[FREE_MOST * FREE_MOST];
        for (int e = 0; e < j.p.n_edges; e++)
            length[e] = 0.1;
        free_model_start(z, &j.p.free.block[0].model);
        check_status(parameter_mode_find(j.mode, j.data.decision, length, z, j.p.spread, 1e-6));
        check_status(parameter_mode_spread(j.mode, spread));
        branch_posterior_recentre(&j.p, z, spread);
        topology_evidence *t;
        check_status(topology_evidence_create(&t, &j.p));
        log_mean m[3] = {{0}};
        for (int shape = EVIDENCE_DIAGONAL; shape <= EVIDENCE_SKEWED; shape++) {
            for (int e = 0; e < j.p.n_edges; e++)
                length[e] = 0.1;
            check_status(topology_evidence_mode(t, j.data.decision, length, 1e-6));
            check_status(topology_evidence_proposal(t, (evidence_shape)shape));
            topology_evidence_sample(t, &m[shape], (length_draws){0}, 8000,
                                     rng_at(7, RNG_TEST, (uint32_t)shape, (uint32_t)k));
        }
        const double error = hypot(log_mean_error(&m[0]), log_mean_error(&m[1]));
        assert_true(error < 0.3); /* the diagonal proposal is a poor one */
        check_near(log_mean_value(&m[0]), log_mean_value(&m[1]), 4 * error);
        assert_true(log_mean_ess(&m[1]) > 8000 * 0.1); /* seven taxa leave much open */
        check_near(log_mean_value(&m[2]), log_mean_value(&m[1]),
                   4 * hypot(log_mean_error(&m[1]), log_mean_error(&m[2])));
        assert_true(log_mean_ess(&m[2]) > log_mean_ess(&m[1]));
        topology_evidence_free(t);
        joint_free(&j);
    }
}

/* Where there is no time, everything ends at once, and what it would have changed is as it was. */
/* The ridge of +I+G: with p_invariant uniform between 0 and b, and all of its posterior below b,
 * the evidence of a topology is 1/b times that with b = 1, and proposals are as good. */
static void bounds_of_invariant_sites_keep_the_ridge(void **state)
{
    (void)state;
    static const double BOUND[] = {1, 0.9, 0.6};
    enum { DRAWS = 8000 };
    log_mean m[3] = {{0}};
    for (int k = 0; k < 3; k++) {
        joint j;
        free_model f = free_model_of("HKY+I+G4");
        f.prior.p_invariant[1] = BOUND[k];
        joint_init_model(&j, f, "HKY{3}+F{0.3,0.2,0.1,0.4}+I{0.05}+G4{0.4}", 12, 900, 95);
        double length[64], z[FREE_MOST], spread[FREE_MOST * FREE_MOST];
        for (int e = 0; e < j.p.n_edges; e++)
            length[e] = 0.1;
        free_model_start(z, &f);
        check_status(parameter_mode_find(j.mode, j.data.decision, length, z, j.p.spread, 1e-6));
        check_status(parameter_mode_spread(j.mode, spread));
        branch_posterior_recentre(&j.p, z, spread);
        topology_evidence *t;
        check_status(topology_evidence_create(&t, &j.p));
        check_status(topology_evidence_mode(t, j.data.decision, length, 1e-6));
        check_status(topology_evidence_proposal(t, EVIDENCE_SKEWED));
        topology_evidence_sample(t, &m[k], (length_draws){0}, DRAWS, rng_at(9, RNG_TEST, 0, 0));
        topology_evidence_free(t);
        joint_free(&j);
    }
    for (int k = 1; k < 3; k++) {
        check_near(log_mean_value(&m[k]) + log(BOUND[k]), log_mean_value(&m[0]),
                   4 * hypot(log_mean_error(&m[k]), log_mean_error(&m[0])));
        assert_true(log_mean_ess(&m[k]) > 0.5 * log_mean_ess(&m[0]));
    }
}

static void searches_without_time(void **state)
{
    (void)state;
    joint j;
    joint_init(&j, "HKY+G4", 9, 200, 12);
    const int n = j.p.free.n_free;
    double length[64], z[FREE_MOST], spread[FREE_MOST * FREE_MOST], mixed[FREE_MOST * 64];
    interrupt stop;
    interrupt_init(&stop);
    for (int e = 0; e < j.p.n_edges; e++)
        length[e] = 0.1;
    memcpy(z, j.p.centre, (size_t)n * sizeof *z);
    interrupt_ask(&stop);
    j.mode->solver->stop = &stop;
    assert_int_equal(parameter_mode_find(j.mode, j.data.decision, length, z, j.p.spread, 1e-3),
                     ART_ERR_STOPPED);
    assert_int_equal(j.mode->evaluations, 1);
    assert_true(isinf(j.mode->log_density)); /* no point was reached */
    assert_memory_equal(z, j.p.centre, (size_t)n * sizeof *z);
    check_near(length[0], 0.1, 0);
    j.mode->solver->stop = NULL;
    check_status(parameter_mode_find(j.mode, j.data.decision, length, z, j.p.spread, 1e-3));
    j.mode->solver->stop = &stop;
    assert_int_equal(parameter_mode_spread(j.mode, spread), ART_ERR_STOPPED);
    assert_int_equal(parameter_mode_second(j.mode, mixed, spread, z), ART_ERR_STOPPED);
    topology_evidence *t;
    log_mean m = {0};
    check_status(topology_evidence_create(&t, &j.p));
    check_status(topology_evidence_mode(t, j.data.decision, length, 1e-3));
    check_status(topology_evidence_proposal(t, EVIDENCE_FULL));
    t->solver->stop = &stop;
    assert_int_equal(
        topology_evidence_sample(t, &m, (length_draws){0}, 8, rng_at(1, RNG_TEST, 0, 0)),
        ART_ERR_STOPPED);
    assert_int_equal(topology_evidence_proposal(t, EVIDENCE_FULL), ART_ERR_STOPPED);
    assert_int_equal(branch_hessian_compute(t->hessian, t->scratch, t->second, t->solver),
                     ART_ERR_STOPPED);
    topology_evidence_free(t);
    joint_free(&j);
}

/* The centre of the problem becomes the joint mode. */
static void move_to_mode(joint *j)
{
    double length[64], z[FREE_MOST], spread[FREE_MOST * FREE_MOST];
    for (int e = 0; e < j->p.n_edges; e++)
        length[e] = 0.1;
    free_model_start(z, &j->p.free.block[0].model);
    check_status(parameter_mode_find(j->mode, j->data.decision, length, z, j->p.spread, 1e-8));
    check_status(parameter_mode_spread(j->mode, spread));
    branch_posterior_recentre(&j->p, z, spread);
}

/* log of the determinant of a positive definite matrix [n][n], by elimination. */
static double log_determinant(const double *matrix, int n)
{
    double a[FREE_MOST * FREE_MOST], sum = 0;
    memcpy(a, matrix, (size_t)(n * n) * sizeof *a);
    for (int i = 0; i < n; i++) {
        sum += log(a[i * n + i]);
        for (int r = i + 1; r < n; r++)
            for (int c = n - 1; c >= i; c--)
                a[r * n + c] -= a[r * n + i] / a[i * n + i] * a[i * n + c];
    }
    return sum;
}

/* What the parameters add to the log evidence of a topology: (n/2) log 2 pi + log |S| / 2 + log
 * prior, nothing without free parameters; and it brings the evidence at the centre near the
 * integral over the parameter. */
static void the_term_of_the_parameters(void **state)
{
    (void)state;
    for (int k = 0; k < N_FREE; k++) {
        joint j;
        joint_init(&j, FREE[k], 10, 500, 51 + (uint64_t)k);
        move_to_mode(&j);
        const int n = j.p.free.n_free;
        /* Two factorisations of at most 10 x 10 numbers. */
        check_near(branch_posterior_parameter_term(&j.p),
                   0.5 * n * log(2 * acos(-1)) + 0.5 * log_determinant(j.p.spread, n) +
                       block_parameters_log_prior(&j.p.free, j.p.centre),
                   1e-9);
        joint_free(&j);
    }
    joint one;
    joint_init(&one, "K80", 5, 500, 4);
    move_to_mode(&one);
    /* A normal distribution is that near to the posterior of kappa from 500 sites; the term itself
     * is -1.5. */
    check_near(evidence_at(&one, one.p.centre, 100) + branch_posterior_parameter_term(&one.p),
               by_quadrature(&one, one.p.centre, sqrt(one.p.spread[0])), 0.05);
    assert_true(fabs(branch_posterior_parameter_term(&one.p)) > 0.5);
    joint_free(&one);
    problem data = problem_random(5, 20, 1, 3);
    branch_posterior fixed;
    subst_model jc = model_of("JC", NULL);
    check_status(
        branch_posterior_init(&fixed, &data.alignment, NULL, &jc, branch_prior_exponential(RATE)));
    assert_true(branch_posterior_parameter_term(&fixed) == 0);
    branch_posterior_free(&fixed);
    problem_free(&data);
}

/* A stage that is interrupted ends with what it has: at once where the search started, later at a
 * fit; and it says that it is done. */
static void an_interrupted_stage_ends(void **state)
{
    (void)state;
    const search_settings search = collapsed_defaults(8).search;
    for (int pieces = 0; pieces < 3; pieces++) {
        joint j;
        parameter_stage *s;
        interrupt stop;
        double start[FREE_MOST];
        joint_init(&j, "GTR+G4", 8, 300, 61);
        const size_t n = (size_t)j.p.free.n_free;
        memcpy(start, j.p.centre, n * sizeof *start);
        interrupt_init(&stop);
        check_status(parameter_stage_create(&s, &j.p, &j.data.alignment, NULL, &search, 1));
        for (int i = 0; i < pieces; i++)
            check_status(parameter_stage_advance(s, &stop));
        assert_false(s->is_done);
        interrupt_ask(&stop);
        check_status(parameter_stage_advance(s, &stop));
        assert_true(s->is_done);
        assert_int_equal(memcmp(start, j.p.centre, n * sizeof *start) == 0, pieces == 0);
        for (size_t i = 0; i < n; i++)
            assert_true(isfinite(j.p.centre[i]) && j.p.spread[i * n + i] > 0);
        assert_true(isfinite(branch_posterior_parameter_term(&j.p)));
        parameter_stage_free(s);
        joint_free(&j);
    }
}

/* A parsimony tree alone gives parameters near those after climbs, and a reference. */
static void the_stage_does_without_climbs(void **state)
{
    (void)state;
    const search_settings search = collapsed_defaults(8).search;
    double centre[2][FREE_MOST];
    for (int climbs = 0; climbs < 2; climbs++) {
        joint j;
        parameter_stage *s;
        joint_init(&j, "GTR+G4", 8, 800, 61);
        const size_t n = (size_t)j.p.free.n_free;
        check_status(parameter_stage_create(&s, &j.p, &j.data.alignment, NULL, &search, 1));
        s->most_climbs = climbs;
        while (!s->is_done)
            check_status(parameter_stage_advance(s, NULL));
        assert_int_equal(s->climbs, climbs);
        assert_true(j.p.reference.is_set);
        memcpy(centre[climbs], j.p.centre, n * sizeof *j.p.centre);
        for (size_t i = 0; i < n && climbs; i++) /* to a standard deviation of the posterior */
            check_near(centre[0][i], centre[1][i], sqrt(j.p.spread[i * (n + 1)]));
        parameter_stage_free(s);
        joint_free(&j);
    }
}

/* Derivatives of a reference tree serve its neighbours: the evidence stays unbiased, and most of
 * the effective draws are kept. */
static void a_reference_serves_other_trees(void **state)
{
    (void)state;
    static const char *const MODEL[] = {"HKY+G4", "GTR+G4"};
    enum { DRAWS = 8000 };
    for (int k = 0; k < 2; k++) {
        joint j;
        joint_init(&j, MODEL[k], 8, 800, 190 + (uint64_t)k);
        double length[64], mixed[64 * FREE_MOST], own[FREE_MOST * FREE_MOST];
        move_to_mode(&j);
        parameter_mode_second(j.mode, mixed, own, j.p.centre);
        check_status(parameter_reference_set(&j.p.reference, j.data.decision, mixed));
        int32_t other[5];
        memcpy(other, j.data.decision, sizeof other);
        other[4] = (other[4] + 3) % 13; /* the last taxon elsewhere */
        topology_evidence *t;
        check_status(topology_evidence_create(&t, &j.p));
        log_mean m[2] = {{0}};
        for (int common = 0; common < 2; common++) {
            t->wants_common = common;
            for (int e = 0; e < j.p.n_edges; e++)
                length[e] = 0.1;
            check_status(topology_evidence_mode(t, other, length, 1e-4));
            check_status(topology_evidence_proposal(t, EVIDENCE_FULL));
            assert_int_equal(t->parameters.is_common, common);
            topology_evidence_sample(t, &m[common], (length_draws){0}, DRAWS,
                                     rng_at(8, RNG_TEST, (uint32_t)common, (uint32_t)k));
        }
        check_near(log_mean_value(&m[0]), log_mean_value(&m[1]),
                   4 * hypot(log_mean_error(&m[0]), log_mean_error(&m[1])));
        assert_true(log_mean_ess(&m[1]) > 0.5 * log_mean_ess(&m[0]));
        assert_true(log_mean_ess(&m[1]) > 0.1 * DRAWS);
        topology_evidence_free(t);
        joint_free(&j);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_those_of_the_density),
        cmocka_unit_test(gradients_hold_with_scaling),
        cmocka_unit_test(gradients_hold_on_long_branches),
        cmocka_unit_test(the_joint_mode_is_one),
        cmocka_unit_test(evidence_equals_quadrature_over_the_parameter),
        cmocka_unit_test(parameters_move_to_their_mean),
        cmocka_unit_test(proposals_agree_with_many_parameters),
        cmocka_unit_test(bounds_of_invariant_sites_keep_the_ridge),
        cmocka_unit_test(searches_without_time),
        cmocka_unit_test(the_term_of_the_parameters),
        cmocka_unit_test(an_interrupted_stage_ends),
        cmocka_unit_test(the_stage_does_without_climbs),
        cmocka_unit_test(a_reference_serves_other_trees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
