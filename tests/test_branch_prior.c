#include "support/check.h"

#include "subst/branch_prior.h"

#include <math.h>

static const double RATES[] = {0.3, 1, 10, 250};
enum { N_RATES_TESTED = sizeof RATES / sizeof *RATES };

/* Lengths from a hundredth of the mean to ten times the mean. */
static const double MULTIPLES[] = {0.01, 0.2, 1, 3, 10};
enum { N_MULTIPLES = sizeof MULTIPLES / sizeof *MULTIPLES };

static void values_of_the_exponential(void **state)
{
    (void)state;
    const branch_prior prior = branch_prior_exponential(10);
    check_close(branch_prior_log_density(prior, 0, BRANCH_EXTERNAL), 2.302585092994046, 1e-15);
    check_close(branch_prior_log_density(prior, 0.25, BRANCH_EXTERNAL), 2.302585092994046 - 2.5,
                1e-15);
    check_close(branch_prior_mean(prior, 1), 0.1, 1e-15);
}

/* The density integrates to 1 and has the mean that it says, by the midpoint rule over 40 means:
 * what is beyond weighs 40 exp(-40), and the rule's error is (40 / 20000)^2 / 24 = 2e-7. */
static void density_integrates_to_one(void **state)
{
    (void)state;
    enum { STEPS = 20000 };
    for (int i = 0; i < N_RATES_TESTED; i++) {
        const branch_prior prior = branch_prior_exponential(RATES[i]);
        const double h = 40 * branch_prior_mean(prior, 1) / STEPS;
        double total = 0, mean = 0;
        for (int k = 0; k < STEPS; k++) {
            const double b = (k + 0.5) * h,
                         mass = h * exp(branch_prior_log_density(prior, b, BRANCH_EXTERNAL));
            total += mass;
            mean += b * mass;
        }
        check_close(total, 1, 1e-6);
        check_close(mean, branch_prior_mean(prior, 1), 1e-6);
    }
}

/* Signed central differences of the log density and of the first derivative. An exponential's
 * log density is linear: only rounding is left, 1e-16 (1 + log rate) over the relative step. */
static void derivatives_are_those_of_the_density(void **state)
{
    (void)state;
    for (int i = 0; i < N_RATES_TESTED; i++)
        for (int k = 0; k < N_MULTIPLES; k++) {
            const branch_prior prior = branch_prior_exponential(RATES[i]);
            const double b = MULTIPLES[k] * branch_prior_mean(prior, 1), h = 1e-3 * b;
            const double first = (branch_prior_log_density(prior, b + h, BRANCH_EXTERNAL) -
                                  branch_prior_log_density(prior, b - h, BRANCH_EXTERNAL)) /
                                 (2 * h);
            const double second = (branch_prior_first(prior, b + h, BRANCH_EXTERNAL) -
                                   branch_prior_first(prior, b - h, BRANCH_EXTERNAL)) /
                                  (2 * h);
            assert_true(branch_prior_first(prior, b, BRANCH_EXTERNAL) < 0);
            check_close(branch_prior_first(prior, b, BRANCH_EXTERNAL), first, 1e-9);
            check_near(branch_prior_second(prior, b, BRANCH_EXTERNAL), second,
                       1e-9 * RATES[i] * RATES[i]);
        }
}

/* Independent lengths: the joint density is the sum, up to rounding of 25 terms. */
static void joint_density_of_independent_lengths(void **state)
{
    (void)state;
    enum { N = 25 };
    for (int i = 0; i < N_RATES_TESTED; i++) {
        const branch_prior prior = branch_prior_exponential(RATES[i]);
        double length[N], sum = 0;
        rng r = rng_at(3, RNG_TEST, 0, (uint32_t)i);
        branch_prior_draw(length, N, 2, prior, &r);
        for (int e = 0; e < N; e++)
            sum += branch_prior_log_density(prior, length[e], BRANCH_EXTERNAL);
        check_near(branch_prior_log_joint(prior, length, N, 2), sum, 1e-13 * N * (1 + fabs(sum)));
        check_near(branch_prior_log_joint(prior, length, 0, 2), 0, 0);
    }
}

/* Mean, variance and tail of draws, each within 4.5 standard errors: the standard deviation of an
 * exponential is its mean, that of its squared deviation sqrt(8) mean^2. */
static void draws_follow_the_density(void **state)
{
    (void)state;
    enum { DRAWS = 200000, AT_A_TIME = 50 };
    for (int i = 0; i < N_RATES_TESTED; i++) {
        const branch_prior prior = branch_prior_exponential(RATES[i]);
        const double mean = branch_prior_mean(prior, 1), error = 4.5 / sqrt(DRAWS);
        double sum = 0, square = 0, beyond = 0, length[AT_A_TIME];
        rng r = rng_at(4, RNG_TEST, 1, (uint32_t)i);
        for (int k = 0; k < DRAWS / AT_A_TIME; k++) {
            branch_prior_draw(length, AT_A_TIME, 2, prior, &r);
            for (int e = 0; e < AT_A_TIME; e++) {
                assert_true(length[e] > 0);
                sum += length[e];
                square += (length[e] - mean) * (length[e] - mean);
                beyond += length[e] > 2 * mean;
            }
        }
        const double tail = exp(-2);
        check_near(sum / DRAWS, mean, error * mean);
        check_near(square / DRAWS, mean * mean, sqrt(8) * error * mean * mean);
        check_near(beyond / DRAWS, tail, error * sqrt(tail * (1 - tail)));
    }
}

/* All lengths of a call continue the stream: the same as one length after the other. */
static void draws_continue_the_stream(void **state)
{
    (void)state;
    const branch_prior prior = branch_prior_exponential(10);
    double together[6], apart[6];
    rng a = rng_at(5, RNG_TEST, 2, 0), b = a;
    branch_prior_draw(together, 6, 2, prior, &a);
    for (int e = 0; e < 6; e++)
        branch_prior_draw(&apart[e], 1, 2, prior, &b);
    assert_memory_equal(together, apart, sizeof together);
}

static void parameters_out_of_range(void **state)
{
    (void)state;
    static const double bad[] = {0, -1, INFINITY, NAN};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(branch_prior_is_valid(branch_prior_exponential(bad[i])));
    assert_true(branch_prior_is_valid(branch_prior_exponential(1e-3)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_the_exponential),
        cmocka_unit_test(density_integrates_to_one),
        cmocka_unit_test(derivatives_are_those_of_the_density),
        cmocka_unit_test(joint_density_of_independent_lengths),
        cmocka_unit_test(draws_follow_the_density),
        cmocka_unit_test(draws_continue_the_stream),
        cmocka_unit_test(parameters_out_of_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
