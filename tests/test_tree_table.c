#include "support/check.h"
#include "support/files.h"
#include "support/state.h"

#include "artreeformer.h"
#include "base/rng.h"
#include "collapsed/tree_table.h"
#include "tree/topology.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 12, DECISIONS = N - 3, EDGES = 2 * N - 3 };

/* Tree number i: random, the same at every call; its laplace and lengths tell which it is. */
static void tree_of(int32_t *decision, double *length, double *laplace, uint32_t i)
{
    rng r = rng_at(1, RNG_TEST, 0, i);
    for (int k = 0; k < DECISIONS; k++)
        decision[k] = (int32_t)rng_below(&r, (uint32_t)topology_edges(k + 3));
    for (int e = 0; e < EDGES; e++)
        length[e] = (double)i + e;
    *laplace = -1000 - 100 * rng_uniform(&r);
}

static int64_t add(tree_table *t, uint32_t i, uint8_t mark)
{
    int32_t decision[DECISIONS];
    double length[EDGES], laplace;
    int64_t at;
    tree_of(decision, length, &laplace, i);
    const tree_entry e = {decision, length, laplace, mark};
    check_status(tree_table_add(t, &at, &e));
    return at;
}

static int64_t find(const tree_table *t, uint32_t i)
{
    int32_t decision[DECISIONS];
    double length[EDGES], laplace;
    tree_of(decision, length, &laplace, i);
    return tree_table_find(t, decision);
}

static void check_entry(const tree_table *t, int64_t at, uint32_t i)
{
    int32_t decision[DECISIONS];
    double length[EDGES], kept[EDGES], laplace;
    tree_of(decision, length, &laplace, i);
    assert_memory_equal(tree_table_decision(t, (size_t)at), decision, sizeof decision);
    tree_table_lengths(kept, t, (size_t)at);
    for (int e = 0; e < EDGES; e++)
        check_near(kept[e], length[e], 0); /* small integers are floats */
    check_near(t->laplace[at], laplace, 0);
}

static void finds_what_was_added(void **state)
{
    (void)state;
    tree_table t;
    check_status(tree_table_init(&t, N, 100000));
    assert_int_equal(find(&t, 0), -1);
    for (uint32_t i = 0; i < 5000; i++) {
        assert_int_equal(find(&t, i), -1);
        assert_int_equal(add(&t, i, (uint8_t)(i % 3)), i);
        assert_int_equal(find(&t, i), i);
    }
    double top = -HUGE_VAL, sum[3] = {0};
    int64_t best = 0;
    for (uint32_t i = 0; i < 5000; i++) {
        check_entry(&t, find(&t, i), i);
        check_near(t.log_evidence[i], t.laplace[i], 0);
        if (t.log_evidence[i] > top) {
            top = t.log_evidence[i];
            best = i;
        }
    }
    for (uint32_t i = 0; i < 5000; i++)
        for (int k = 0; k < 3; k++)
            sum[k] += (k == 0 || (k == 1 ? t.mark[i] & 1 : !(t.mark[i] & 2))) *
                      exp(t.log_evidence[i] - top);
    assert_int_equal(tree_table_best(&t), best);
    check_near(tree_table_log_sum(&t, 0, 0), top + log(sum[0]), 1e-9);
    check_near(tree_table_log_sum(&t, 1, 0), top + log(sum[1]), 1e-9);
    check_near(tree_table_log_sum(&t, 0, 2), top + log(sum[2]), 1e-9);
    assert_true(tree_table_log_sum(&t, 64, 0) == -HUGE_VAL);
    tree_table_free(&t);
    tree_table_free(&t);
}

/* What is left is the best of what was offered since the first eviction, and what went is
 * counted. */
static void the_least_go_first(void **state)
{
    (void)state;
    enum { CAPACITY = 100, OFFERED = 2000 };
    tree_table t;
    check_status(tree_table_init(&t, N, CAPACITY));
    for (uint32_t i = 0; i < OFFERED; i++) {
        const int64_t evicted = t.evicted;
        add(&t, i, 0);
        assert_true(t.count <= CAPACITY);
        if (t.evicted > evicted)
            assert_int_equal(t.evicted - evicted, CAPACITY / 8);
    }
    assert_int_equal((int64_t)t.count + t.evicted + t.refused, OFFERED);
    assert_true(t.evicted > 0 && t.refused > 0);
    /* Every tree above the floor is there, and no other; in the order of arrival. */
    int64_t last = -1;
    for (uint32_t i = 0; i < OFFERED; i++) {
        int32_t decision[DECISIONS];
        double length[EDGES], laplace;
        tree_of(decision, length, &laplace, i);
        const int64_t at = find(&t, i);
        assert_int_equal(at >= 0, laplace > t.floor);
        if (at >= 0) {
            assert_int_equal(at, last + 1);
            last = at;
            check_entry(&t, at, i);
        }
    }
    tree_table_free(&t);
}

/* The part that goes is a setting, and one tree at least. */
static void another_part_goes(void **state)
{
    (void)state;
    static const struct {
        int part;
        int64_t evicted;
    } table[] = {{2, 50}, {100, 1}, {1000, 1}};
    for (size_t k = 0; k < sizeof table / sizeof table[0]; k++) {
        tree_table t;
        uint32_t i = 0;
        check_status(tree_table_init(&t, N, 100));
        t.set.evicted_part = table[k].part;
        while (t.evicted == 0)
            add(&t, i++, 0);
        assert_int_equal(t.evicted, table[k].evicted);
        tree_table_free(&t);
    }
}

static void updates(void **state)
{
    (void)state;
    tree_table t;
    double length[EDGES] = {7};
    check_status(tree_table_init(&t, N, 8));
    add(&t, 0, 0);
    add(&t, 1, 0);
    t.log_evidence[1] = -5;
    t.error[1] = 0.1f;
    for (size_t i = 0; i < 2; i++)
        tree_table_update(&t, i, length, -1);
    check_near(t.log_evidence[0], -1, 0);
    check_near(t.log_evidence[1], -5, 0); /* a better estimate stays */
    check_near(t.laplace[1], -1, 0);
    check_near((double)t.length[EDGES], 7, 0);
    tree_table_free(&t);
}

static void survives_a_file(void **state)
{
    (void)state;
    scratch_make();
    const char *path = scratch_path("table.safetensors");
    tree_table t, back;
    check_status(tree_table_init(&t, N, 1000));
    check_status(tree_table_init(&back, N, 1000));
    for (uint32_t count = 0; count <= 3000; count += 1500) {
        for (uint32_t i = count < 1500 ? 0 : count - 1500; i < count; i++)
            add(&t, i, (uint8_t)(i % 7));
        saved_state s = {0};
        check_status(tree_table_fields(&t, &s));
        check_status(saved_state_write(&s, path, NULL));
        saved_state_free(&s);
        check_status(saved_state_read(&s, path, NULL));
        check_status(tree_table_fields(&back, &s));
        check_status(saved_state_end(&s));
        saved_state_free(&s);
        assert_int_equal(back.count, t.count);
        assert_int_equal(back.evicted, t.evicted);
        assert_int_equal(back.refused, t.refused);
        assert_true(back.floor == t.floor);
        for (size_t i = 0; i < t.count; i++) {
            assert_memory_equal(tree_table_decision(&back, i), tree_table_decision(&t, i),
                                DECISIONS * sizeof(int32_t));
            assert_int_equal(tree_table_find(&back, tree_table_decision(&t, i)), i);
            assert_int_equal(back.mark[i], t.mark[i]);
            check_near(back.log_evidence[i], t.log_evidence[i], 0);
        }
        if (t.count)
            assert_memory_equal(back.length, t.length, t.count * EDGES * sizeof(float));
    }
    tree_table_free(&t);
    tree_table_free(&back);
    scratch_remove();
}

static void files_that_do_not_fit(void **state)
{
    (void)state;
    tree_table t, other;
    check_status(tree_table_init(&t, N, 1000));
    for (uint32_t i = 0; i < 20; i++)
        add(&t, i, 0);
    for (int kind = 0; kind < 4; kind++) {
        saved_state s = {0};
        check_status(tree_table_init(&other, kind == 0 ? N + 1 : N, kind == 1 ? 10 : 1000));
        if (kind == 2)
            t.decision[3] = 2 * 3 + 3; /* one edge too far */
        if (kind < 3)
            check_status(tree_table_fields(&t, &s));
        state_turn(&s, NULL);
        assert_int_equal(tree_table_fields(&other, &s), ART_ERR_MISMATCH);
        assert_int_equal(other.count, 0);
        if (kind > 0) /* on as many taxa */
            assert_int_equal(find(&other, 0), -1);
        saved_state_free(&s);
        tree_table_free(&other);
    }
    tree_table_free(&t);
    assert_int_equal(tree_table_init(&t, 2, 100), ART_ERR_USAGE);
    assert_int_equal(tree_table_init(&t, 5, 7), ART_ERR_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_was_added), cmocka_unit_test(the_least_go_first),
        cmocka_unit_test(another_part_goes),    cmocka_unit_test(updates),
        cmocka_unit_test(survives_a_file),      cmocka_unit_test(files_that_do_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
