#include "support/check.h"
#include "support/exact.h"
#include "support/problem.h"
#include "support/state.h"

#include "artreeformer.h"
#include "collapsed/basins.h"
#include "collapsed/chain_stage.h"
#include "collapsed/chain_starts.h"
#include "tree/rearrange.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 7, D = N - 3, E = 2 * N - 3 };

static void add(tree_table *t, const int32_t *decision, double laplace, uint8_t mark)
{
    double length[E];
    int64_t at;
    for (int e = 0; e < E; e++)
        length[e] = 0.1;
    const tree_entry e = {decision, length, laplace, mark};
    check_status(tree_table_add(t, &at, &e));
    assert_true(at >= 0);
}

/* A tree that `count` interchanges at different branches lead to. */
static void interchanged(int32_t *out, const int32_t *decision, int count)
{
    topology t;
    int32_t scratch[6 * N];
    check_status(topology_init(&t, N));
    topology_build(&t, decision);
    for (int32_t v = N; v < topology_nodes(N) && count > 0; v++)
        if (topology_has_nni(&t, v)) {
            topology_nni(&t, v, 0);
            count--;
        }
    topology_decisions(out, NULL, &t, scratch);
    topology_free(&t);
}

static void neighbour(int32_t *out, const int32_t *decision)
{
    interchanged(out, decision, 1);
}

/* Two trees that are far apart, with shares 3/4 and 1/4, and a neighbour of the first of no weight.
 */
static void two_basins(tree_table *t, int32_t far[2][D])
{
    int32_t near[D];
    caterpillar(far[0], N);
    for (int i = 0; i < D; i++)
        far[1][i] = 0; /* a comb of the taxa in another order */
    neighbour(near, far[0]);
    check_status(tree_table_init(t, N, 100));
    add(t, far[0], log(0.75), TREE_PEAK);
    add(t, far[1], log(0.25), TREE_PEAK);
    add(t, near, -40, 0);
}

static void rare_hits_tell_of_more(void **state)
{
    (void)state;
    tree_table t;
    peak_list peaks;
    int32_t far[2][D], near[D];
    double missing;
    two_basins(&t, far);
    neighbour(near, far[0]);
    peak_list_init(&peaks, N);
    check_near(peak_list_found(&peaks, 10), 0, 0);
    check_status(basins_missing(&missing, &t, &peaks, 10));
    check_near(missing, 1, 1e-12); /* no climb at all */
    for (int i = 0; i < 3; i++)
        check_status(peak_list_add(&peaks, far[0], 0, 1));
    check_status(peak_list_add(&peaks, far[1], -1, 1));
    check_status(basins_missing(&missing, &t, &peaks, 10));
    check_near(missing, 0.75 / 8 + 0.25 / 2, 1e-12);
    check_status(peak_list_add(&peaks, near, -40, 1)); /* in the first basin */
    check_status(basins_missing(&missing, &t, &peaks, 10));
    check_near(missing, 0.75 / 16 + 0.25 / 2, 1e-12);
    check_status(basins_missing(&missing, &t, &peaks, 1)); /* only the heaviest tree counts */
    check_near(missing, 0.75 / 8, 1e-12);
    peak_list_free(&peaks);
    tree_table_free(&t);
}

static void peaks_are_saved(void **state)
{
    (void)state;
    tree_table t;
    peak_list peaks, loaded;
    int32_t far[2][D];
    two_basins(&t, far);
    peak_list_init(&peaks, N);
    peak_list_init(&loaded, N);
    for (int i = 0; i < 5; i++)
        check_status(peak_list_add(&peaks, far[i % 2], -(double)(i % 2), 1));
    saved_state s = {0};
    check_status(peak_list_fields(&peaks, &s, N));
    state_turn(&s, NULL);
    check_status(peak_list_fields(&loaded, &s, N));
    check_status(saved_state_end(&s));
    saved_state_free(&s);
    assert_int_equal(loaded.trees.count, 2);
    assert_int_equal(loaded.hits[0], 3);
    assert_int_equal(loaded.hits[1], 2);
    check_status(peak_list_add(&loaded, far[1], -1, 1)); /* there is room to go on */
    assert_int_equal(loaded.hits[1], 3);
    check_near(peak_list_found(&loaded, 10), 3 + 3 * exp(-0.1), 1e-12);
    size_t number[2];
    assert_int_equal(peak_list_best(number, &loaded, 0.5), 1);
    assert_int_equal(peak_list_best(number, &loaded, 1.5), 2);
    assert_true(number[0] == 0 && number[1] == 1);
    peak_list_free(&peaks);
    peak_list_free(&loaded);
    tree_table_free(&t);
}

static int start_chains(void *stage, const int32_t *decision, const double *length)
{
    return chain_stage_start(stage, decision, length);
}

/* Chains begin at the best peak, then at the best of those farther than a quarter of the largest
 * distance, then at the best that is left. */
static void chains_begin_far_apart(void **state)
{
    (void)state;
    problem data = problem_random(N, 6, 1, 1);
    subst_model m = model_of("JC", NULL);
    branch_posterior posterior;
    chain_stage *s;
    tree_table t;
    int32_t far[2][D], middle[D], near[D], bad[D];
    const collapsed_settings set = collapsed_defaults(1);
    check_status(
        branch_posterior_init(&posterior, &data.alignment, NULL, &m, branch_prior_exponential(10)));
    two_basins(&t, far);
    neighbour(near, far[0]);
    t.mark[tree_table_find(&t, near)] |= TREE_PEAK;
    t.laplace[tree_table_find(&t, near)] = -0.5;
    interchanged(middle, far[0], 2); /* nearer than far[1], and better */
    add(&t, middle, -0.7, TREE_PEAK);
    for (int i = 0; i < D; i++)
        bad[i] = 2 * i + 2;
    add(&t, bad, -1000, TREE_PEAK); /* too far below the others */
    check_status(chain_stage_create(&s, &posterior, &set.chains, 1, NULL, NULL));
    check_status(chain_starts(&t, 30, set.chains.chains, start_chains, s));
    const int32_t *expected[] = {far[0], middle, far[1], near};
    for (int i = 0; i < 4; i++)
        assert_memory_equal(tree_chain_decision(tree_chains_at(s->chains, i)), expected[i],
                            sizeof far[0]);
    chain_stage_free(s);
    tree_table_clear(&t);
    assert_int_equal(t.count, 0);
    add(&t, near, 0, 0); /* a cleared table is one again */
    assert_int_equal(chain_starts(&t, 30, 4, start_chains, NULL), ART_ERR_USAGE); /* no peak */
    tree_table_free(&t);
    branch_posterior_free(&posterior);
    problem_free(&data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rare_hits_tell_of_more),
        cmocka_unit_test(peaks_are_saved),
        cmocka_unit_test(chains_begin_far_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
