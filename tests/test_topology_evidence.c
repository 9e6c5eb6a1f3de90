#include "support/check.h"
#include "support/exact.h"
#include "support/problem.h"

#include "artreeformer.h"
#include "branch/evidence_batch.h"
#include "subst/simulate.h"
#include "branch/length_scale.h"
#include "branch/topology_evidence.h"

#include <math.h>
#include <stdlib.h>

#define RATE 10.0

typedef struct bench {
    branch_posterior data;
    topology_evidence *t;
} bench;

static void bench_init(bench *b, const alignment *a, const char *model)
{
    subst_model m = model_of(model, NULL);
    check_status(branch_posterior_init(&b->data, a, NULL, &m, branch_prior_exponential(RATE)));
    check_status(topology_evidence_create(&b->t, &b->data));
}

static void bench_free(bench *b)
{
    topology_evidence_free(b->t);
    branch_posterior_free(&b->data);
}

static void set_mode(bench *b, const int32_t *decision)
{
    double length[64];
    for (int e = 0; e < b->data.n_edges; e++)
        length[e] = 0.1;
    check_status(topology_evidence_mode(b->t, decision, length, 1e-8));
    for (int e = 0; e < b->data.n_edges; e++)
        check_close(length[e], length_scale_length(b->t->mode[e]), 1e-15);
}

/* The evidence of every topology by quadrature; sampling from any proposal is unbiased:
 * within four standard errors, each of which is itself small. */
static void check_exact(const alignment *a, int draws, double most_error, double most_bias)
{
    const int trees = exact_trees(a->n_taxa);
    double posterior[15];
    assert_true(trees <= 15);
    const double log_evidence = exact_posterior(posterior, a, RATE);
    bench b;
    bench_init(&b, a, "JC");
    for (int i = 0; i < trees; i++) {
        int32_t decision[8];
        double exact = log_evidence + log(posterior[i] * trees);
        exact_tree(decision, i, a->n_taxa);
        set_mode(&b, decision);
        for (int shape = EVIDENCE_DIAGONAL; shape <= EVIDENCE_SKEWED; shape++) {
            log_mean m = {0};
            topology_evidence_proposal(b.t, (evidence_shape)shape);
            topology_evidence_sample(b.t, &m, (length_draws){0}, draws,
                                     rng_at(1, RNG_TEST, (uint32_t)i, (uint32_t)shape));
            assert_int_equal(m.count, draws);
            assert_true(log_mean_error(&m) < most_error);
            check_near(log_mean_value(&m), exact, 4 * log_mean_error(&m));
        }
        /* Laplace's approximation is none of few sites; but it is near. */
        check_near(b.t->laplace, exact, most_bias);
        check_near(b.t->full_laplace, exact, most_bias);
    }
    bench_free(&b);
}

static void sampling_finds_the_exact_evidence(void **state)
{
    (void)state;
    small_alignment three, four, five;
    small_alignment_init(
        &three, 3, (const char *[]){"ACGTACGTACGTAC-R", "ACGTACGTACCTACGA", "ACGAACGTTCGTACGN"});
    check_exact(&three.a, 20000, 0.01, 0.1);
    small_alignment_init(
        &four, 4, (const char *[]){"AAGTCGATTAC", "AAGTCGCTTAC", "AATTCGATTAC", "AATTCAATTAC"});
    check_exact(&four.a, 20000, 0.01, 0.5);
    small_alignment_init(&five, 5, (const char *[]){"AAGTC", "AAGTC", "AAGTG", "AATTC", "CATTC"});
    check_exact(&five.a, 20000, 0.01, 0.5);
}

/* Data drawn from every kind of model: proposals of both shapes, each unbiased, agree. */
static void proposals_agree(void **state)
{
    (void)state;
    problem p = problem_random(8, 300, 1, 21);
    for (int k = 0; k < N_ALL_MODELS; k += 4) {
        subst_model m_k = model_of(ALL_MODELS[k], NULL);
        check_status(
            simulate_sites(p.alignment.state, p.decision, p.length, 8, &m_k, 300, 21, NULL));
        bench b;
        bench_init(&b, &p.alignment, ALL_MODELS[k]);
        set_mode(&b, p.decision);
        log_mean m[2] = {{0}};
        for (int shape = EVIDENCE_DIAGONAL; shape <= EVIDENCE_FULL; shape++) {
            topology_evidence_proposal(b.t, (evidence_shape)shape);
            topology_evidence_sample(b.t, &m[shape], (length_draws){0}, 2000,
                                     rng_at(2, RNG_TEST, (uint32_t)k, (uint32_t)shape));
        }
        double error = hypot(log_mean_error(&m[0]), log_mean_error(&m[1]));
        assert_true(error < 0.1);

        check_near(log_mean_value(&m[0]), log_mean_value(&m[1]), 4 * error);
        check_near(b.t->full_laplace, log_mean_value(&m[1]), 0.3);
        assert_true(log_mean_ess(&m[1]) > log_mean_ess(&m[0])); /* correlations pay */
        bench_free(&b);
    }
    problem_free(&p);
}

/* Weights are what they say: f(x) - log q(x), of the lengths that are handed out. */
static void draws_have_their_weights(void **state)
{
    (void)state;
    enum { DRAWS = 400 };
    problem p = problem_random(7, 30, 1, 22);
    bench b;
    bench_init(&b, &p.alignment, "HKY{2.5}+F{0.3,0.15,0.2,0.35}");
    set_mode(&b, p.decision);
    const int edges = b.data.n_edges;
    double *length = malloc((size_t)(DRAWS * edges) * sizeof *length), weight[DRAWS], again[DRAWS];
    for (int shape = EVIDENCE_DIAGONAL; shape <= EVIDENCE_SKEWED; shape++) {
        log_mean m = {0}, parts = {0}, second = {0};
        rng stream = rng_at(3, RNG_TEST, 0, (uint32_t)shape);
        topology_evidence_proposal(b.t, (evidence_shape)shape);
        topology_evidence_sample(b.t, &m, (length_draws){.length = length, .log_weight = weight},
                                 DRAWS, stream);
        topology_evidence_sample(b.t, &second, (length_draws){.log_weight = again}, DRAWS, stream);
        assert_memory_equal(weight, again, sizeof weight);
        int outside = 0;
        for (int i = 0; i < DRAWS; i++) {
            double x[64];
            for (int e = 0; e < edges; e++)
                x[e] = length_scale_x(length[i * edges + e]);
            log_mean_add(&parts, weight[i]);
            if (!(weight[i] > -HUGE_VAL)) {
                outside++;
                assert_true(x[0] == 0);
                continue;
            }
            branch_solver_move(b.t->solver, x);
            double f = branch_solver_density(b.t->solver, branch_solver_value(b.t->solver));
            double part = b.t->solver->problem->set.prior_draws / edges, prior = 0;
            for (int e = 0; e < edges; e++)
                prior +=
                    branch_prior_log_density(b.data.prior, length[i * edges + e], BRANCH_EXTERNAL) +
                    length_scale_log_jacobian(x[e]);
            double proposed = log((1 - part) * exp(length_proposal_log_density(&b.t->gauss, x)) +
                                  part * exp(prior));
            check_near(weight[i], f - proposed, 1e-9);
        }
        assert_true(outside < DRAWS);
        check_near(log_mean_value(&parts), log_mean_value(&m), 0);
        check_near(log_mean_error(&parts), log_mean_error(&m), 0);
    }
    free(length);
    bench_free(&b);
    problem_free(&p);
}

/* Jobs are what they are by themselves, with 1 thread or 3, alone or not. */
static void teams(void **state)
{
    (void)state;
    enum { TREES = 9, DRAWS = 20 };
    problem p = problem_random(7, 50, TREES, 23);
    bench b;
    bench_init(&b, &p.alignment, "HKY{2.5}+F{0.3,0.15,0.2,0.35}+I{0.1}");
    double length[3][TREES][16], drawn[3][TREES][DRAWS][16], weight[3][TREES][DRAWS];
    const int edges = b.data.n_edges;
    evidence_job job[3][TREES];
    for (int run = 0; run < 3; run++) {
        pool *threads = NULL;
        evidence_batch *team;
        if (run)
            check_status(pool_create(&threads, run == 1 ? 3 : 2));
        check_status(evidence_batch_create(&team, &b.data, threads));
        for (int i = 0; i < TREES; i++) {
            for (int e = 0; e < edges; e++)
                length[run][i][e] = 0.1;
            job[run][i] = (evidence_job){
                .decision = p.decision + 4 * i,
                .length = length[run][i],
                .tolerance = 1e-4,
                .shape = (evidence_shape)(i % 3),
                .draws = DRAWS,
                .stream = rng_at(6, RNG_TEST, 0, (uint32_t)i),
                .out = {.length = &drawn[run][i][0][0], .log_weight = weight[run][i]}};
        }
        for (int i = 0; i < TREES; i += run == 2 ? 1 : TREES) /* the last run one by one */
            evidence_batch_run(team, job[run] + i, run == 2 ? 1 : TREES, NULL);
        evidence_batch_free(team);
        pool_free(threads);
        for (int i = 0; i < TREES; i++) {
            check_status(job[run][i].status);
            check_near(job[run][i].laplace, job[0][i].laplace, 0);
            check_near(log_mean_value(&job[run][i].weights), log_mean_value(&job[0][i].weights), 0);
            assert_memory_equal(weight[run][i], weight[0][i], sizeof weight[0][i]);
            assert_memory_equal(length[run][i], length[0][i], (size_t)edges * sizeof(double));
            assert_memory_equal(drawn[run][i], drawn[0][i],
                                (size_t)(DRAWS * edges) * sizeof(double));
        }
    }
    set_mode(&b, p.decision + 4);
    topology_evidence_proposal(b.t, EVIDENCE_FULL);
    /* the job's fit ends with 1e-4 to gain, which leaves the curvature that much off or so */
    check_near(job[0][1].full_laplace, b.t->full_laplace, 0.002);
    bench_free(&b);
    problem_free(&p);
}

/* Jobs for which there is no time are left as they are, and can be run again. */
static void jobs_without_time(void **state)
{
    (void)state;
    enum { TREES = 3 };
    problem p = problem_random(7, 50, TREES, 23);
    bench b;
    bench_init(&b, &p.alignment, "JC");
    double length[TREES][16];
    evidence_job job[TREES];
    evidence_batch *team;
    interrupt stop;
    interrupt_init(&stop);
    check_status(evidence_batch_create(&team, &b.data, NULL));
    for (int i = 0; i < TREES; i++) {
        for (int e = 0; e < b.data.n_edges; e++)
            length[i][e] = 0.1;
        job[i] = (evidence_job){.decision = p.decision + 4 * i,
                                .length = length[i],
                                .tolerance = 1e-4,
                                .shape = EVIDENCE_FULL,
                                .draws = 4,
                                .stream = rng_at(6, RNG_TEST, 0, (uint32_t)i)};
    }
    assert_int_equal(evidence_batch_run(team, job, 1, &stop), 1);
    check_status(job[0].status);
    interrupt_ask(&stop);
    assert_int_equal(evidence_batch_run(team, job + 1, TREES - 1, &stop), 0);
    for (int i = 1; i < TREES; i++) {
        assert_int_equal(job[i].status, ART_ERR_STOPPED);
        check_near(length[i][0], 0.1, 0);
    }
    assert_int_equal(evidence_batch_run(team, job + 1, TREES - 1, NULL), TREES - 1);
    check_status(job[TREES - 1].status);
    evidence_batch_free(team);
    bench_free(&b);
    problem_free(&p);
}

/* Moments of the draws are those of the distribution. */
static void draws_are_normal(void **state)
{
    (void)state;
    enum { N = 3, DRAWS = 200000 };
    const double mode[N] = {1, 2, 3}, curvature[N] = {4, 2, 3};
    const double hessian[N * N] = {-4, 1, -0.5, 1, -2, 0.7, -0.5, 0.7, -3};
    length_proposal g;
    check_status(length_proposal_init(&g, N));
    length_proposal_set(&g, mode, hessian, curvature);
    assert_true(g.shrink == 0);
    double mean[N] = {0}, second[N][N] = {{0}}, product[N][N] = {{0}};
    rng r = rng_at(4, RNG_TEST, 0, 0);
    for (int i = 0; i < DRAWS; i++) {
        double x[N];
        double log_q = length_proposal_draw(x, &g, &r);
        if (i < 100)
            check_near(log_q, length_proposal_log_density(&g, x), 1e-12);
        for (int a = 0; a < N; a++) {
            mean[a] += (x[a] - mode[a]) / DRAWS;
            for (int b = 0; b < N; b++)
                second[a][b] += (x[a] - mode[a]) * (x[b] - mode[b]) / DRAWS;
        }
    }
    for (int a = 0; a < N; a++) {
        check_near(mean[a], 0, 4 / sqrt(DRAWS)); /* standard deviations are below 1 */
        for (int b = 0; b < N; b++)
            for (int c = 0; c < N; c++)
                product[a][b] -= second[a][c] * hessian[c * N + b];
    }
    for (int a = 0; a < N; a++) /* covariance times precision */
        for (int b = 0; b < N; b++)
            check_near(product[a][b], a == b, 6 * 4 / sqrt(DRAWS));
    length_proposal_free(&g);
}

/* One branch: the density integrates to 1 where it is not 0, and has the mean that it says. */
static void a_skewed_density(void **state)
{
    (void)state;
    const double mode = 1, curvature = 4, hessian = -4, shift = 0.1;
    for (int k = -1; k <= 1; k += 2) {
        const double skew = 0.3 * k; /* 0.15 standard deviations */
        length_proposal g;
        check_status(length_proposal_init(&g, 1));
        length_proposal_set(&g, &mode, &hessian, &curvature);
        length_proposal_skew(&g, &shift, &skew);
        const double step = 1e-4, end = mode + shift - 1 / skew;
        double sum = 0, mean = 0, third = 0;
        for (double x = -8; x < 10; x += step) {
            const double q = exp(length_proposal_log_density(&g, &x)) * step;
            assert_true((x - end) * k > 0 || q == 0);
            sum += q;
            mean += q * x;
            third += q * pow(x - mode - shift, 3);
        }
        check_near(sum, 1, 1e-6);
        check_near(mean, mode + shift, 1e-6);
        const double s = expm1(skew * skew / curvature); /* a lognormal variable's third moment */
        check_near(third, s * s * (s + 3) / pow(skew, 3), 1e-6);
        length_proposal_free(&g);
    }
}

/* Skewness is limited, by the variance of a branch with all its correlations. */
static void skewness_has_a_limit(void **state)
{
    (void)state;
    const double mode[2] = {1, 2}, curvature[2] = {4, 2}, hessian[4] = {-4, 2.4, 2.4, -2};
    const double shift[2] = {0}, skew[2] = {100, -0.1};
    const double variance[2] = {2 / 2.24, 4 / 2.24}; /* the inverse of minus hessian */
    length_proposal g;
    check_status(length_proposal_init(&g, 2));
    length_proposal_set(&g, mode, hessian, curvature);
    length_proposal_skew(&g, shift, skew);
    check_near(g.skew[0], LENGTH_MOST_SKEW / sqrt(variance[0]), 1e-12);
    check_near(g.skew[1], -0.1, 0);
    check_near(g.offset[1], 0.1 * 0.1 * variance[1] / 2, 1e-12);
    rng r = rng_at(8, RNG_TEST, 0, 0);
    for (int i = 0; i < 100; i++) {
        double x[2];
        const double log_q = length_proposal_draw(x, &g, &r);
        check_near(log_q, length_proposal_log_density(&g, x), 1e-9);
    }
    length_proposal_set(&g, mode, hessian, curvature); /* nothing is left of it */
    assert_true(g.skew[0] == 0 && g.offset[1] == 0);
    length_proposal_free(&g);
}

/* 50 taxa: the mean of the lengths, by the draws with their weights, is where the skewed proposal
 * has its centre and not at the mode, and more of its draws count. */
static void skewed_proposals_of_many_lengths(void **state)
{
    (void)state;
    enum { N = 50, E = 2 * N - 3, SITES = 400, DRAWS = 4000 };
    problem p = problem_random(N, SITES, 1, 24);
    subst_model jc = model_of("JC", NULL);
    double length[E], mean[E] = {0}, total = 0, ess[2];
    check_status(simulate_sites(p.alignment.state, p.decision, p.length, N, &jc, SITES, 24, NULL));
    bench b;
    bench_init(&b, &p.alignment, "JC");
    for (int e = 0; e < E; e++)
        length[e] = 0.1;
    check_status(topology_evidence_mode(b.t, p.decision, length, 1e-6));
    double *drawn = malloc((size_t)DRAWS * E * sizeof *drawn), weight[DRAWS];
    log_mean m[2] = {{0}};
    for (int k = 0; k < 2; k++) {
        check_status(topology_evidence_proposal(b.t, k ? EVIDENCE_SKEWED : EVIDENCE_FULL));
        topology_evidence_sample(b.t, &m[k], (length_draws){.length = drawn, .log_weight = weight},
                                 DRAWS, rng_at(9, RNG_TEST, 0, (uint32_t)k));
        ess[k] = log_mean_ess(&m[k]);
    }
    check_near(log_mean_value(&m[0]), log_mean_value(&m[1]),
               4 * hypot(log_mean_error(&m[0]), log_mean_error(&m[1])));
    assert_true(ess[1] > 1.3 * ess[0]);
    for (int i = 0; i < DRAWS; i++) {
        const double w = exp(weight[i] - log_mean_value(&m[1]));
        total += w;
        for (int e = 0; e < E && w > 0; e++)
            mean[e] += w * length_scale_x(drawn[i * E + e]);
    }
    double from_mode = 0, from_centre = 0;
    for (int e = 0; e < E; e++) {
        const double at = mean[e] / total;
        from_mode += b.t->curvature[e] * pow(at - b.t->mode[e], 2);
        from_centre += b.t->curvature[e] * pow(at - b.t->gauss.centre[e], 2);
    }
    assert_true(from_centre < 0.3 * from_mode);
    free(drawn);
    bench_free(&b);
    problem_free(&p);
}

static void hessians_that_are_not_negative(void **state)
{
    (void)state;
    const double mode[2] = {1, 2}, curvature[2] = {4, 2};
    const struct {
        double hessian[4];
        double shrink;
    } known[] = {
        {{-4, 2.8, 2.8, -2}, 0},                           /* correlation 0.99 */
        {{-4, 2.83, 2.83, -2}, 0.001},                     /* 1.0006 */
        {{-4, 3, 3, -2}, 0.1},                             /* 1.06 */
        {{-4, 5, 5, -2}, 0.5},                             /* 1.77 */
        {{-4, 50, 50, -2}, 1},         {{4, 1, 1, -2}, 0}, /* curvature stands in */
    };
    length_proposal g, diagonal;
    check_status(length_proposal_init(&g, 2));
    check_status(length_proposal_init(&diagonal, 2));
    length_proposal_set_diagonal(&diagonal, mode, curvature);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        length_proposal_set(&g, mode, known[i].hessian, curvature);
        check_near(g.shrink, known[i].shrink, 0);
        assert_true(isfinite(g.log_peak));
        if (g.shrink == 1)
            check_near(g.log_peak, diagonal.log_peak, 1e-12);
    }
    length_proposal_free(&g);
    length_proposal_free(&diagonal);
}

static void running_means(void **state)
{
    (void)state;
    enum { N = 1000 };
    double weight[N], sum = 0, square = 0;
    rng r = rng_at(5, RNG_TEST, 0, 0);
    log_mean m = {0}, part[3] = {{0}}, merged = {0};
    assert_true(log_mean_value(&m) == -HUGE_VAL && log_mean_error(&m) == HUGE_VAL);
    for (int i = 0; i < N; i++) {
        weight[i] = i % 10 == 0 ? 0 : exp(3 * rng_normal(&r));
        log_mean_add(&m, log(weight[i]) - 7000); /* far from what exp can hold */
        log_mean_add(&part[i % 3], log(weight[i]) - 7000);
        sum += weight[i];
        square += weight[i] * weight[i];
    }
    for (int k = 0; k < 3; k++)
        log_mean_merge(&merged, &part[k]);
    const double mean = sum / N, variance = (square - N * mean * mean) / (N - 1);
    check_near(log_mean_value(&m), log(mean) - 7000, 1e-9);
    check_close(log_mean_error(&m), sqrt(variance / N) / mean, 1e-9);
    check_close(log_mean_ess(&m), sum * sum / square, 1e-9);
    check_near(log_mean_value(&merged), log_mean_value(&m), 1e-9);
    check_close(log_mean_error(&merged), log_mean_error(&m), 1e-9);
    assert_int_equal(merged.count, N);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sampling_finds_the_exact_evidence),
        cmocka_unit_test(proposals_agree),
        cmocka_unit_test(draws_have_their_weights),
        cmocka_unit_test(teams),
        cmocka_unit_test(jobs_without_time),
        cmocka_unit_test(draws_are_normal),
        cmocka_unit_test(a_skewed_density),
        cmocka_unit_test(skewness_has_a_limit),
        cmocka_unit_test(skewed_proposals_of_many_lengths),
        cmocka_unit_test(hessians_that_are_not_negative),
        cmocka_unit_test(running_means),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
