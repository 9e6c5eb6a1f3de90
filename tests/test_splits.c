#include "support/check.h"
#include "support/state.h"

#include "artreeformer.h"
#include "base/rng.h"
#include "tree/splits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX = 150 };

static void random_decisions(int32_t *decision, int32_t n, rng *r)
{
    for (int32_t j = 0; j < n - 3; j++)
        decision[j] = (int32_t)rng_below(r, (uint32_t)topology_edges(j + 3));
}

/* Which taxa are below a node, by walking up from every leaf. */
static void below(uint64_t *out, const topology *t, int32_t node)
{
    memset(out, 0, split_words(t->n_taxa) * sizeof *out);
    for (int32_t taxon = 1; taxon < t->n_taxa; taxon++)
        for (int32_t v = taxon; v != 0; v = t->parent[v])
            if (v == node)
                out[taxon / 64] |= (uint64_t)1 << (taxon % 64);
}

static void splits_are_what_is_below(void **state)
{
    (void)state;
    static uint64_t split[2 * MAX][3], expected[3];
    for (int32_t n = 3; n <= MAX; n += n < 10 ? 1 : 27) {
        topology t;
        int32_t decision[MAX], order[2 * MAX];
        size_t words = split_words(n);
        rng r = rng_at(1, RNG_TEST, (uint32_t)n, 0);
        check_status(topology_init(&t, n));
        random_decisions(decision, n, &r);
        topology_build(&t, decision);
        splits_of(split[0], &t, order);
        int32_t trivial = 0;
        for (int32_t e = 0; e < topology_edges(n); e++) {
            const uint64_t *s = split[0] + (size_t)e * words;
            below(expected, &t, edge_node(e, n));
            assert_memory_equal(s, expected, words * sizeof *s);
            assert_false(split_has(s, 0));
            trivial += split_is_trivial(s, n);
        }
        assert_int_equal(trivial, n);
        topology_free(&t);
    }
}

/* By the definition: taxa of both kinds on either side. */
static bool compatible_by_definition(const uint64_t *a, const uint64_t *b, int32_t n)
{
    int seen[2][2] = {{0}};
    for (int32_t i = 0; i < n; i++)
        seen[split_has(a, i)][split_has(b, i)] = 1;
    return seen[0][0] + seen[0][1] + seen[1][0] + seen[1][1] < 4;
}

static void compatibility(void **state)
{
    (void)state;
    enum { N = 6 };
    for (uint64_t a = 2; a < 1 << N; a += 2)
        for (uint64_t b = 2; b < 1 << N; b += 2)
            assert_int_equal(split_compatible(&a, &b, N), compatible_by_definition(&a, &b, N));
}

static int32_t distance_by_definition(const topology *a, const topology *b)
{
    static uint64_t x[2 * MAX * 3], y[2 * MAX * 3];
    int32_t order[2 * MAX], edges = topology_edges(a->n_taxa), common = 0;
    size_t words = split_words(a->n_taxa);
    splits_of(x, a, order);
    splits_of(y, b, order);
    for (int32_t i = 0; i < edges; i++)
        for (int32_t j = 0; j < edges; j++)
            common += memcmp(x + (size_t)i * words, y + (size_t)j * words, words * 8) == 0;
    return 2 * (edges - common);
}

/* Random trees, and trees that differ in few places only. */
static void robinson_foulds(void **state)
{
    (void)state;
    for (int32_t n = 3; n <= MAX; n += n < 12 ? 1 : 23) {
        topology a, b;
        rf r;
        check_status(topology_init(&a, n));
        check_status(topology_init(&b, n));
        check_status(rf_init(&r, n));
        for (uint32_t i = 0; i < (n < 12 ? 400u : 40u); i++) {
            rng g = rng_at(2, RNG_TEST, (uint32_t)n, i);
            int32_t decision[MAX], other[MAX];
            random_decisions(decision, n, &g);
            random_decisions(other, n, &g);
            if (i % 2)
                memcpy(other, decision, (size_t)(n * 3 / 4) * sizeof *other);
            topology_build(&a, decision);
            topology_build(&b, other);
            rf_set(&r, &a);
            assert_int_equal(rf_distance(&r, &a), 0);
            int32_t expected = distance_by_definition(&a, &b);
            assert_int_equal(rf_distance(&r, &b), expected);
            assert_int_equal(rf_distance(&r, &b), expected); /* the reference is still there */
            rf_set(&r, &b);
            assert_int_equal(rf_distance(&r, &a), expected);
        }
        topology_free(&a);
        topology_free(&b);
        rf_free(&r);
    }
}

static uint64_t bits(const char *taxa)
{
    uint64_t out = 0;
    for (; *taxa; taxa++)
        out |= (uint64_t)1 << (*taxa - 'a');
    return out;
}

/* Frequencies and lengths against sums over the trees. */
static void table_of_splits(void **state)
{
    (void)state;
    enum { N = 7, TREES = 300, EDGES = 2 * N - 3 };
    static int32_t decision[TREES][N];
    static double length[TREES][EDGES], weight[TREES];
    static uint64_t split[TREES][EDGES];
    split_table s;
    topology t;
    check_status(split_table_init(&s, N));
    check_status(topology_init(&t, N));
    double total = 0;
    for (uint32_t i = 0; i < TREES; i++) {
        rng r = rng_at(3, RNG_TEST, 0, i);
        int32_t order[EDGES];
        random_decisions(decision[i], N, &r);
        weight[i] = i % 10 == 0 ? 0 : rng_uniform(&r);
        for (int e = 0; e < EDGES; e++)
            length[i][e] = rng_below(&r, 8) == 0 ? (double)NAN : 1000 + rng_normal(&r);
        check_status(split_table_add(&s, decision[i], i % 7 ? length[i] : NULL, weight[i]));
        topology_build(&t, decision[i]);
        splits_of(split[i], &t, order);
        total += weight[i];
    }
    check_close(s.total, total, 1e-14); /* the same sum */
    size_t *order = calloc(s.count, sizeof *order);
    check_status(split_table_order(order, &s));
    for (size_t k = 0; k < s.count; k++) {
        size_t i = order[k];
        double w = 0, known = 0, sum = 0, squares = 0;
        for (uint32_t j = 0; j < TREES; j++)
            for (int e = 0; e < EDGES; e++)
                if (split[j][e] == *split_table_bits(&s, i)) {
                    w += weight[j];
                    if (j % 7 && !isnan(length[j][e])) {
                        known += weight[j];
                        sum += weight[j] * (length[j][e] - 1000);
                        squares += weight[j] * pow(length[j][e] - 1000, 2);
                    }
                }
        assert_int_equal(split_table_find(&s, split_table_bits(&s, i)), i);
        check_near(split_frequency(&s, i), w / total, 1e-13); /* 300 roundings of numbers below 1 */
        if (known > 0) {
            /* lengths near 1000: 1e-13 relative in the mean; its square root enters the sd */
            check_near(s.mean[i], 1000 + sum / known, 1e-10);
            check_near(split_sd(&s, i), sqrt(fmax(0, squares / known - pow(sum / known, 2))), 1e-6);
        }
        assert_true(k == 0 || s.weight[order[k - 1]] >= s.weight[i]);
    }
    uint64_t none = bits("bcd") << 20;
    assert_int_equal(split_table_find(&s, &none), KEY_NONE);
    free(order);
    topology_free(&t);
    split_table_free(&s);
    split_table_free(&s);
}

/* Two samples of four-taxon trees: frequencies 0.75, 0.25, 0 and 0.25, 0.5, 0.25. */
static void deviation_of_frequencies(void **state)
{
    (void)state;
    split_table a, b;
    check_status(split_table_init(&a, 4));
    check_status(split_table_init(&b, 4));
    static const int32_t tree[3] = {0, 1, 2};
    for (int i = 0; i < 3; i++) {
        static const double p[] = {3, 1, 0}, q[] = {0.25, 0.5, 0.25};
        check_status(split_table_add(&a, &tree[i], NULL, p[i]));
        check_status(split_table_add(&b, &tree[i], NULL, q[i]));
    }
    const split_table *both[] = {&a, &b}, *three[] = {&a, &b, &b};
    double largest, root = sqrt(0.5); /* sd of two numbers: |x - y| / sqrt 2 */
    check_near(split_deviation(&largest, both, 2, 0.1), root * (0.5 + 0.25 + 0.25) / 3, 1e-15);
    check_near(largest, 0.5 * root, 1e-15);
    check_near(split_deviation(NULL, both, 2, 0.3), root * (0.5 + 0.25) / 2, 1e-15);
    check_near(split_deviation(NULL, both, 2, 0.8), 0, 0);
    /* sd of x, y, y: |x - y| / sqrt 3 */
    check_near(split_deviation(NULL, three, 3, 0.1), sqrt(1.0 / 3) * (0.5 + 0.25 + 0.25) / 3,
               1e-15);
    split_table_free(&a);
    split_table_free(&b);
}

/* Into a table that had something else; bits that are no split of the taxa are refused. */
static void through_a_checkpoint(void **state)
{
    (void)state;
    enum { N = 70 }; /* two words */
    rng r = rng_at(5, RNG_TEST, 0, 0);
    int32_t decision[N];
    double length[2 * N];
    split_table t, back;
    saved_state s = {0}, copy;
    check_status(split_table_init(&t, N));
    check_status(split_table_init(&back, N));
    for (int i = 0; i < 12; i++) {
        random_decisions(decision, N, &r);
        for (int e = 0; e < 2 * N - 3; e++)
            length[e] = rng_uniform(&r);
        check_status(split_table_add(i < 2 ? &back : &t, decision, length, rng_uniform(&r)));
    }
    check_status(split_table_fields(&t, &s));
    state_turn(&s, NULL);
    state_damaged(&copy, &s, NULL, 0, 0);
    check_status(split_table_fields(&back, &copy));
    check_status(saved_state_end(&copy));
    saved_state_free(&copy);
    assert_int_equal(back.count, t.count);
    check_near(back.total, t.total, 0);
    for (size_t i = 0; i < t.count; i++) {
        assert_int_equal(split_table_find(&back, split_table_bits(&t, i)), i);
        check_near(split_frequency(&back, i), split_frequency(&t, i), 0);
        check_near(split_frequency_error(&back, i), split_frequency_error(&t, i), 0);
        check_near(back.mean[i], t.mean[i], 0);
        check_near(split_sd(&back, i), split_sd(&t, i), 0);
    }
    saved_state_free(&s);
    static const uint64_t WRONG[][2] = {{0, 0}, {1, 0}, {2, (uint64_t)1 << 6}};
    for (size_t i = 0; i < sizeof WRONG / sizeof WRONG[0]; i++) {
        memcpy(t.keys.key + t.keys.size, WRONG[i], sizeof WRONG[i]); /* the second split */
        check_status(split_table_fields(&t, &s));
        state_turn(&s, NULL);
        assert_int_equal(split_table_fields(&back, &s), ART_ERR_MISMATCH);
        assert_int_equal(back.count, 0);
        saved_state_free(&s);
    }
    split_table_free(&t);
    split_table_free(&back);
}

/* Two tables merged with weights are one table of all trees with their weights scaled. */
static void merged_tables(void **state)
{
    (void)state;
    enum { N = 7, TREES = 40 };
    static const double SHARE[2] = {0.3, 0.7};
    split_table part[2], all, merged;
    double total[2] = {0};
    check_status(split_table_init(&all, N));
    check_status(split_table_init(&merged, N));
    for (int k = 0; k < 2; k++)
        check_status(split_table_init(&part[k], N));
    for (int again = 0; again < 2; again++) /* the totals first */
        for (uint32_t i = 0; i < TREES; i++) {
            rng g = rng_at(5, RNG_TEST, 0, i);
            int32_t decision[N];
            double length[2 * N - 3];
            random_decisions(decision, N, &g);
            for (int e = 0; e < 2 * N - 3; e++)
                length[e] = rng_uniform(&g);
            const double weight = rng_uniform(&g);
            const int k = i % 3 == 0;
            if (!again) {
                total[k] += weight;
                check_status(split_table_add(&part[k], decision, length, weight));
            } else {
                check_status(split_table_add(&all, decision, length, weight / total[k] * SHARE[k]));
            }
        }
    for (int k = 0; k < 2; k++)
        check_status(split_table_merge(&merged, &part[k], SHARE[k]));
    assert_int_equal(merged.count, all.count);
    for (size_t i = 0; i < all.count; i++) {
        const int64_t at = split_table_find(&merged, split_table_bits(&all, i));
        assert_true(at >= 0);
        const size_t j = (size_t)at;
        /* The same sums in another order. */
        assert_true(fabs(split_frequency(&merged, j) - split_frequency(&all, i)) < 1e-12);
        assert_true(fabs(merged.mean[j] - all.mean[i]) < 1e-12);
        assert_true(fabs(split_sd(&merged, j) - split_sd(&all, i)) < 1e-7);
        assert_true(split_frequency_error(&merged, j) == 0); /* for the caller to set */
    }
    split_table_free(&all);
    split_table_free(&merged);
    split_table_free(&part[0]);
    split_table_free(&part[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splits_are_what_is_below),
        cmocka_unit_test(compatibility),
        cmocka_unit_test(robinson_foulds),
        cmocka_unit_test(table_of_splits),
        cmocka_unit_test(deviation_of_frequencies),
        cmocka_unit_test(through_a_checkpoint),
        cmocka_unit_test(merged_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
