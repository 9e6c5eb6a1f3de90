#include "support/check.h"
#include "support/memory.h"

#include "artreeformer.h"
#include "base/rng.h"
#include "density/distinct.h"

#include <string.h>

static void finds_every_tree_once(void **state)
{
    (void)state;
    enum { MOST = 200 };
    distinct d = {0};
    int32_t decision[MOST][3];
    for (uint32_t round = 0; round < 50; round++) { /* 105 topologies on 6 taxa */
        rng r = rng_at(1, RNG_TEST, round, 0);
        const int k = (int)rng_below(&r, MOST + 1);
        for (int i = 0; i < k; i++)
            for (uint32_t j = 0; j < 3; j++)
                decision[i][j] = (int32_t)rng_below(&r, 2 * j + 3);
        check_status(distinct_reserve(&d, k, 6));
        distinct_set(&d, decision[0], k);
        int next = 0; /* numbers are given in the order of the first occurrences */
        for (int i = 0; i < k; i++) {
            assert_memory_equal(d.decision + 3 * d.of[i], decision[i], sizeof decision[i]);
            assert_true(d.of[i] <= next);
            next += d.of[i] == next;
        }
        assert_int_equal(next, d.count);
        for (int i = 0; i < d.count; i++)
            for (int j = 0; j < i; j++)
                assert_memory_not_equal(d.decision + 3 * i, d.decision + 3 * j, 12);
    }
    distinct_free(&d);
    distinct_free(&d);
}

static void three_taxa_have_one_tree(void **state)
{
    (void)state;
    distinct d = {0};
    check_status(distinct_reserve(&d, 5, 3));
    distinct_set(&d, (int32_t[1]){0}, 5);
    assert_int_equal(d.count, 1);
    distinct_free(&d);
}

static void memory_is_needed_once(void **state)
{
    (void)state;
    distinct d = {0};
    int32_t decision[4] = {0, 1, 2, 0};
    for (long k = 1; k <= 3; k++) {
        memory_fail_at(k);
        assert_int_equal(distinct_reserve(&d, 4, 4), ART_ERR_NOMEM);
    }
    memory_fail_at(0);
    check_status(distinct_reserve(&d, 4, 4));
    long before = memory_count();
    for (int k = 0; k <= 4; k++) {
        check_status(distinct_reserve(&d, k, 4));
        distinct_set(&d, decision, k);
        assert_int_equal(d.count, k < 3 ? k : 3);
    }
    assert_int_equal(memory_count(), before);
    distinct_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_every_tree_once),
        cmocka_unit_test(three_taxa_have_one_tree),
        cmocka_unit_test(memory_is_needed_once),
    };
    return cmocka_run_group_tests_name("distinct", tests, NULL, NULL);
}
