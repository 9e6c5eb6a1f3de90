#include "support/check.h"
#include "support/problem.h"

#include "artreeformer.h"
#include "collapsed/other_modes.h"
#include "subst/simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TAXA = 4, EDGES = 5, HALF = 200, TREES = 8 };

/* Data with a tree whose lengths have two modes: taxa 0 and 2 are close to 1 and far from 3, or the
 * other way round, in one half of the sites and in the other. */
typedef struct bench {
    problem data;
    branch_posterior posterior;
    pool *threads;
    evidence_batch *team;
    int32_t decision[1];
    double upper, lower; /* g at the modes */
} bench;

static double fitted(bench *b, const double *start)
{
    double length[EDGES];
    memcpy(length, start, sizeof length);
    evidence_job job = {
        .decision = b->decision, .length = length, .tolerance = 1e-6, .shape = EVIDENCE_DIAGONAL};
    assert_int_equal(evidence_batch_run(b->team, &job, 1, NULL), 1);
    check_status(job.status);
    return job.laplace;
}

static void bench_init(bench *b, int n_threads)
{
    const subst_model model = model_of("JC", NULL);
    const double length[EDGES] = {0.005, 0.005, 0.005, 0.1, 0.4};
    uint8_t half[TAXA][HALF];
    *b = (bench){.data = problem_random(TAXA, 2 * HALF, 1, 1), .decision = {1}};
    alignment *a = &b->data.alignment;
    check_status(simulate_sites(half[0], b->decision, length, TAXA, &model, HALF, 1, NULL));
    for (int t = 0; t < TAXA; t++) {
        const int image = t % 2 ? t : 2 - t; /* 0 and 2 change places */
        memcpy(a->state + (size_t)t * 2 * HALF, half[t], HALF);
        memcpy(a->state + (size_t)t * 2 * HALF + HALF, half[image], HALF);
    }
    for (size_t i = 0; i < 2 * HALF; i++)
        a->weight[i] = 1;
    check_status(
        branch_posterior_init(&b->posterior, a, NULL, &model, branch_prior_exponential(10)));
    check_status(pool_create(&b->threads, n_threads));
    check_status(evidence_batch_create(&b->team, &b->posterior, b->threads));
    b->upper = fitted(b, (const double[EDGES]){0.1, 0.1, 0.1, 0.1, 0.1});
    b->lower = fitted(b, (const double[EDGES]){0.16, 0.19, 0.02, 0.06, 0.19});
}

static void bench_free(bench *b)
{
    evidence_batch_free(b->team);
    pool_free(b->threads);
    branch_posterior_free(&b->posterior);
    problem_free(&b->data);
}

/* The share that is left out if `laplace` is known of every tree. */
static double share(bench *b, double laplace, const interrupt *stop, size_t looked)
{
    other_modes m = {0};
    known_mode known[TREES];
    const mode_starts start = {collapsed_defaults(1).modes, 1, EDGES, 0.1};
    for (int i = 0; i < TREES; i++)
        known[i] = (known_mode){b->decision, laplace};
    for (int i = 0; i < TREES; i += TREES / 2) /* in two pieces */
        check_status(other_modes_look(&m, b->team, known + i, TREES / 2, &start, stop));
    assert_int_equal(m.looked, looked);
    return other_modes_share(&m);
}

/* Random starts find the lower mode now and then, which equal ones do not: with the upper one known
 * its odds, exp(lower - upper), are all that is left out. */
static void random_starts_find_more(void **state)
{
    (void)state;
    bench b;
    bench_init(&b, 1);
    const mode_starts start = {collapsed_defaults(1).modes, 1, EDGES, 0.1};
    const known_mode tree = {b.decision, b.upper};
    const double odds = exp(b.lower - b.upper);
    other_modes m = {0};
    int found = 0;
    for (int i = 0; i < 64; i++) {
        const double before = m.left_out;
        check_status(other_modes_look(&m, b.team, &tree, 1, &start, NULL));
        if (m.left_out > before) {
            check_close(m.left_out - before, odds, 0.01); /* of fits */
            found++;
        }
    }
    assert_in_range(found, 3, 40);
    bench_free(&b);
}

static void modes_are_found(void **state)
{
    (void)state;
    bench b;
    bench_init(&b, 1);
    assert_true(b.upper > b.lower + 40); /* so that the lower one has no weight */
    check_near(share(&b, b.upper, NULL, TREES), 0, 1e-15);
    check_near(share(&b, b.lower, NULL, TREES), 1, 1e-15);
    /* a mode that both starts find counts once */
    check_near(share(&b, b.upper - 1, NULL, TREES), 1 / (1 + exp(-1)), 1e-3); /* of the fits */
    /* what differs by less than `gap` is the same */
    check_near(share(&b, b.upper - 0.4, NULL, TREES), 0, 1e-15);
    check_near(share(&b, -HUGE_VAL, NULL, TREES), 1, 1e-15);
    bench_free(&b);
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    bench one, two;
    bench_init(&one, 1);
    bench_init(&two, 2);
    check_near(share(&one, one.upper - 1, NULL, TREES), share(&two, two.upper - 1, NULL, TREES), 0);
    bench_free(&one);
    bench_free(&two);
}

static void a_stop_ends_it(void **state)
{
    (void)state;
    bench b;
    interrupt stop;
    bench_init(&b, 1);
    interrupt_init(&stop);
    interrupt_ask(&stop);
    check_near(share(&b, b.lower, &stop, 0), 0, 0); /* nothing is known */
    bench_free(&b);
}

static void mean_of_lengths(void **state)
{
    (void)state;
    check_near(mean_length((const double[]){0.1, 0.3, 0.2}, 3), 0.2, 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modes_are_found),       cmocka_unit_test(random_starts_find_more),
        cmocka_unit_test(threads_do_not_matter), cmocka_unit_test(a_stop_ends_it),
        cmocka_unit_test(mean_of_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
