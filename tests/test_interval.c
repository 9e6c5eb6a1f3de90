#include "support/check.h"

#include "artreeformer.h"
#include "base/interval.h"
#include "base/rng.h"

#include <math.h>

static void small_samples(void **state)
{
    (void)state;
    interval i;
    const double three[] = {3, 1, 2}, four[] = {4, 1, 3, 2}, weight[] = {1, 0, 2, 1};
    check_status(interval_of(&i, three, NULL, 3, 0.95));
    check_near(i.mean, 2, 0);
    check_near(i.median, 2, 0);
    check_near(i.low, 1, 0);
    check_near(i.high, 3, 0);
    check_status(interval_of(&i, four, NULL, 4, 0.5));
    check_near(i.median, 2.5, 0);
    check_near(i.high - i.low, 1, 0);
    check_status(interval_of(&i, four, weight, 4, 0.7)); /* 2 once, 3 twice, 4 once */
    check_near(i.mean, 3, 0);
    check_near(i.median, 3, 0);
    check_near(i.low, 2, 0);
    check_near(i.high, 3, 0);
    check_status(interval_of(&i, three, NULL, 1, 0.95));
    check_near(i.low, 3, 0);
    check_near(i.high, 3, 0);
    check_status(interval_of(&i, three, NULL, 0, 0.95));
    assert_true(isnan(i.mean) && isnan(i.median) && isnan(i.low) && isnan(i.high));
}

/* The 95 % interval of exponential draws begins at 0 and ends at log 20; repeated values are
 * weights. */
static void exponential_draws(void **state)
{
    (void)state;
    enum { N = 40000 };
    static double value[2 * N], weight[N];
    rng r = rng_at(3, RNG_TEST, 0, 0);
    for (int k = 0; k < N; k++) {
        value[k] = value[N + k] = rng_exponential(&r);
        weight[k] = 2;
    }
    interval i, j;
    check_status(interval_of(&i, value, NULL, N, 0.95));
    /* Standard errors of the quantiles: sqrt(p (1-p) / N) / density, 0.005 and 0.022; 5 of them. */
    check_near(i.median, log(2), 0.025);
    check_near(i.high, log(20), 0.11);
    assert_true(i.low < 0.02);
    check_status(interval_of(&j, value, NULL, 2 * N, 0.95));
    check_status(interval_of(&i, value, weight, N, 0.95));
    check_near(i.median, j.median, 0);
    check_near(i.low, j.low, 0);
    check_near(i.high, j.high, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_samples),
        cmocka_unit_test(exponential_draws),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
