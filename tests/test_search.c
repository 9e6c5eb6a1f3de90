#include "support/check.h"
#include "support/exact.h"
#include "support/problem.h"
#include "support/state.h"

#include "artreeformer.h"
#include "collapsed/search.h"
#include "branch/branch_solver.h"
#include "subst/simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 7, TREES = 945 };

#define RATE 10.0

/* An alignment drawn from JC on a random tree, an exploration of it, its table. */
typedef struct bench {
    problem p;
    branch_posterior data;
    tree_table table;
    pool *threads;
    tree_search *x;
} bench;

static void bench_init(bench *b, int n_taxa, size_t sites, const collapsed_settings *set,
                       size_t capacity, int n_threads)
{
    subst_model m = model_of("JC", NULL);
    b->p = problem_random(n_taxa, sites, 1, 51);
    check_status(simulate_sites(b->p.alignment.state, b->p.decision, b->p.length, n_taxa, &m, sites,
                                5, NULL));
    check_status(
        branch_posterior_init(&b->data, &b->p.alignment, NULL, &m, branch_prior_exponential(RATE)));
    check_status(tree_table_init(&b->table, n_taxa, capacity));
    check_status(pool_create(&b->threads, n_threads));
    check_status(
        tree_search_create(&b->x, &b->data, &b->p.alignment, NULL, &b->table, set, b->threads));
}

static void bench_free(bench *b)
{
    tree_search_free(b->x);
    pool_free(b->threads);
    tree_table_free(&b->table);
    branch_posterior_free(&b->data);
    problem_free(&b->p);
}

/* Of a tree's laplace, where the fit of its lengths ends at BRANCH_TOLERANCE. */
static const double FIT_ERROR = 0.01;

/* laplace [945] of all trees by a fit from the same start. */
static void enumerate(double *laplace, const branch_posterior *data)
{
    branch_solver *s;
    check_status(branch_solver_create(&s, data));
    for (int i = 0; i < TREES; i++) {
        int32_t decision[SMALL];
        double length[2 * SMALL];
        for (int e = 0; e < data->n_edges; e++)
            length[e] = 0.1;
        exact_tree(decision, i, SMALL);
        branch_solver_set(s, decision, length);
        check_status(branch_solver_mode(s, 1e-6));
        laplace[i] = s->laplace;
    }
    branch_solver_free(s);
}

/* More climbs are made before anything else, as long as few of them have come near the best. */
static void climbs_go_on_where_few_find_the_top(void **state)
{
    (void)state;
    collapsed_settings set = collapsed_defaults(1);
    set.search.starts = 10;
    set.search.start_batch = 4;
    set.search.most_starts = 30;
    for (int few = 0; few < 2; few++) {
        bench b;
        int done = 0;
        set.search.found_scale = few ? 1e-9 : 1e9; /* only the best counts, or all alike */
        set.search.missing = few ? 0 : exp2(-9.5);
        set.search.rugged = few ? 2 : 0.25;
        bench_init(&b, 12, 30, &set, 10000, 1);
        const search_counts *n = tree_search_counts(b.x);
        while (tree_search_is_starting(b.x)) {
            check_status(tree_search_advance(b.x, &done));
            assert_int_equal(n->expanded + n->widened, 0);
        }
        assert_int_equal(n->starts, few ? 30 : 10);
        assert_int_equal(peak_list_climbs(tree_search_peaks(b.x)), n->starts);
        check_status(tree_search_advance(b.x, &done));
        assert_int_not_equal(n->expanded + n->widened, 0);
        if (few) { /* and other peaks are looked for around the best */
            const int64_t best = tree_table_best(&b.table);
            int peaks = 0;
            for (size_t i = 0; i < b.table.count; i++)
                peaks += b.table.mark[i] & TREE_PEAK ? 1 : 0;
            assert_true(n->shaken > 0 && b.table.mark[best] & TREE_SHAKEN);
            assert_int_equal(tree_search_peaks(b.x)->trees.count, peaks);
        } else {
            assert_int_equal(n->shaken, 0); /* only if there are to be chains */
            assert_true(tree_search_wants_shakes(b.x));
            while (tree_search_wants_shakes(b.x))
                check_status(tree_search_shake(b.x));
            assert_in_range(n->shaken, 1, set.search.shaken);
            check_near(tree_search_found(b.x), 10, 1e-6);
        }
        check_near(tree_search_unfound(b.x), exp2(-tree_search_found(b.x)), 0);
        bench_free(&b);
    }
}

/* Without a window everything is found, and every tree has the value that it has by itself. */
static void everything_can_be_found(void **state)
{
    (void)state;
    collapsed_settings set = collapsed_defaults(1);
    set.search.window = 1e9;
    set.search.unexpanded_mass = set.search.unfitted = 0;
    set.search.tolerance = 1e-6;
    set.search.starts = 2;
    set.search.idle_starts = 0;
    bench b;
    double laplace[TREES];
    bench_init(&b, SMALL, 60, &set, 10000, 2);
    enumerate(laplace, &b.data);
    check_status(tree_search_run(b.x, NULL, NULL));
    assert_int_equal(b.table.count, TREES);
    const double best = b.table.laplace[tree_table_best(&b.table)];
    for (int i = 0; i < TREES; i++) {
        int32_t decision[SMALL];
        exact_tree(decision, i, SMALL);
        const int64_t at = tree_table_find(&b.table, decision);
        assert_true(at >= 0 && !(b.table.mark[at] & TREE_UNFITTED));
        /* Bad trees may have two modes, and another way to them may end in the other. */
        check_near(b.table.laplace[at], laplace[i], laplace[i] > best - 20 ? 1e-3 : 5);
    }
    assert_int_equal(tree_search_counts(b.x)->expanded, TREES);
    assert_true(tree_search_unexpanded(b.x) == 0 && tree_search_unfitted(b.x) == 0);
    bench_free(&b);
}

/* With the defaults nothing of weight is missed. */
static void what_matters_is_found(void **state)
{
    (void)state;
    collapsed_settings set = collapsed_defaults(2);
    bench b;
    double laplace[TREES], top = -HUGE_VAL, all = 0, missed = 0;
    bench_init(&b, SMALL, 60, &set, 10000, 2);
    enumerate(laplace, &b.data);
    check_status(tree_search_run(b.x, NULL, NULL));
    for (int i = 0; i < TREES; i++)
        top = fmax(top, laplace[i]);
    for (int i = 0; i < TREES; i++) {
        int32_t decision[SMALL];
        exact_tree(decision, i, SMALL);
        all += exp(laplace[i] - top);
        if (tree_table_find(&b.table, decision) < 0)
            missed += exp(laplace[i] - top);
    }
    assert_true(missed < 0.002 * all);
    assert_true(b.table.count < TREES);
    check_near(tree_table_log_sum(&b.table, 0, 0), top + log(all), FIT_ERROR);
    bench_free(&b);
}

static void check_same(const tree_table *a, const tree_table *b)
{
    assert_int_equal(a->count, b->count);
    assert_memory_equal(a->decision, b->decision, a->count * a->n_decisions * sizeof(int32_t));
    assert_memory_equal(a->length, b->length, a->count * a->n_edges * sizeof(float));
    assert_memory_equal(a->laplace, b->laplace, a->count * sizeof(double));
    assert_memory_equal(a->mark, b->mark, a->count);
}

static collapsed_settings small_settings(void)
{
    collapsed_settings set = collapsed_defaults(3);
    set.search.starts = 6;
    set.search.more_starts = 3;
    set.search.idle_starts = 3;
    set.search.batch = 20;
    set.search.widen = 10;
    set.search.rugged = 2; /* always */
    set.search.shake_pieces = 20;
    set.search.most_shaken = 8;
    return set;
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    collapsed_settings set = small_settings();
    bench one, three;
    bench_init(&one, 16, 80, &set, 700, 1);
    bench_init(&three, 16, 80, &set, 700, 3);
    check_status(tree_search_run(one.x, NULL, NULL));
    check_status(tree_search_run(three.x, NULL, NULL));
    assert_true(one.table.count > 100);
    assert_in_range(tree_search_counts(one.x)->shaken, 1, 8);
    check_same(&one.table, &three.table);
    assert_memory_equal(tree_search_counts(one.x), tree_search_counts(three.x),
                        sizeof(search_counts));
    bench_free(&one);
    bench_free(&three);
}

/* Stops before the n-th round. */
static int stop_after(void *context, const tree_search *x)
{
    (void)x;
    return --*(int *)context < 0;
}

/* Stopped anywhere, written down, read by another and carried on: the same in the end. */
static void goes_on_where_it_stopped(void **state)
{
    (void)state;
    collapsed_settings set = small_settings();
    bench whole;
    bench_init(&whole, 12, 60, &set, 400, 2);
    check_status(tree_search_run(whole.x, NULL, NULL));
    for (int rounds = 0; rounds < 12; rounds += 2) {
        int left = rounds;
        bench first, second;
        bench_init(&first, 12, 60, &set, 400, 2);
        bench_init(&second, 12, 60, &set, 400, 1);
        int status = tree_search_run(first.x, stop_after, &left);
        assert_true(status == ART_ERR_STOPPED || status == ART_OK);
        saved_state s = {0};
        check_status(tree_table_fields(&first.table, &s));
        check_status(tree_search_fields(first.x, &s));
        state_turn(&s, NULL);
        check_status(tree_table_fields(&second.table, &s));
        check_status(tree_search_fields(second.x, &s));
        check_status(saved_state_end(&s));
        saved_state_free(&s);
        check_status(tree_search_run(second.x, NULL, NULL));
        check_same(&whole.table, &second.table);
        bench_free(&first);
        bench_free(&second);
    }
    bench_free(&whole);
}

static void given_trees(void **state)
{
    (void)state;
    collapsed_settings set = small_settings();
    bench b;
    bench_init(&b, SMALL, 60, &set, 10000, 2);
    double laplace[TREES];
    enumerate(laplace, &b.data);
    int32_t decision[30][SMALL - 3];
    for (int i = 0; i < 30; i++)
        exact_tree(decision[i], 37 * (i % 20), SMALL); /* ten come twice */
    int64_t found;
    double g[30], again[30];
    check_status(tree_search_add(b.x, g, decision[0], 30, &found));
    assert_int_equal(found, 20);
    for (int i = 0; i < 30; i++)
        check_near(g[i], laplace[37 * (i % 20)], FIT_ERROR);
    assert_int_equal(b.table.count, 20);
    for (size_t i = 0; i < 20; i++) {
        assert_int_equal(b.table.mark[i], TREE_DRAWN);
        check_near(b.table.laplace[i], laplace[37 * i], FIT_ERROR);
    }
    check_status(tree_search_add(b.x, again, decision[0], 30, &found));
    assert_int_equal(found, 0);
    assert_memory_equal(again, g, sizeof g);
    bench_free(&b);
}

/* What a full table does not take is worth as much as if it did. */
static void given_trees_of_a_full_table(void **state)
{
    (void)state;
    collapsed_settings set = small_settings();
    bench b;
    bench_init(&b, SMALL, 60, &set, 8, 2);
    double laplace[TREES], g[20];
    enumerate(laplace, &b.data);
    int32_t decision[20][SMALL - 3];
    for (int i = 0; i < 20; i++)
        exact_tree(decision[i], 37 * i, SMALL);
    int64_t found;
    check_status(tree_search_add(b.x, g, decision[0], 20, &found));
    assert_true(b.table.count <= 8 && found < 20);
    for (int i = 0; i < 20; i++)
        check_near(g[i], laplace[37 * i], FIT_ERROR);
    bench_free(&b);
}

static void bad_settings(void **state)
{
    (void)state;
    collapsed_settings set = collapsed_defaults(1);
    bench b;
    bench_init(&b, 5, 10, &set, 100, 1);
    tree_search *x;
    set.search.batch = 0;
    assert_int_equal(tree_search_create(&x, &b.data, &b.p.alignment, NULL, &b.table, &set, NULL),
                     ART_ERR_USAGE);
    assert_null(x);
    tree_search_free(x);
    saved_state empty = {0};
    state_turn(&empty, NULL);
    assert_int_equal(tree_search_fields(b.x, &empty), ART_ERR_MISMATCH);
    saved_state_free(&empty);
    bench_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(climbs_go_on_where_few_find_the_top),
        cmocka_unit_test(everything_can_be_found),
        cmocka_unit_test(what_matters_is_found),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(goes_on_where_it_stopped),
        cmocka_unit_test(given_trees),
        cmocka_unit_test(given_trees_of_a_full_table),
        cmocka_unit_test(bad_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
