/* Marginal densities, from samples whose density is known. */
#include "support/check.h"

#include "artreeformer.h"
#include "results/marginal.h"
#include "results/svg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 4000 };

/* Quantiles in equal steps: a sample without noise. */
static double exponential(double u)
{
    return -log1p(-u);
}

static double uniform(double u)
{
    return u;
}

/* A posterior with one column, from which nothing else is asked. */
typedef struct sample {
    posterior p;
    double value[ROWS];
    int model[ROWS];
    char name[1][PARAMETER_NAME_SIZE];
} sample;

static sample made;

static const posterior *make(const char *name, double (*quantile)(double))
{
    made = (sample){0};
    snprintf(made.name[0], sizeof made.name[0], "%s", name);
    for (int i = 0; i < ROWS; i++)
        made.value[i] = quantile((i + 0.5) / ROWS);
    made.p = (posterior){
        .count = ROWS, .n_columns = 1, .reported = made.value, .column_name = made.name};
    return &made.p;
}

/* The curve has its highest value, 1, at the bound, and follows the density from there. */
static void curves_end_at_bounds(void **state)
{
    (void)state;
    marginal m;
    check_status(marginal_of(&m, make("alpha", exponential), 0));
    assert_true(marginal_has_curve(&m));
    assert_true(m.from == 0 && m.fixed_share == 0);
    check_near(m.low, 0, 0.001);
    check_near(m.high, -log(0.05), 0.01);
    check_near(m.density[0], 1, 0);
    for (int j = 0; j < MARGINAL_POINTS; j++) { /* the kernel is wide: 0.16 */
        const double x = m.to * j / (MARGINAL_POINTS - 1);
        check_near(m.density[j], exp(-x), 0.15);
    }
    check_status(marginal_of(&m, make("pinvar", uniform), 0));
    assert_true(m.from == 0 && m.to == 1);
    for (int j = 0; j < MARGINAL_POINTS; j++) /* flat: nothing is lost at either end */
        check_near(m.density[j], 1, 0.01);
    check_status(marginal_of(&m, make("kappa", uniform), 0)); /* may be above 1 */
    assert_true(m.to > 1.2 && m.density[MARGINAL_POINTS - 1] < 0.01);
}

/* Models without +I have a pinvar of 0. */
static void fixed_values_are_apart(void **state)
{
    (void)state;
    marginal m;
    make("pinvar", uniform);
    for (int i = 0; i < ROWS; i++) {
        made.model[i] = 1 + i % 4; /* 1 and 2 have 0 */
        made.value[i] = made.model[i] > 2 ? 0.4 + 0.2 * made.value[i] : 0;
    }
    made.p.row_model = made.model;
    check_status(marginal_of(&m, &made.p, 0));
    check_near(m.fixed_share, 0.5, 0);
    check_near(m.fixed_value, 0, 0);
    check_near(m.low, 0.4, 0.011);
    check_near(m.high, 0.6, 0.011);
    assert_true(m.from > 0.3 && m.density[0] < 0.01);
    for (int i = 0; i < ROWS; i++) /* two values, and a model that has none */
        made.value[i] = made.model[i] == 1 ? 0.1 : made.model[i] == 3 ? (double)NAN : made.value[i];
    check_status(marginal_of(&m, &made.p, 0));
    check_near(m.fixed_share, 2.0 / 3, 1e-15);
    assert_true(isnan(m.fixed_value));
    for (int i = 0; i < ROWS; i++)
        made.value[i] = 0;
    check_status(marginal_of(&m, &made.p, 0));
    assert_true(!marginal_has_curve(&m) && m.fixed_share == 1);
    made.p.count = 0;
    check_status(marginal_of(&m, &made.p, 0));
    assert_true(!marginal_has_curve(&m) && m.fixed_share == 0);
}

static void drawings_have_an_axis(void **state)
{
    (void)state;
    marginal m;
    buffer out;
    buffer_init(&out);
    check_status(marginal_of(&m, make("alpha", exponential), 0));
    svg_marginal(&out, &m);
    check_status(buffer_status(&out));
    assert_non_null(strstr(out.text, "<path class=\"density\" d=\"M30.0 2.0L"));
    assert_non_null(strstr(out.text, "<path class=\"axis\" d=\"M30.0 44.0L190.0 44.0\"/>"));
    assert_non_null(strstr(out.text, ">0.000125</text>"));
    assert_non_null(strstr(out.text, ">2.99</text>"));
    assert_null(strstr(out.text, "nan"));
    buffer_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(curves_end_at_bounds),
                                       cmocka_unit_test(fixed_values_are_apart),
                                       cmocka_unit_test(drawings_have_an_axis)};
    return cmocka_run_group_tests_name("marginal", tests, NULL, NULL);
}
