#include "support/check.h"

#include "branch/length_prior.h"
#include "branch/length_scale.h"

#include <math.h>

/* x of lengths from 1e-9 to 27. */
static const double POINTS[] = {1e-3, 0.05, 0.4, 1, 3};
enum { N_POINTS = sizeof POINTS / sizeof *POINTS };

#define STEP 1e-4 /* relative; central differences of powers are then off by about 1e-8 */

static void there_and_back(void **state)
{
    (void)state;
    check_close(length_scale_x(0.008), 0.2, 1e-15);
    check_close(length_scale_length(0.2), 0.008, 1e-15);
    for (int i = 0; i < N_POINTS; i++) {
        const double x = POINTS[i], b = length_scale_length(x);
        check_close(length_scale_x(b), x, 1e-15); /* three roundings, a third of each */
        check_close(length_scale_length(length_scale_resize(x, 0.5)), b / 2, 2e-15);
        check_close(length_scale_multiple(7, x), 7 * b, 1e-15);
    }
}

static void derivatives_of_the_length(void **state)
{
    (void)state;
    for (int i = 0; i < N_POINTS; i++) {
        const double x = POINTS[i], h = STEP * x;
        const double slope = (length_scale_length(x + h) - length_scale_length(x - h)) / (2 * h);
        const double curvature = (length_scale_slope(x + h) - length_scale_slope(x - h)) / (2 * h);
        check_close(length_scale_slope(x), slope, 1e-7);
        check_close(length_scale_curvature(x), curvature, 1e-7);
        check_close(length_scale_slope_square(x), slope * slope, 1e-7);
        check_close(length_scale_density(5, x), 5 * slope, 1e-7);
        assert_true(slope > 0 && curvature > 0);
    }
}

static void derivatives_of_the_jacobian(void **state)
{
    (void)state;
    for (int i = 0; i < N_POINTS; i++) {
        const double x = POINTS[i], h = STEP * x;
        const double first =
            (length_scale_log_jacobian(x + h) - length_scale_log_jacobian(x - h)) / (2 * h);
        const double second =
            (length_scale_log_jacobian_first(x + h) - length_scale_log_jacobian_first(x - h)) /
            (2 * h);
        check_close(length_scale_log_jacobian(x), log(length_scale_slope(x)), 1e-15);
        check_close(length_scale_log_jacobian_first(x), first, 1e-7);
        check_close(length_scale_log_jacobian_second(x), second, 1e-7);
        assert_true(first > 0 && second < 0);
    }
}

/* A log density of b that is neither linear nor a power: -3 b - exp(-b) + sin(b) / 2. */
static double g(double b)
{
    return -3 * b - exp(-b) + sin(b) / 2;
}

static double g_first(double b)
{
    return -3 + exp(-b) + cos(b) / 2;
}

static double g_second(double b)
{
    return -exp(-b) - sin(b) / 2;
}

static double f(double x)
{
    return g(length_scale_length(x)) + length_scale_log_jacobian(x);
}

static double f_first(double x)
{
    return length_scale_first(x, g_first(length_scale_length(x)));
}

/* The terms of f'' may cancel, so the tolerance is on the scale of its largest one; the third
 * derivative of a sine of x^3 is up to b'^3 = 20,000 at x = 3, the step 3e-4. */
static void chain_rule(void **state)
{
    (void)state;
    for (int i = 0; i < N_POINTS; i++) {
        const double x = POINTS[i], h = STEP * x, b = length_scale_length(x);
        const double scale = length_scale_slope(x) * 4 + 2 / x;
        check_near(f_first(x), (f(x + h) - f(x - h)) / (2 * h), 1e-5 * scale);
        check_near(
            length_scale_second(x, g_first(b), g_second(b)),
            (f_first(x + h) - f_first(x - h)) / (2 * h),
            1e-5 * (length_scale_slope_square(x) + length_scale_curvature(x) * 4 + 2 / (x * x)));
    }
}

/* The closed form of the prior as a density of x against the two faces that it is made of. */
static void prior_as_a_density_of_x(void **state)
{
    (void)state;
    static const double rate[] = {0.3, 10, 250};
    for (size_t k = 0; k < sizeof rate / sizeof *rate; k++) {
        const branch_prior prior = branch_prior_exponential(rate[k]);
        double sum = 0;
        for (int i = 0; i < N_POINTS; i++) {
            const double x = POINTS[i], b = length_scale_length(x), h = STEP * x;
            const double expected =
                branch_prior_log_density(prior, b, BRANCH_EXTERNAL) + length_scale_log_jacobian(x);
            const double slope = (length_prior_log_density(prior, x + h, BRANCH_EXTERNAL) -
                                  length_prior_log_density(prior, x - h, BRANCH_EXTERNAL)) /
                                 (2 * h);
            const double scale = length_scale_slope(x) * rate[k] + 2 / x;
            check_near(length_prior_log_density(prior, x, BRANCH_EXTERNAL), expected,
                       1e-14 * (10 + fabs(expected))); /* logarithms of up to 10 that cancel */
            check_near(length_scale_first(x, branch_prior_first(prior, b, BRANCH_EXTERNAL)), slope,
                       1e-7 * scale);
            sum += length_prior_log_density(prior, x, BRANCH_EXTERNAL);
        }
        check_close(length_prior_log_joint(prior, POINTS, N_POINTS, 2), sum, 1e-13);
    }
}

/* The mean of draws of x: E b^(1/3) = Gamma(4/3) mean^(1/3), within 4.5 standard errors. */
static void draws_of_x(void **state)
{
    (void)state;
    enum { DRAWS = 200000, AT_A_TIME = 50 };
    const branch_prior prior = branch_prior_exponential(10);
    double sum = 0, square = 0, x[AT_A_TIME];
    rng r = rng_at(6, RNG_TEST, 3, 0);
    for (int k = 0; k < DRAWS / AT_A_TIME; k++) {
        length_prior_draw(x, AT_A_TIME, 2, prior, &r);
        for (int e = 0; e < AT_A_TIME; e++) {
            sum += x[e];
            square += x[e] * x[e];
        }
    }
    const double mean = sum / DRAWS, deviation = sqrt(square / DRAWS - mean * mean);
    check_near(mean, tgamma(4.0 / 3.0) * length_scale_x(0.1), 4.5 * deviation / sqrt(DRAWS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(derivatives_of_the_length),
        cmocka_unit_test(derivatives_of_the_jacobian),
        cmocka_unit_test(chain_rule),
        cmocka_unit_test(prior_as_a_density_of_x),
        cmocka_unit_test(draws_of_x),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
