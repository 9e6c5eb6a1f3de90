/* Diagnostics of chains: series with known answers, splits counted by hand and by the plain table.
 */
#include "support/check.h"
#include "support/memory.h"

#include "artreeformer.h"
#include "base/rng.h"
#include "chain/convergence.h"
#include "tree/splits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* x_i = a x_i-1 + noise of the stationary variance 1: tau = (1 + a) / (1 - a). */
static void autoregression(double *x, size_t n, double a, double mean, uint32_t series)
{
    rng r = rng_at(1, RNG_TEST, series, 0);
    double now = rng_normal(&r);
    for (size_t i = 0; i < n; i++) {
        x[i] = mean + now;
        now = a * now + sqrt(1 - a * a) * rng_normal(&r);
    }
}

static void ess_of_autoregressions(void **state)
{
    (void)state;
    static const struct {
        double a;
        size_t n;
        double tolerance; /* relative: three standard deviations and more, which are sqrt(4 w / n)
                             with a window w of about two tau */
    } row[] = {{0, 20000, 0.1},
               {0.5, 20000, 0.2},
               {0.9, 100000, 0.25},
               {0.99, 200000, 0.5},
               {0.999, 400000, 0.6}};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        double *x = malloc(row[i].n * sizeof *x);
        assert_non_null(x);
        autoregression(x, row[i].n, row[i].a, -7000, (uint32_t)i);
        const double expected = (double)row[i].n * (1 - row[i].a) / (1 + row[i].a);
        check_close(series_ess(x, row[i].n), expected, row[i].tolerance);
        free(x);
    }
}

static void ess_of_special_series(void **state)
{
    (void)state;
    enum { N = 3000 };
    static double x[N];
    for (size_t i = 0; i < N; i++)
        x[i] = 0.1;
    assert_true(isnan(series_ess(x, N))); /* constant */
    assert_true(isnan(series_ess(x, 0)));
    for (size_t i = 0; i < N; i++)
        x[i] = i % 2 ? 1 : -1;
    check_near(series_ess(x, N), N, 0); /* anticorrelated: no more than its values */
    assert_true(isnan(series_ess(x, 3)));
    for (size_t i = 0; i < N; i++)
        x[i] = (double)i; /* a trend: a few values at most */
    assert_true(series_ess(x, N) < 5 && series_ess(x, N) > 1);
    for (size_t i = 0; i < N; i++)
        x[i] = i < N / 2; /* one change in the middle */
    assert_true(series_ess(x, N) < 5 && series_ess(x, N) > 1);
    x[5] = NAN;
    assert_true(isnan(series_ess(x, N)));
    x[5] = INFINITY;
    assert_true(isnan(series_ess(x, N)));
}

static void r_hat(void **state)
{
    (void)state;
    enum { CHAINS = 4, N = 5001 };
    static double x[CHAINS][N];
    /* halves 1 3, 3 5, 2 4 and 4 6: W = 2, B / h = the variance of 2, 4, 3, 5 = 5 / 3 */
    static const double small[2][4] = {{1, 3, 3, 5}, {2, 4, 4, 6}};
    check_near(series_r_hat(small[0], 2, 4), sqrt((0.5 * 2 + 5.0 / 3) / 2), 1e-15);
    static const double odd[2][5] = {{1, 3, 99, 3, 5}, {2, 4, -99, 4, 6}};
    check_near(series_r_hat(odd[0], 2, 5), sqrt((0.5 * 2 + 5.0 / 3) / 2), 1e-15);

    for (uint32_t k = 0; k < CHAINS; k++)
        autoregression(x[k], N, 0.5, -100, 10 + k);
    assert_true(series_r_hat(x[0], CHAINS, N) > 0.999 && series_r_hat(x[0], CHAINS, N) < 1.01);
    /* chains two standard deviations apart: 1 + B with means 0 0 0 0 0 0 2 2 */
    for (size_t i = 0; i < N; i++)
        x[3][i] += 2;
    check_near(series_r_hat(x[0], CHAINS, N), sqrt(1 + 4 * 2 * 6.0 / 8 / 7), 0.05);
    /* one chain with a trend */
    for (size_t i = 0; i < N; i++)
        x[0][i] = (double)i;
    assert_true(series_r_hat(x[0], 1, N) > 1.5);

    for (size_t k = 0; k < CHAINS; k++)
        for (size_t i = 0; i < N; i++)
            x[k][i] = -0.1;
    check_near(series_r_hat(x[0], CHAINS, N), 1, 0);
    for (size_t i = 0; i < N; i++)
        x[1][i] = -0.2;
    assert_true(isinf(series_r_hat(x[0], CHAINS, N)));
    assert_true(isnan(series_r_hat(x[0], CHAINS, 3)));
    assert_true(isnan(series_r_hat(x[0], 0, N)));
    x[0][1] = NAN;
    assert_true(isnan(series_r_hat(x[0], CHAINS, N)));
}

/* Four taxa: tree 0, 1 or 2 has one split. Frequencies 0.75, 0.25, 0 and 0.25, 0.5, 0.25. */
static void splits_by_hand(void **state)
{
    (void)state;
    static const int32_t a[] = {0, 0, 0, 1}, b[] = {0, 1, 1, 2};
    const chain_trees two[] = {{a, 4}, {b, 4}}, three[] = {{a, 4}, {b, 4}, {b, 4}};
    split_agreement s;
    const double root = sqrt(0.5); /* sd of two numbers: |x - y| / sqrt 2 */
    check_status(split_agreement_of(&s, two, 2, 4));
    assert_int_equal(s.splits, 3);
    check_near(s.average_deviation, root * (0.5 + 0.25 + 0.25) / 3, 1e-15);
    check_near(s.largest_deviation, root * 0.5, 1e-15);
    check_near(s.largest_difference, 0.5, 1e-15);
    assert_int_equal(s.uncertain, 3); /* 0.5, 0.375, 0.125 */
    check_status(split_agreement_of(&s, three, 3, 4));
    check_near(s.average_deviation, sqrt(1.0 / 3) * (0.5 + 0.25 + 0.25) / 3, 1e-15);

    /* 0.1 counts, less does not: 2 and 1 of 20 */
    static const int32_t rare[20] = {1, 1, 2};
    const chain_trees alike[] = {{rare, 20}, {rare, 20}};
    check_status(split_agreement_of(&s, alike, 2, 4));
    assert_int_equal(s.splits, 2);
    check_near(s.average_deviation, 0, 0);
    check_near(s.largest_difference, 0, 0);
    assert_int_equal(s.uncertain, 2); /* 0.85 and 0.1 */

    /* chains that never leave their trees: as bad as it can be */
    static const int32_t stays[10] = {0}, elsewhere[10] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    const chain_trees apart[] = {{stays, 10}, {elsewhere, 10}};
    check_status(split_agreement_of(&s, apart, 2, 4));
    check_near(s.average_deviation, root, 1e-15);
    check_near(s.largest_difference, 1, 0);
    check_near(s.least_ess, 2, 0); /* one draw each */
}

static void splits_that_cannot_be_compared(void **state)
{
    (void)state;
    static const int32_t a[] = {0, 0, 1, 0, 1, 1, 0, 0};
    const chain_trees one[] = {{a, 8}, {a, 0}};
    split_agreement s;
    check_status(split_agreement_of(&s, one, 1, 4)); /* one chain */
    assert_true(isnan(s.average_deviation) && isnan(s.largest_difference) && s.splits == 0);
    assert_true(s.uncertain == 2 && s.least_ess > 1 && s.least_ess <= 8);
    assert_int_equal(split_agreement_of(&s, one, 2, 4), ART_ERR_USAGE); /* an empty chain */
    assert_int_equal(split_agreement_of(&s, one, 0, 4), ART_ERR_USAGE);
    const chain_trees both[] = {{a, 8}, {a, 8}};
    check_status(split_agreement_of(&s, both, 2, 3)); /* three taxa have one tree */
    assert_true(isnan(s.average_deviation) && isnan(s.least_ess) && s.uncertain == 0);
}

/* A slowly changing sequence of trees: one decision is drawn again in every state. */
static int32_t *random_chain(int32_t n_taxa, size_t count, double share, uint32_t number)
{
    const size_t n = (size_t)n_taxa - 3;
    int32_t *decision = malloc(count * n * sizeof *decision);
    assert_non_null(decision);
    rng r = rng_at(2, RNG_TEST, number, 0);
    for (size_t i = 0; i < n; i++)
        decision[i] = 0;
    for (size_t t = 0; t < count; t++) {
        int32_t *now = decision + t * n;
        if (t)
            memcpy(now, now - n, n * sizeof *now);
        for (size_t i = 0; i < n; i++)
            if (rng_uniform(&r) < share)
                now[i] = (int32_t)rng_below(&r, 3);
    }
    return decision;
}

/* The series "has the split" as numbers. */
static void series_of(double *x, const chain_trees *c, int32_t n_taxa, const uint64_t *split)
{
    split_table one;
    for (size_t t = 0; t < c->count; t++) {
        check_status(split_table_init(&one, n_taxa));
        check_status(split_table_add(&one, c->decision + t * (size_t)(n_taxa - 3), NULL, 1));
        x[t] = split_table_find(&one, split) != KEY_NONE;
        split_table_free(&one);
    }
}

/* Against the tables of splits and the series as numbers. */
static void splits_as_the_plain_tables(void **state)
{
    (void)state;
    enum { N = 9, CHAINS = 3 };
    static const size_t count[CHAINS] = {333, 128, 1300}; /* the last is longer than the lags */
    chain_trees chain[CHAINS];
    split_table table[CHAINS], all;
    const split_table *sample[CHAINS];
    int32_t *decision[CHAINS];
    double x[1300], largest, least = INFINITY;
    size_t uncertain = 0;
    split_agreement s;
    check_status(split_table_init(&all, N));
    for (size_t k = 0; k < CHAINS; k++) {
        decision[k] = random_chain(N, count[k], 0.05, (uint32_t)k);
        chain[k] = (chain_trees){decision[k], count[k]};
        sample[k] = &table[k];
        check_status(split_table_init(&table[k], N));
        for (size_t t = 0; t < count[k]; t++) {
            check_status(split_table_add(&table[k], decision[k] + t * (N - 3), NULL, 1));
            check_status(
                split_table_add(&all, decision[k] + t * (N - 3), NULL, 1 / (double)count[k]));
        }
    }
    check_status(split_agreement_of(&s, chain, CHAINS, N));
    check_near(s.average_deviation, split_deviation(&largest, sample, CHAINS, 0.1), 1e-12);
    check_near(s.largest_deviation, largest, 1e-12);
    for (size_t i = 0; i < all.count; i++) {
        const double f = split_frequency(&all, i);
        double sum = 0;
        if (split_is_trivial(split_table_bits(&all, i), N) || f < 0.1 || f > 0.9)
            continue;
        uncertain++;
        for (size_t k = 0; k < CHAINS; k++) {
            series_of(x, &chain[k], N, split_table_bits(&all, i));
            const double ess = series_ess(x, count[k]);
            sum += isnan(ess) ? 1 : ess;
        }
        least = fmin(least, sum);
    }
    assert_int_equal(s.uncertain, uncertain);
    assert_true(uncertain >= 5);
    check_close(s.least_ess, least, 1e-9); /* products of bits are whole numbers, others rounded */
    for (size_t k = 0; k < CHAINS; k++) {
        split_table_free(&table[k]);
        free(decision[k]);
    }
    split_table_free(&all);
}

/* Every decision has two values, the same for all chains; one in `certain` changes between them. */
static int32_t *wavering_chain(int32_t n_taxa, size_t count, uint32_t certain, uint32_t number)
{
    const size_t n = (size_t)n_taxa - 3;
    int32_t *decision = malloc(count * n * sizeof *decision);
    assert_non_null(decision);
    rng r = rng_at(3, RNG_TEST, number, 0);
    for (size_t i = 0; i < n; i++) {
        rng common = rng_at(4, RNG_TEST, (uint32_t)i, 0);
        int32_t value[2];
        for (int k = 0; k < 2; k++)
            value[k] = (int32_t)rng_below(&common, 2 * (uint32_t)i + 3);
        const double share = rng_below(&common, certain) ? 0 : 0.1;
        int now = 0;
        for (size_t t = 0; t < count; t++) {
            now ^= rng_uniform(&r) < share;
            decision[t * n + i] = value[now];
        }
    }
    return decision;
}

/* As large as it gets. */
static void large_trees(void **state)
{
    (void)state;
    enum { N = 1288, CHAINS = 4, COUNT = 1000 };
    chain_trees chain[CHAINS];
    int32_t *decision[CHAINS];
    split_agreement s;
    for (size_t k = 0; k < CHAINS; k++) {
        decision[k] = wavering_chain(N, COUNT, 20, (uint32_t)k);
        chain[k] = (chain_trees){decision[k], COUNT};
    }
    const clock_t begin = clock();
    check_status(split_agreement_of(&s, chain, CHAINS, N));
    print_message("%.2f s, %zu splits, %zu uncertain\n", (double)(clock() - begin) / CLOCKS_PER_SEC,
                  s.splits, s.uncertain);
    assert_true(s.splits > 1000 && s.average_deviation > 0.001 && s.average_deviation < 0.1);
    assert_true(s.least_ess >= CHAINS && s.least_ess < CHAINS * COUNT);
    for (size_t k = 0; k < CHAINS; k++)
        free(decision[k]);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    static const int32_t a[] = {0, 0, 0, 1}, b[] = {0, 1, 1, 2};
    const chain_trees two[] = {{a, 4}, {b, 4}};
    split_agreement s;
    int status = ART_ERR_NOMEM;
    long k = 1;
    for (; status != ART_OK; k++) {
        memory_fail_at(k);
        status = split_agreement_of(&s, two, 2, 4);
        memory_fail_at(0);
        assert_true(status == ART_OK || status == ART_ERR_NOMEM);
    }
    assert_true(k > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ess_of_autoregressions),
        cmocka_unit_test(ess_of_special_series),
        cmocka_unit_test(r_hat),
        cmocka_unit_test(splits_by_hand),
        cmocka_unit_test(splits_that_cannot_be_compared),
        cmocka_unit_test(splits_as_the_plain_tables),
        cmocka_unit_test(large_trees),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("convergence", tests, NULL, NULL);
}
