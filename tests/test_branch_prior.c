#include "support/check.h"

#include "artreeformer.h"
#include "subst/branch_prior_string.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

/* The gamma-Dirichlet */

static const double PARAMETERS[][4] = {
    {1, 0.1, 1, 1}, {2.5, 3, 1, 1}, {1, 1, 0.6, 1.5}, {3, 0.7, 2, 0.4}};
enum { N_PARAMETERS = sizeof PARAMETERS / sizeof *PARAMETERS };

static branch_prior gamma_dirichlet(int i)
{
    const double *p = PARAMETERS[i];
    return branch_prior_gamma_dirichlet(p[0], p[1], p[2], p[3]);
}

/* Values worked out by hand from the formula, three and four taxa; the edges 0, 1, 3 and the top
 * edge are external. */
static void values_of_the_gamma_dirichlet(void **state)
{
    (void)state;
    const double three[] = {0.1, 0.2, 0.3}, four[] = {0.1, 0.2, 0.05, 0.3, 0.35};
    /* log 0.1 + log 2! - 2 log 0.6 - 0.1 * 0.6 */
    check_near(branch_prior_log_joint(gamma_dirichlet(0), three, 3, 2),
               log(0.1) + log(2) - 2 * log(0.6) - 0.06, 1e-14);
    /* a = 2 and a c = 1/2: the parameters of five branches are 8.5 together. Edge 2 is internal,
     * then edge 4. */
    const branch_prior prior = branch_prior_gamma_dirichlet(3, 0.7, 2, 0.25);
    const double shared = 3 * log(0.7) - log(2) + lgamma(8.5) - 0.5 * log(M_PI) - 0.7;
    check_near(branch_prior_log_joint(prior, four, 5, 4),
               shared + log(0.1 * 0.2 * 0.3 * 0.35) - 0.5 * log(0.05), 1e-13);
    check_near(branch_prior_log_joint(prior, four, 5, 2),
               shared + log(0.1 * 0.2 * 0.3 * 0.05) - 0.5 * log(0.35), 1e-13);
    check_near(branch_prior_mean(prior, 5), 3 / 0.7 / 5, 1e-15);
}

static void a_gamma_dirichlet_is_the_exponential(void **state)
{
    (void)state;
    for (int n = 3; n < 100; n += 2 * n) {
        double length[100], total = 0;
        rng r = rng_at(5, RNG_TEST, 0, (uint32_t)n);
        const branch_prior plain = branch_prior_exponential(7),
                           same = branch_prior_gamma_dirichlet(n, 7, 1, 1);
        branch_prior_draw(length, n, 2, plain, &r);
        for (int e = 0; e < n; e++)
            total += length[e];
        /* the logarithms of Gamma(n) cancel: up to 350 */
        check_near(branch_prior_log_joint(same, length, n, 2),
                   branch_prior_log_joint(plain, length, n, 2), 1e-12 * n);
        check_close(branch_prior_first(same, length[0], BRANCH_EXTERNAL) +
                        branch_prior_total_first(same, total, n),
                    branch_prior_first(plain, length[0], BRANCH_EXTERNAL), 1e-15);
        check_near(branch_prior_total_second(same, total, n), 0, 0);
        check_close(branch_prior_mean(same, n), branch_prior_mean(plain, n), 1e-15);
    }
}

/* Signed central differences of the joint density, for all pairs of branches. */
static void derivatives_of_the_joint_density(void **state)
{
    (void)state;
    enum { N = 7, TOP = 4 };
    for (int i = 0; i < N_PARAMETERS; i++) {
        const branch_prior prior = gamma_dirichlet(i);
        double b[N], total = 0;
        rng r = rng_at(6, RNG_TEST, 0, (uint32_t)i);
        for (int e = 0; e < N; e++)
            total += b[e] = 0.05 + rng_uniform(&r);
        for (int e = 0; e < N; e++) {
            const branch_place place =
                e == 2 || e == 6 ? BRANCH_INTERNAL : BRANCH_EXTERNAL; /* the top edge is 4 */
            const double h = 1e-4 * b[e], here = b[e];
            double value[3];
            for (int k = 0; k < 3; k++) {
                b[e] = here + (k - 1) * h;
                value[k] = branch_prior_log_joint(prior, b, N, TOP);
            }
            b[e] = here;
            /* h^2 / 6 of a third derivative of the size of the first over b^2; 1e-15 / h */
            const double first =
                branch_prior_first(prior, here, place) + branch_prior_total_first(prior, total, N);
            check_near((value[2] - value[0]) / (2 * h), first, 1e-6 * (1 + fabs(first)));
            for (int k = 0; k < N; k++) {
                const double step = 1e-3 * b[k], there = b[k];
                double slope[2];
                for (int side = 0; side < 2; side++) {
                    b[k] = there + (side ? step : -step);
                    slope[side] = branch_prior_first(prior, b[e], place) +
                                  branch_prior_total_first(prior, total + (side ? step : -step), N);
                }
                b[k] = there;
                const double second = branch_prior_total_second(prior, total, N) +
                                      (k == e ? branch_prior_second(prior, here, place) : 0);
                check_near((slope[1] - slope[0]) / (2 * step), second, 1e-5 * (1 + fabs(second)));
            }
        }
    }
}

/* The joint density of three lengths integrates to 1: the trapezoid rule in their logarithms, whose
 * error for such functions, analytic in a strip of half-width pi / 2, is exp(-pi^2 / step) = 2e-9;
 * what is left out on the left is e^(-30 * 0.6). */
static void joint_density_integrates_to_one(void **state)
{
    (void)state;
    const double step = 0.5, left = -30;
    enum { POINTS = 74 }; /* to 6.5: lengths of 665, at the least rate 66 means of exponentials */
    for (int i = 0; i < N_PARAMETERS; i++) {
        const branch_prior prior = gamma_dirichlet(i);
        double sum = 0, b[3];
        for (int j = 0; j < POINTS; j++)
            for (int k = 0; k < POINTS; k++)
                for (int l = 0; l < POINTS; l++) {
                    const double u = left + step * j, v = left + step * k, w = left + step * l;
                    b[0] = exp(u), b[1] = exp(v), b[2] = exp(w);
                    sum += exp(branch_prior_log_joint(prior, b, 3, 2) + u + v + w);
                }
        check_near(sum * step * step * step, 1, 1e-6);
    }
}

/* The tree length is gamma distributed, shares are Dirichlet distributed, and the two are
 * independent; within five standard errors. And draws have the density: for q another density, the
 * mean of q / p is 1. With q a product of gamma densities with the same shapes the ratio is a
 * function of T alone, and bounded. */
static void moments_of_the_gamma_dirichlet(void **state)
{
    (void)state;
    enum { N = 7, TOP = 4, N_TAXA = 5, DRAWS = 100000 };
    for (int i = 0; i < N_PARAMETERS; i++) {
        const branch_prior prior = gamma_dirichlet(i);
        const double inner = prior.alpha * prior.ratio, all = 5 * prior.alpha + 2 * inner;
        double sum = 0, square = 0, share[N] = {0}, second[N] = {0}, cross = 0, ratio = 0,
               ratio_square = 0;
        rng r = rng_at(7, RNG_TEST, 0, (uint32_t)i);
        for (int k = 0; k < DRAWS; k++) {
            double b[N], total = 0, log_q = 0;
            branch_prior_draw(b, N, TOP, prior, &r);
            for (int e = 0; e < N; e++) {
                const double a = e == 2 || e == 6 ? inner : prior.alpha, rate = all * prior.rate;
                assert_true(b[e] > 0);
                total += b[e];
                log_q += a * log(rate) - lgamma(a) + (a - 1) * log(b[e]) - rate * b[e];
            }
            for (int e = 0; e < N; e++) {
                share[e] += b[e] / total / DRAWS;
                second[e] += b[e] * b[e] / total / total / DRAWS;
            }
            const double q = exp(log_q - branch_prior_log_joint(prior, b, N, TOP));
            sum += total / DRAWS;
            square += total * total / DRAWS;
            cross += total * b[2] / total / DRAWS;
            ratio += q / DRAWS;
            ratio_square += q * q / DRAWS;
        }
        const double mean = prior.shape / prior.rate, variance = mean / prior.rate;
        /* fourth central moment 3 v^2 + 6 v^2 / shape */
        check_near(sum, mean, 5 * sqrt(variance / DRAWS));
        check_near(square - sum * sum, variance,
                   5 * variance * sqrt((2 + 6 / prior.shape) / DRAWS));
        for (int e = 0; e < N; e++) {
            const double a = e == 2 || e == 6 ? inner : prior.alpha;
            const double spread = a * (all - a) / (all * all * (all + 1));
            check_near(share[e], a / all, 5 * sqrt(spread / DRAWS));
            /* the kurtosis of these beta distributions is below 9 */
            check_near(second[e] - share[e] * share[e], spread, 5 * spread * sqrt(8.0 / DRAWS));
        }
        check_near(cross, mean * inner / all, 5 * sqrt(variance / DRAWS));
        check_near(ratio, 1, 5 * sqrt((ratio_square - ratio * ratio) / DRAWS));
        assert_true(ratio_square < 100);
    }
}

/* Text */

static void texts(void **state)
{
    (void)state;
    static const struct {
        const char *text, *canonical;
    } KNOWN[] = {
        {"exponential(10)", "exponential(10)"},
        {"EXP( 2.5 )", "exponential(2.5)"},
        {"gammadir(1,0.1,1,1)", "gammadir(1,0.1,1,1)"},
        {"GammaDir (1.0, 0.10 ,\t1.0, 1.0) ", "gammadir(1,0.1,1,1)"},
        {"unconstrained:Exp(10.0)", "exponential(10)"},
        {"Unconstrained: gammadir(2.0,1e-3,0.5,0.7)", "gammadir(2,0.001,0.5,0.7)"},
    };
    char out[BRANCH_PRIOR_STRING_SIZE];
    branch_prior prior, again;
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++) {
        check_status(branch_prior_parse(&prior, KNOWN[i].text, NULL));
        assert_string_equal(branch_prior_print(out, prior), KNOWN[i].canonical);
    }
    rng r = rng_at(8, RNG_TEST, 0, 0);
    for (int i = 0; i < 1000; i++) {
        double p[4];
        for (int k = 0; k < 4; k++)
            p[k] = 0.6 + rng_exponential(&r);
        prior = i % 2 ? branch_prior_gamma_dirichlet(p[0], p[1], p[2], p[3])
                      : branch_prior_exponential(p[0] / 1e9);
        check_status(branch_prior_parse(&again, branch_prior_print(out, prior), NULL));
        assert_memory_equal(&prior.rate, &again.rate, 4 * sizeof prior.rate);
        assert_int_equal(prior.kind, again.kind);
    }
}

static void bad_texts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t column;
        const char *says;
    } BAD[] = {
        {"", 1, "unexpected end"},
        {"10", 1, "prior '10' of branch lengths is not supported -- write exponential(10) or "},
        {"uniform(0,1)", 1, "'uniform'"},
        {"invgamdir(3,0.1,1,1)", 1, "not supported"},
        {"clock:uniform", 1, "'clock'"},
        {"exponential", 12, "unexpected end -- write exponential(10) or gammadir(1,0.1,1,1)"},
        {"exponential[10]", 12, "unexpected '['"},
        {"exponential()", 13, "unexpected ')'"},
        {"exponential(10", 15, "unexpected end"},
        {"exponential(ten)", 13, "'ten' is not a number"},
        {"exponential(0)", 13, "0 is out of range -- it must be above 0"},
        {"exponential(-1)", 13, "-1 is out of range"},
        {"exponential(1e7)", 13, "at most 1e6"},
        {"exponential(1,2)", 15, "more than 1 number -- give the rate"},
        {"exponential(10)x", 16, "unexpected 'x'"},
        {"gammadir(1,0.1,1)", 9, "3 of 4 numbers -- give shape and rate of the tree length"},
        {"gammadir(1,0.1,1,1,1)", 20, "more than 4 numbers"},
        {"gammadir(1,,1,1)", 12, "unexpected ','"},
        {"gammadir(0.01,0.1,1,1)", 10, "the shape 0.01 of the tree length is too small"},
        {"gammadir(1,0.1,0.3,1)", 16, "must be above 1/3"},
        {"gammadir(1,0.1,1,0.2)", 18, "1 of external and 0.2 of internal branches"},
    };
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        branch_prior prior;
        diag d;
        diag_init(&d);
        assert_int_equal(branch_prior_parse(&prior, BAD[i].text, &d), ART_ERR_INPUT);
        assert_int_equal(d.count, 1);
        char place[32];
        snprintf(place, sizeof place, ":1:%zu: error: ", BAD[i].column);
        if (!strstr(d.message[0].text, place) || !strstr(d.message[0].text, BAD[i].says))
            fail_msg("%s: %s", BAD[i].text, d.message[0].text);
        diag_free(&d);
    }
}

static void bad_parameters_of_the_gamma_dirichlet(void **state)
{
    (void)state;
    const double bad[] = {0, -1, NAN, INFINITY, 0.05};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (int k = 0; k < 4; k++) {
            double p[] = {1, 1, 1, 1};
            p[k] = bad[i];
            /* only the rate may be as small as the last one */
            const bool is_fine = i == 4 && k == 1;
            assert_int_equal(
                branch_prior_is_valid(branch_prior_gamma_dirichlet(p[0], p[1], p[2], p[3])),
                is_fine);
        }
    for (int i = 0; i < N_PARAMETERS; i++)
        assert_true(branch_prior_is_valid(gamma_dirichlet(i)));
    assert_false(branch_prior_is_valid(branch_prior_gamma_dirichlet(1, 1, 1, 0.33)));
    assert_true(branch_prior_is_valid(branch_prior_gamma_dirichlet(1, 1, 1, 0.34)));
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
        cmocka_unit_test(values_of_the_gamma_dirichlet),
        cmocka_unit_test(a_gamma_dirichlet_is_the_exponential),
        cmocka_unit_test(derivatives_of_the_joint_density),
        cmocka_unit_test(joint_density_integrates_to_one),
        cmocka_unit_test(moments_of_the_gamma_dirichlet),
        cmocka_unit_test(bad_parameters_of_the_gamma_dirichlet),
        cmocka_unit_test(texts),
        cmocka_unit_test(bad_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
