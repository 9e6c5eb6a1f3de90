/* The trees that stand for a table: weights kept, nothing twice, the gap that of the table. */
#include "support/check.h"
#include "support/exact.h"
#include "support/table_model.h"

#include "artreeformer.h"
#include "train/divergence.h"
#include "collapsed/fit_targets.h"

#include <math.h>
#include <stdlib.h>

enum { TREES = 1000, MOST = 100, ALL = 15 }; /* ALL: topologies of TABLE_TAXA taxa */

/* A few heavy trees and a long tail of half the weight. */
static void fill(double weight[TREES])
{
    double sum = 0;
    for (int i = 0; i < TREES; i++)
        sum += weight[i] = 1.0 / (i + 3);
    for (int i = 0; i < TREES; i++)
        weight[i] /= sum;
}

static void few_stand_for_themselves(void **state)
{
    (void)state;
    double weight[TREES], stands_for[TREES];
    size_t kept[TREES];
    fill(weight);
    assert_int_equal(fit_targets_thin(kept, stands_for, weight, TREES, TREES), TREES);
    for (size_t i = 0; i < TREES; i++) {
        assert_int_equal(kept[i], i);
        check_near(stands_for[i], weight[i], 0);
    }
}

static void many_are_thinned(void **state)
{
    (void)state;
    double weight[TREES], stands_for[MOST], sum = 0, mean = 0, exact = 0;
    size_t kept[MOST];
    fill(weight);
    const size_t n = fit_targets_thin(kept, stands_for, weight, TREES, MOST);
    assert_true(n == MOST || n == MOST - 1);
    for (size_t i = 0; i < n; i++) {
        assert_true(i == 0 || kept[i] > kept[i - 1]);
        assert_true(stands_for[i] >= weight[kept[i]] * (1 - 1e-12)); /* rounding of the shares */
        sum += stands_for[i];
        mean += stands_for[i] * log(weight[kept[i]]);
    }
    check_near(stands_for[0], weight[0], 0); /* the heavy ones are themselves */
    check_near(stands_for[10], weight[10], 0);
    check_near(stands_for[n - 1], stands_for[n - 2], 0); /* the light ones alike */
    check_near(sum, 1, 0.011);                           /* one share at most is missing */
    for (int i = 0; i < TREES; i++)
        exact += weight[i] * log(weight[i]);
    /* a sum of a smooth function: the error of a midpoint rule with 80 points on half of it */
    check_near(mean, exact, 0.01);
}

static void equal_weights_are_thinned(void **state)
{
    (void)state;
    double weight[TREES], stands_for[MOST], sum = 0;
    size_t kept[MOST];
    for (int i = 0; i < TREES; i++)
        weight[i] = 1.0 / TREES;
    const size_t n = fit_targets_thin(kept, stands_for, weight, TREES, MOST);
    for (size_t i = 0; i < n; i++)
        sum += stands_for[i];
    check_near(sum, 1, 0.011);
    assert_int_equal(fit_targets_thin(kept, stands_for, weight, TREES, 1), 1);
    check_near(stands_for[0], 1, 1e-12); /* a thousand additions */
}

/* A table of all trees of five taxa, number i with g = -i / 4. */
static void fill_table(tree_table *t)
{
    const double length[2 * TABLE_TAXA - 3] = {0};
    check_status(tree_table_init(t, TABLE_TAXA, 100));
    for (int i = 0; i < ALL; i++) {
        int32_t decision[TABLE_TAXA - 3];
        int64_t at;
        exact_tree(decision, i, TABLE_TAXA);
        check_status(tree_table_add(t, &at, &(tree_entry){decision, length, -i / 4.0, 0}));
    }
}

static void gaps_are_divergences(void **state)
{
    (void)state;
    tree_table t;
    fit_targets all, some;
    topology_model *q;
    divergence exact;
    double fit_kl;
    fill_table(&t);
    check_status(table_model_create(&q));
    q->ops->initialise(q, 2);
    check_status(fit_targets_choose(&all, &t, 100));
    assert_int_equal(all.count, ALL);
    check_status(divergence_compute(&exact, q, all.decision, all.weight, ALL, 4));
    check_status(fit_targets_gap(&fit_kl, &all, q, 100));
    check_near(fit_kl, exact.kl, 1e-12); /* the same sum */
    for (int i = 0; i < ALL; i++)
        check_near(exp(all.log_p[i]), all.weight[i], 1e-15);
    /* the weights of fewer are larger, their probabilities the same */
    check_status(fit_targets_choose(&some, &t, 6));
    assert_true(some.count == 5 || some.count == 6);
    double sum = 0;
    for (size_t i = 0; i < some.count; i++)
        sum += some.weight[i];
    check_near(sum, 1, 1e-15 * ALL);
    check_near(some.log_p[0], all.log_p[0], 0);
    fit_targets_free(&all);
    fit_targets_free(&some);
    tree_table_free(&t);
    q->ops->free(q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_stand_for_themselves),
        cmocka_unit_test(many_are_thinned),
        cmocka_unit_test(equal_weights_are_thinned),
        cmocka_unit_test(gaps_are_divergences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
