#include "support/check.h"
#include "support/problem.h"

#include "artreeformer.h"
#include "branch/branch_solver.h"
#include "branch/length_scale.h"
#include "lik/likelihood.h"
#include "lik/pattern_symmetry.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_EDGES = 64 };

#define RATE 10.0

/* A problem's data under a model, with a solver. */
typedef struct bench {
    branch_posterior data;
    branch_solver *solver;
} bench;

static void bench_init(bench *b, const problem *p, const subst_model *m, cpu_level level)
{
    check_status(
        branch_posterior_init(&b->data, &p->alignment, NULL, m, branch_prior_exponential(RATE)));
    branch_posterior_use(&b->data, level);
    check_status(branch_solver_create(&b->solver, &b->data));
}

static void bench_free(bench *b)
{
    branch_solver_free(b->solver);
    branch_posterior_free(&b->data);
}

/* f and its gradient by x at lengths x^3, by the oracle of the likelihood. */
static double density(double *gradient, const problem *p, const subst_model *m,
                      const int32_t *decision, const double *x)
{
    double length[MOST_EDGES], slope[MOST_EDGES], value;
    assert_true(p->n_edges <= MOST_EDGES);
    for (int e = 0; e < p->n_edges; e++)
        length[e] = length_scale_length(x[e]);
    check_status(likelihood_ref(&value, slope, &p->alignment, NULL, m, decision, length));
    for (int e = 0; e < p->n_edges; e++) {
        const branch_prior prior = branch_prior_exponential(RATE);
        value += branch_prior_log_density(prior, length[e], BRANCH_EXTERNAL) +
                 length_scale_log_jacobian(x[e]);
        if (gradient)
            gradient[e] = length_scale_first(
                x[e], slope[e] + branch_prior_first(prior, length[e], BRANCH_EXTERNAL));
    }
    return value;
}

static void value_equals_the_likelihood(void **state)
{
    (void)state;
    static const struct {
        int taxa;
        size_t patterns;
    } size[] = {{3, 1}, {4, 31}, {5, 32}, {7, 33}, {12, 100}};
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        problem p = problem_random(size[i].taxa, size[i].patterns, 3, 1);
        for (int k = 0; k < N_ALL_MODELS; k++)
            for (cpu_level level = CPU_GENERIC; level <= cpu_best(); level++) {
                subst_model m = model_of(ALL_MODELS[k], NULL);
                bench b;
                bench_init(&b, &p, &m, level);
                for (int t = 0; t < p.n_trees; t++) {
                    const int32_t *decision = p.decision + t * (size[i].taxa - 3);
                    const double *length = p.length + t * p.n_edges;
                    double expected;
                    check_status(
                        likelihood_ref(&expected, NULL, &p.alignment, NULL, &m, decision, length));
                    branch_solver_set(b.solver, decision, length);
                    check_close(branch_solver_value(b.solver), expected, 1e-12);
                }
                bench_free(&b);
            }
        problem_free(&p);
    }
}

/* Both derivatives on every branch: the first against the oracle's gradient, the second against
 * its central difference, whose error is h^2 l'''' / 6 plus rounding over h. */
static void slopes_are_derivatives(void **state)
{
    (void)state;
    problem p = problem_random(9, 70, 1, 2);
    for (int k = 0; k < N_ALL_MODELS; k++)
        for (cpu_level level = CPU_GENERIC; level <= cpu_best(); level++) {
            subst_model m = model_of(ALL_MODELS[k], NULL);
            double gradient[MOST_EDGES], above[MOST_EDGES], below[MOST_EDGES], value;
            bench b;
            bench_init(&b, &p, &m, level);
            branch_solver_set(b.solver, p.decision, p.length);
            branch_solver_refresh(b.solver);
            check_status(
                likelihood_ref(&value, gradient, &p.alignment, NULL, &m, p.decision, p.length));
            for (int e = 0; e < p.n_edges; e++) {
                double out[2], length = p.length[e], h = 1e-4 * length;
                branch_solver_slopes(out, b.solver, edge_node(e, 9));
                check_near(out[0], gradient[e], 1e-9 * (1 + fabs(gradient[e])));
                p.length[e] = length + h;
                check_status(
                    likelihood_ref(&value, above, &p.alignment, NULL, &m, p.decision, p.length));
                p.length[e] = length - h;
                check_status(
                    likelihood_ref(&value, below, &p.alignment, NULL, &m, p.decision, p.length));
                p.length[e] = length;
                check_close(out[1], (above[e] - below[e]) / (2 * h), 1e-5);
            }
            bench_free(&b);
        }
    problem_free(&p);
}

/* At the mode the gradient vanishes and every curvature is positive, wherever the search began;
 * and all beginnings lead to the same mode. */
static void mode_from_anywhere(void **state)
{
    (void)state;
    problem p = problem_random(10, 60, 2, 3);
    for (int k = 0; k < N_ALL_MODELS; k++) {
        subst_model m = model_of(ALL_MODELS[k], NULL);
        bench b;
        bench_init(&b, &p, &m, cpu_best());
        for (int t = 0; t < p.n_trees; t++) {
            const int32_t *decision = p.decision + 7 * t;
            double first[MOST_EDGES], best = 0, laplace = 0;
            for (int start = 0; start < 5; start++) {
                double length[MOST_EDGES], x[MOST_EDGES], gradient[MOST_EDGES];
                rng r = rng_at(4, RNG_TEST, (uint32_t)t, (uint32_t)start);
                for (int e = 0; e < p.n_edges; e++)
                    length[e] = start == 0   ? 0.1
                                : start == 1 ? 0
                                : start == 2 ? 1000
                                : start == 3 ? 0.1 * rng_exponential(&r)
                                             : exp(-20 * rng_uniform(&r));
                branch_solver_set(b.solver, decision, length);
                check_status(branch_solver_mode(b.solver, 1e-16));
                assert_true(b.solver->sweeps < b.data.set.sweeps);
                branch_solver_lengths(length, b.solver);
                for (int e = 0; e < p.n_edges; e++)
                    x[e] = length_scale_x(length[e]);
                double f = density(gradient, &p, &m, decision, x);
                check_close(b.solver->log_density, f, 1e-12);
                if (start == 0) {
                    best = f;
                    laplace = b.solver->laplace;
                }
                check_near(f, best, 1e-9);
                check_near(b.solver->laplace, laplace, 1e-5);
                for (int e = 0; e < p.n_edges; e++) {
                    double h = b.solver->branch[edge_node(e, 10)].curvature;
                    assert_true(h > 0);
                    /* What is left to gain is below the tolerance, up to rounding of f. */
                    check_near(gradient[e] / sqrt(2 * h), 0, 1e-6);
                    if (start == 0)
                        first[e] = x[e];
                    check_near(x[e] * sqrt(h), first[e] * sqrt(h), 1e-4);
                }
            }
        }
        bench_free(&b);
    }
    problem_free(&p);
}

/* The mode by another method: golden sections on one branch after the other, with the oracle. */
static double golden_mode(double *x, const problem *p, const subst_model *m)
{
    const double part = 0.6180339887498949;
    double value = -INFINITY, before;
    do {
        before = value;
        for (int e = 0; e < p->n_edges; e++) {
            double low = 1e-3, high = 2;
            while (high - low > 1e-9) {
                double a = high - part * (high - low), b = low + part * (high - low);
                x[e] = a;
                double at_a = density(NULL, p, m, p->decision, x);
                x[e] = b;
                if (at_a > density(NULL, p, m, p->decision, x))
                    high = b;
                else
                    low = a;
            }
            x[e] = (low + high) / 2;
        }
        value = density(NULL, p, m, p->decision, x);
    } while (value - before > 1e-10);
    return value;
}

static void mode_of_small_trees_by_golden_sections(void **state)
{
    (void)state;
    static const char *const model[] = {"JC", "HKY{2.5}+F{0.3,0.15,0.2,0.35}+I{0.1}"};
    for (int n_taxa = 3; n_taxa <= 4; n_taxa++)
        for (int k = 0; k < 2; k++) {
            problem p = problem_random(n_taxa, 12, 1, 5);
            subst_model m = model_of(model[k], NULL);
            double x[MOST_EDGES], length[MOST_EDGES];
            bench b;
            bench_init(&b, &p, &m, cpu_best());
            branch_solver_set(b.solver, p.decision, p.length);
            check_status(branch_solver_mode(b.solver, 1e-14));
            branch_solver_lengths(length, b.solver);
            for (int e = 0; e < p.n_edges; e++)
                x[e] = 0.5;
            check_near(b.solver->log_density, golden_mode(x, &p, &m), 1e-8);
            for (int e = 0; e < p.n_edges; e++) /* f is flat: sqrt(1e-10 / curvature) */
                check_near(length_scale_x(length[e]), x[e], 1e-4);
            bench_free(&b);
            problem_free(&p);
        }
}

/* Without any difference in the data every branch is as short as its prior allows:
 * l' = -n / .. at 0, f = -(rate - l') x^3 + 2 log x. */
static void branches_without_changes(void **state)
{
    (void)state;
    problem p = problem_random(8, 40, 1, 6);
    for (size_t i = 0; i < 8 * 40; i++)
        p.alignment.state[i] = STATE_G;
    subst_model m = model_of("JC", NULL);
    double sites = 0, length[MOST_EDGES];
    for (size_t k = 0; k < 40; k++)
        sites += p.alignment.weight[k];
    bench b;
    bench_init(&b, &p, &m, cpu_best());
    assert_int_equal(b.data.n_patterns, 1);
    branch_solver_set(b.solver, p.decision, p.length);
    check_status(branch_solver_mode(b.solver, 1e-12));
    branch_solver_lengths(length, b.solver);
    for (int e = 0; e < p.n_edges; e++) /* l' = -sites to first order in the tree's length */
        check_close(length[e], 2 / (3 * (RATE + sites)), 0.1);
    bench_free(&b);
    problem_free(&p);
}

static void all_data_missing_leaves_the_prior(void **state)
{
    (void)state;
    problem p = problem_random(6, 5, 1, 6);
    for (size_t i = 0; i < 6 * 5; i++)
        p.alignment.state[i] = i % 2 ? STATE_GAP : STATE_ANY;
    subst_model m = model_of("HKY{2.5}+F{0.3,0.15,0.2,0.35}", NULL);
    double length[MOST_EDGES];
    bench b;
    bench_init(&b, &p, &m, cpu_best());
    assert_int_equal(b.data.n_patterns, 0);
    branch_solver_set(b.solver, p.decision, p.length);
    check_status(branch_solver_mode(b.solver, 1e-14));
    branch_solver_lengths(length, b.solver);
    for (int e = 0; e < p.n_edges; e++)
        check_close(length[e], 2 / (3 * RATE), 1e-6);
    bench_free(&b);
    problem_free(&p);
}

/* Far beyond what doubles hold without scaling. */
static void large_trees(void **state)
{
    (void)state;
    static const char *const model[] = {"JC", "JC+I{0.2}+G3{0.7}",
                                        "HKY{2.5}+F{0.3,0.15,0.2,0.35}+I{0.1}"};
    for (int shape = 0; shape < 2; shape++) {
        problem p = problem_random(1000, 40, 1, 7);
        (shape ? balanced : caterpillar)(p.decision, 1000);
        for (int k = 0; k < 3; k++) {
            subst_model m = model_of(model[k], NULL);
            double expected, *gradient = malloc((size_t)p.n_edges * sizeof *gradient);
            check_status(
                likelihood_ref(&expected, gradient, &p.alignment, NULL, &m, p.decision, p.length));
            bench b;
            bench_init(&b, &p, &m, cpu_best());
            branch_solver_set(b.solver, p.decision, p.length);
            check_close(branch_solver_value(b.solver), expected, 1e-12);
            branch_solver_refresh(b.solver);
            for (int e = 0; e < p.n_edges; e += 97) {
                double out[2];
                branch_solver_slopes(out, b.solver, edge_node(e, 1000));
                check_near(out[0], gradient[e], 1e-9 * (1 + fabs(gradient[e])));
            }
            double start = branch_solver_density(b.solver, expected);
            check_status(branch_solver_mode(b.solver, 1e-3));
            assert_true(b.solver->sweeps < b.data.set.sweeps);
            assert_true(b.solver->log_density > start);
            bench_free(&b);
            free(gradient);
        }
        problem_free(&p);
    }
}

static void levels_agree_on_the_mode(void **state)
{
    (void)state;
    problem p = problem_random(20, 150, 1, 8);
    for (int k = 0; k < N_ALL_MODELS; k += 3) {
        subst_model m = model_of(ALL_MODELS[k], NULL);
        double laplace[3];
        for (cpu_level level = CPU_GENERIC; level <= cpu_best(); level++) {
            bench b;
            bench_init(&b, &p, &m, level);
            branch_solver_set(b.solver, p.decision, p.length);
            check_status(branch_solver_mode(b.solver, BRANCH_TOLERANCE));
            laplace[level] = b.solver->laplace;
            check_close(laplace[level], laplace[CPU_GENERIC], 1e-11); /* the same steps, rounded */
            bench_free(&b);
        }
    }
    problem_free(&p);
}

static void exchanges_of_bases(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        int symmetries;
    } known[] = {
        {"JC", 24},
        {"JC+I{0.2}+G3{0.7}", 24},
        {"K80{2.5}", 8},
        {"F81+F{0.1,0.2,0.3,0.4}", 1},
        {"F81+F{0.3,0.2,0.3,0.2}", 4},
        {"HKY{2.5}+F{0.3,0.2,0.3,0.2}", 4},
        {"HKY{2.5}+F{0.3,0.3,0.2,0.2}", 2},
        {"SYM{1,3,0.8,0.8,3,1}", 4},
        {"SYM{1.2,3.1,0.8,0.9,4.2,1}", 1},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        int exchange[BASE_EXCHANGES][4];
        subst_model m = model_of(known[i].model, NULL);
        assert_int_equal(model_symmetries(exchange, &m), known[i].symmetries);
    }
    /* Under JC, AACC and TTGG are one pattern, and so are AAA- and CCCN. */
    problem p = problem_random(4, 4, 1, 9);
    const uint8_t column[4][4] = {{1, 1, 2, 2}, {8, 8, 4, 4}, {1, 1, 1, 16}, {2, 2, 2, 15}};
    for (size_t k = 0; k < 4; k++)
        for (size_t i = 0; i < 4; i++)
            p.alignment.state[i * 4 + k] = column[k][i];
    subst_model jc = model_of("JC", NULL), gtr = model_of(ALL_MODELS[6], NULL);
    bench b;
    bench_init(&b, &p, &jc, CPU_GENERIC);
    assert_int_equal(b.data.n_patterns, 2);
    bench_free(&b);
    bench_init(&b, &p, &gtr, CPU_GENERIC);
    assert_int_equal(b.data.n_patterns, 4);
    bench_free(&b);
    problem_free(&p);
}

static void bad_arguments(void **state)
{
    (void)state;
    problem p = problem_random(4, 4, 1, 9);
    subst_model m = model_of("JC", NULL);
    branch_posterior data;
    assert_int_equal(
        branch_posterior_init(&data, &p.alignment, NULL, &m, branch_prior_exponential(0)),
        ART_ERR_USAGE);
    assert_int_equal(
        branch_posterior_init(&data, &p.alignment, NULL, &m, branch_prior_exponential(NAN)),
        ART_ERR_USAGE);
    p.alignment.n_taxa = 2;
    assert_int_equal(
        branch_posterior_init(&data, &p.alignment, NULL, &m, branch_prior_exponential(1)),
        ART_ERR_USAGE);
    branch_posterior_free(&data);
    branch_solver_free(NULL);
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(value_equals_the_likelihood),
        cmocka_unit_test(slopes_are_derivatives),
        cmocka_unit_test(mode_from_anywhere),
        cmocka_unit_test(mode_of_small_trees_by_golden_sections),
        cmocka_unit_test(branches_without_changes),
        cmocka_unit_test(all_data_missing_leaves_the_prior),
        cmocka_unit_test(large_trees),
        cmocka_unit_test(levels_agree_on_the_mode),
        cmocka_unit_test(exchanges_of_bases),
        cmocka_unit_test(bad_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
