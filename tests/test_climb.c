/* Climbs against fits of all neighbours, one after the other. */
#include "support/check.h"
#include "support/problem.h"

#include "artreeformer.h"
#include "branch/climb.h"
#include "pars/stepwise.h"
#include "subst/simulate.h"
#include "tree/rearrange.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, NODES = 2 * MOST - 2, RADIUS = 10, NEIGHBOURS = 4 * MOST * MOST };

#define RATE 10.0

typedef struct bench {
    problem p;
    branch_posterior data;
    branch_solver *solver, *other; /* of the climb; for fits of the tests' own */
    branch_moves *moves;
    climb *climb;
    stepwise *starts;
    int n_taxa;
} bench;

/* A tree with memory for itself. */
typedef struct tree {
    int32_t decision[MOST];
    double length[NODES];
    climb_tree t;
} tree;

static void bench_init(bench *b, int n_taxa, size_t sites, uint32_t seed)
{
    subst_model m = model_of("HKY{2.5}+F{0.3,0.2,0.2,0.3}+G4{0.5}", NULL);
    const climb_settings set = climb_defaults();
    memset(b, 0, sizeof *b);
    b->n_taxa = n_taxa;
    b->p = problem_random(n_taxa, sites, 1, seed);
    check_status(simulate_sites(b->p.alignment.state, b->p.decision, b->p.length, n_taxa, &m, sites,
                                seed, NULL));
    check_status(
        branch_posterior_init(&b->data, &b->p.alignment, NULL, &m, branch_prior_exponential(RATE)));
    check_status(branch_solver_create(&b->solver, &b->data));
    check_status(branch_solver_create(&b->other, &b->data));
    check_status(branch_moves_create(&b->moves, &b->data, RADIUS));
    check_status(climb_create(&b->climb, b->solver, b->moves, &set));
    check_status(stepwise_create(&b->starts, &b->p.alignment, NULL));
}

static void bench_free(bench *b)
{
    climb_free(b->climb);
    branch_moves_free(b->moves);
    branch_solver_free(b->solver);
    branch_solver_free(b->other);
    stepwise_free(b->starts);
    branch_posterior_free(&b->data);
    problem_free(&b->p);
}

static void set_lengths(const bench *b, tree *x, double length)
{
    memset(x->length, 0, sizeof x->length);
    for (int e = 0; e < b->data.n_edges; e++)
        x->length[e] = length;
}

static void start(const bench *b, tree *x, uint32_t index)
{
    *x = (tree){0};
    x->t = (climb_tree){x->decision, x->length, 0};
    assert_true(stepwise_tree(b->starts, x->decision, rng_at(3, RNG_START, 0, index), NULL) >= 0);
    set_lengths(b, x, 0.05);
}

static double fit(bench *b, const int32_t *decision, const double *length)
{
    branch_solver_set(b->other, decision, length);
    check_status(branch_solver_mode(b->other, 1e-4));
    return b->other->laplace;
}

/* The decisions of all neighbours of a tree; returns how many. Subtree moves over more than the
 * radius of climbs do not exist with so few taxa. */
static int neighbours(int32_t (*out)[MOST], const bench *b, const int32_t *decision, int is_spr)
{
    topology t;
    int count = 0;
    double length[NODES] = {0};
    int32_t scratch[6 * MOST];
    check_status(topology_init(&t, b->n_taxa));
    for (int32_t v = 1; v < topology_nodes(b->n_taxa); v++)
        for (int32_t w = 0; w < topology_nodes(b->n_taxa); w++) {
            topology_build(&t, decision);
            if (is_spr && topology_has_spr(&t, v, w))
                topology_spr(&t, length, v, w);
            else if (!is_spr && topology_has_nni(&t, v) && w < 2)
                topology_nni(&t, v, w);
            else
                continue;
            topology_decisions(out[count++], NULL, &t, scratch);
        }
    topology_free(&t);
    return count;
}

/* The best neighbour of x by fits of all of them; returns its g. */
static double best_neighbour(bench *b, tree *best, const tree *x, int is_spr)
{
    static int32_t all[NEIGHBOURS][MOST];
    const int count = neighbours(all, b, x->decision, is_spr);
    double top = -HUGE_VAL, length[NODES];
    for (int e = 0; e < b->data.n_edges; e++)
        length[e] = 0.05;
    for (int i = 0; i < count; i++) {
        const double g = fit(b, all[i], length);
        if (g > top) {
            top = g;
            memcpy(best->decision, all[i], sizeof all[i]);
        }
    }
    return top;
}

/* The plain way up: always to the best neighbour, by subtree moves where interchanges end. */
static double climb_plainly(bench *b, const tree *from)
{
    tree here = *from, there = *from;
    double g = fit(b, here.decision, here.length);
    for (int is_spr = 0; is_spr < 2;) {
        const double top = best_neighbour(b, &there, &here, is_spr);
        if (top > g + 0.01) {
            g = top;
            memcpy(here.decision, there.decision, sizeof here.decision);
            is_spr = 0;
        } else {
            is_spr++;
        }
    }
    return g;
}

/* Fits of everything around find nothing better, and g is what it should be. */
static void peaks_are_peaks(void **state)
{
    (void)state;
    const double uphill = climb_defaults().uphill;
    for (uint32_t seed = 0; seed < 4; seed++) {
        bench b;
        bench_init(&b, 12, seed < 2 ? 40 : 200, seed);
        for (uint32_t i = 0; i < 2; i++) {
            tree x, best;
            start(&b, &x, i);
            best = x;
            check_status(climb_run(b.climb, &x.t, NULL));
            /* what BRANCH_TOLERANCE leaves of g */
            const double g = fit(&b, x.decision, x.length), error = 0.01;
            check_near(x.t.laplace, g, error);
            assert_true(best_neighbour(&b, &best, &x, 0) < g + uphill + error);
            /* scores of subtree moves are not exact, and a move can hide behind others */
            assert_true(best_neighbour(&b, &best, &x, 1) < g + 0.1);
        }
        bench_free(&b);
    }
}

/* On average no lower than the plain way, whose every step is the best. */
static void as_high_as_the_plain_way(void **state)
{
    (void)state;
    double sum = 0;
    int count = 0;
    for (uint32_t seed = 10; seed < 15; seed++) {
        bench b;
        bench_init(&b, 10, 60, seed);
        for (uint32_t i = 0; i < 3; i++, count++) {
            tree x;
            start(&b, &x, i);
            sum -= climb_plainly(&b, &x);
            check_status(climb_run(b.climb, &x.t, NULL));
            sum += x.t.laplace;
        }
        bench_free(&b);
    }
    assert_true(sum / count > -0.02); /* errors of the fits */
}

static void check_same(const tree *a, const tree *b)
{
    assert_memory_equal(a->decision, b->decision, sizeof a->decision);
    assert_memory_equal(a->length, b->length, sizeof a->length);
    assert_true(a->t.laplace == b->t.laplace);
}

/* Whatever was done before with the same object. */
static void same_every_time(void **state)
{
    (void)state;
    bench b, fresh;
    tree x, y;
    bench_init(&b, 40, 150, 5);
    bench_init(&fresh, 40, 150, 5);
    start(&b, &x, 1);
    check_status(climb_run(b.climb, &x.t, NULL));
    check_status(climb_shake(b.climb, &x.t, rng_at(1, RNG_TEST, 0, 0), 3, NULL, NULL));
    start(&b, &x, 0);
    check_status(climb_run(b.climb, &x.t, NULL));
    start(&fresh, &y, 0);
    check_status(climb_run(fresh.climb, &y.t, NULL));
    check_same(&x, &y);
    check_status(climb_shake(b.climb, &x.t, rng_at(1, RNG_TEST, 0, 0), 20, NULL, NULL));
    check_status(climb_shake(fresh.climb, &y.t, rng_at(1, RNG_TEST, 0, 0), 20, NULL, NULL));
    check_same(&x, &y);
    bench_free(&b);
    bench_free(&fresh);
}

typedef struct seen {
    int visits;
    double most;
} seen;

static void see(void *context, const branch_solver *s)
{
    seen *x = context;
    x->visits++;
    x->most = fmax(x->most, s->laplace);
}

/* Peaks on the way are visited, those within the window only, and it makes no difference. */
static void peaks_on_the_way_are_visited(void **state)
{
    (void)state;
    bench b;
    tree x, y;
    bench_init(&b, 40, 60, 6);
    for (int none = 0; none < 2; none++) {
        seen all = {.most = -HUGE_VAL};
        /* what ends higher than `shaken` is kept and no visit */
        const climb_visits visits = {none ? -2 * climb_defaults().shaken : 1e9, see, &all};
        start(&b, &x, 1);
        check_status(climb_run(b.climb, &x.t, NULL));
        y = x;
        y.t.decision = y.decision;
        y.t.length = y.length;
        check_status(climb_shake(b.climb, &x.t, rng_at(1, RNG_TEST, 0, 1), 20, NULL, NULL));
        check_status(climb_shake(b.climb, &y.t, rng_at(1, RNG_TEST, 0, 1), 20, &visits, NULL));
        check_same(&x, &y);
        assert_in_range(all.visits, none ? 0 : 10, none ? 0 : 20);
        assert_true(all.most <= x.t.laplace + climb_defaults().shaken + 0.05); /* of near fits */
    }
    bench_free(&b);
}

/* Shaking never ends lower, and g is what it should be. */
static void shaking_helps(void **state)
{
    (void)state;
    bench b;
    double gained = 0;
    bench_init(&b, 40, 60, 6);
    for (uint32_t i = 0; i < 3; i++) {
        tree x;
        start(&b, &x, i);
        check_status(climb_run(b.climb, &x.t, NULL));
        const double before = x.t.laplace;
        check_status(climb_shake(b.climb, &x.t, rng_at(1, RNG_TEST, 0, i), 60, NULL, NULL));
        assert_true(x.t.laplace > before - 0.01);
        check_near(x.t.laplace, fit(&b, x.decision, x.length), 0.01);
        gained += x.t.laplace - before;
    }
    assert_true(gained > 0);
    bench_free(&b);
}

/* What is given up leaves the tree as it was, and what follows it is not changed by it. */
static void given_up_anywhere(void **state)
{
    (void)state;
    bench b;
    tree begin, peak, higher;
    int stopped = 0;
    bench_init(&b, 60, 100, 7);
    start(&b, &begin, 0);
    peak = begin;
    peak.t = (climb_tree){peak.decision, peak.length, 0};
    check_status(climb_run(b.climb, &peak.t, NULL));
    higher = peak;
    higher.t = (climb_tree){higher.decision, higher.length, higher.t.laplace};
    check_status(climb_shake(b.climb, &higher.t, rng_at(1, RNG_TEST, 0, 0), 5, NULL, NULL));
    for (int i = 0; i < 60; i++) {
        const tree *from = i % 2 ? &peak : &begin, *to = i % 2 ? &higher : &peak;
        tree x = *from;
        x.t = (climb_tree){x.decision, x.length, from->t.laplace};
        interrupt stop;
        interrupt_init(&stop);
        stop.deadline = clock_seconds() + 1e-5 * pow(1.25, i);
        const rng stream = rng_at(1, RNG_TEST, 0, 0);
        const int status = i % 2 ? climb_shake(b.climb, &x.t, stream, 5, NULL, &stop)
                                 : climb_run(b.climb, &x.t, &stop);
        assert_true(status == ART_OK || status == ART_ERR_STOPPED);
        check_same(&x, status ? from : to);
        stopped += status != ART_OK;
    }
    assert_true(stopped > 0);
    bench_free(&b);
}

/* Asked for before it begins. */
static void given_up_at_once(void **state)
{
    (void)state;
    bench b;
    tree x, y;
    int32_t decision[MOST] = {0};
    interrupt stop;
    interrupt_init(&stop);
    interrupt_ask(&stop);
    bench_init(&b, 20, 50, 8);
    start(&b, &x, 0);
    y = x;
    assert_int_equal(climb_run(b.climb, &x.t, &stop), ART_ERR_STOPPED);
    assert_int_equal(climb_shake(b.climb, &x.t, rng_at(1, RNG_TEST, 0, 0), 1, NULL, &stop),
                     ART_ERR_STOPPED);
    check_same(&x, &y);
    assert_int_equal(stepwise_tree(b.starts, decision, rng_at(3, RNG_START, 0, 0), &stop),
                     ART_ERR_STOPPED);
    for (int i = 0; i < MOST; i++)
        assert_int_equal(decision[i], 0);
    bench_free(&b);
}

/* Three taxa have one tree; of the three of four taxa the best is found. */
static void few_taxa(void **state)
{
    (void)state;
    for (int n = 3; n <= 4; n++)
        for (int32_t first = 0; first < 3; first++) {
            bench b;
            bench_init(&b, n, 30, 9);
            tree x, y;
            start(&b, &x, 0);
            x.decision[0] = n == 4 ? first : 0;
            check_status(climb_run(b.climb, &x.t, NULL));
            check_status(climb_shake(b.climb, &x.t, rng_at(1, RNG_TEST, 0, 0), 3, NULL, NULL));
            y = x;
            for (y.decision[0] = 0; n == 4 && y.decision[0] < 3; y.decision[0]++)
                assert_true(fit(&b, y.decision, y.length) < x.t.laplace + 0.01);
            bench_free(&b);
        }
}

/* No tree is better than another, and that ends. */
static void identical_sequences(void **state)
{
    (void)state;
    bench b;
    bench_init(&b, 30, 20, 9);
    for (int i = 1; i < 30; i++)
        memcpy(b.p.alignment.state + (size_t)i * 20, b.p.alignment.state, 20);
    branch_posterior same;
    subst_model m = model_of("JC", NULL);
    const climb_settings set = climb_defaults();
    check_status(
        branch_posterior_init(&same, &b.p.alignment, NULL, &m, branch_prior_exponential(RATE)));
    branch_solver *solver;
    branch_moves *moves;
    climb *c;
    check_status(branch_solver_create(&solver, &same));
    check_status(branch_moves_create(&moves, &same, RADIUS));
    check_status(climb_create(&c, solver, moves, &set));
    tree x;
    start(&b, &x, 0);
    check_status(climb_run(c, &x.t, NULL));
    check_status(climb_shake(c, &x.t, rng_at(1, RNG_TEST, 0, 0), 10, NULL, NULL));
    assert_true(isfinite(x.t.laplace));
    climb_free(c);
    branch_moves_free(moves);
    branch_solver_free(solver);
    branch_posterior_free(&same);
    bench_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peaks_are_peaks),     cmocka_unit_test(as_high_as_the_plain_way),
        cmocka_unit_test(same_every_time),     cmocka_unit_test(peaks_on_the_way_are_visited),
        cmocka_unit_test(shaking_helps),       cmocka_unit_test(given_up_anywhere),
        cmocka_unit_test(given_up_at_once),    cmocka_unit_test(few_taxa),
        cmocka_unit_test(identical_sequences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
