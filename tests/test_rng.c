#include "support/check.h"

#include "base/rng.h"

#include <math.h>

/* Known answers of Philox4x32-10, as published with Random123. */
static void philox_known_answers(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint32_t out[4];
        rng_philox(out, known[i].counter, known[i].key);
        assert_memory_equal(out, known[i].out, sizeof out);
    }
}

static void streams_differ_and_repeat(void **state)
{
    (void)state;
    rng a = rng_at(1, RNG_TEST, 2, 3), b = rng_at(1, RNG_TEST, 2, 3);
    rng other[] = {rng_at(2, RNG_TEST, 2, 3), rng_at(1, RNG_INIT, 2, 3), rng_at(1, RNG_TEST, 3, 3),
                   rng_at(1, RNG_TEST, 2, 4)};
    for (int i = 0; i < 100; i++) {
        uint32_t word = rng_u32(&a);
        assert_int_equal(word, rng_u32(&b));
        for (size_t k = 0; k < sizeof other / sizeof other[0]; k++)
            assert_int_not_equal(word, rng_u32(&other[k]));
    }
}

/* Moments of 10^6 draws; tolerances are five standard errors. */
static void moments(void **state)
{
    (void)state;
    enum { N = 1000000 };
    rng r = rng_at(7, RNG_TEST, 0, 0);
    double u = 0, uu = 0, z = 0, zz = 0, e = 0;
    long low = 0;
    for (int i = 0; i < N; i++) {
        double x = rng_uniform(&r);
        assert_true(x > 0 && x < 1);
        u += x;
        uu += x * x;
        x = rng_normal(&r);
        z += x;
        zz += x * x;
        e += rng_exponential(&r);
        low += rng_below(&r, 3) == 0;
    }
    check_near(u / N, 1.0 / 2, 5 * sqrt(1.0 / 12 / N));
    check_near(uu / N, 1.0 / 3, 5 * sqrt(4.0 / 45 / N));
    check_near(z / N, 0, 5 / sqrt(N));
    check_near(zz / N, 1, 5 * sqrt(2.0 / N));
    check_near(e / N, 1, 5 / sqrt(N));
    check_near((double)low / N, 1.0 / 3, 5 * sqrt(2.0 / 9 / N));
}

/* Weights 1, 0, 2, 5 of a common size that has no exponential. */
static void choices(void **state)
{
    (void)state;
    enum { N = 100000 };
    const double log_weight[] = {-8000, -INFINITY, -8000 + log(2), -8000 + log(5)};
    const double none[] = {-INFINITY, -INFINITY};
    int count[4] = {0};
    rng r = rng_at(7, RNG_TEST, 2, 0);
    for (int i = 0; i < N; i++)
        count[rng_choose(&r, log_weight, 4)]++;
    assert_int_equal(count[1], 0);
    for (int i = 0; i < 4; i++) {
        const double p = exp(log_weight[i] + 8000) / 8;
        check_near((double)count[i] / N, p, 5 * sqrt(p * (1 - p) / N));
    }
    assert_int_equal(rng_choose(&r, none, 2), 0);
    assert_int_equal(rng_choose(&r, log_weight, 1), 0);
}

/* Of x and x^2, five standard errors: E x^k = a (a + 1) .. (a + k - 1). And of log x, whose mean is
 * digamma(a) and whose variance is trigamma(a): it tells apart what the moments of the small shapes
 * do not. */
static void gamma_moments(void **state)
{
    (void)state;
    enum { N = 300000 };
    static const struct {
        double shape, digamma, trigamma;
    } CASES[] = {{0.4, -2.561384544585116, 7.275356590529597},
                 {1, -0.5772156649015329, 1.6449340668482264},
                 {2.5, 0.7031566406452432, 0.4903577561002348},
                 {57, 4.034253689881698, 0.017698653061451318}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        rng r = rng_at(8, RNG_TEST, 0, (uint32_t)i);
        const double a = CASES[i].shape, square = a * (a + 1), fourth = square * (a + 2) * (a + 3);
        double sum = 0, squares = 0, logs = 0;
        for (int k = 0; k < N; k++) {
            const double x = rng_gamma(&r, a);
            assert_true(x > 0);
            sum += x;
            squares += x * x;
            logs += log(x);
        }
        check_near(sum / N, a, 5 * sqrt(a / N));
        check_near(squares / N, square, 5 * sqrt((fourth - square * square) / N));
        check_near(logs / N, CASES[i].digamma, 5 * sqrt(CASES[i].trigamma / N));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_known_answers),
        cmocka_unit_test(streams_differ_and_repeat),
        cmocka_unit_test(moments),
        cmocka_unit_test(choices),
        cmocka_unit_test(gamma_moments),
    };
    return cmocka_run_group_tests_name("rng", tests, NULL, NULL);
}
