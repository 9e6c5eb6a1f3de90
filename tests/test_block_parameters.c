/* The free parameters of several blocks: names, priors, coordinates, gradients. */
#include "support/check.h"
#include "support/problem.h"

#include "artreeformer.h"
#include "subst/block_parameters.h"

#include <math.h>
#include <string.h>

enum { MOST = 32 };

static void three_blocks(block_parameters *b, bool multipliers_free)
{
    const parameter_block given[] = {
        {.model = free_model_of("HKY+G4"), .share = 100, .multiplier = 0.6},
        {.model = free_model_of("JC"), .share = 300, .multiplier = 1.4},
        {.model = free_model_of("GTR+I+G4"), .share = 200, .multiplier = 2.0},
    };
    check_status(block_parameters_init(b, given, 3, multipliers_free));
}

static void some_z(double *z, const block_parameters *b, uint32_t number)
{
    rng stream = rng_at(1, RNG_TEST, 79, number);
    block_parameters_start(z, b);
    for (int k = 0; k < b->n_free; k++)
        z[k] *= exp(0.3 * rng_normal(&stream));
}

static void blocks_are_numbered(void **state)
{
    (void)state;
    static const char *const NAME[] = {
        "kappa{1}",    "pi(A){1}",    "pi(C){1}",    "pi(G){1}",    "pi(T){1}",    "alpha{1}",
        "r(A<->C){3}", "r(A<->G){3}", "r(A<->T){3}", "r(C<->G){3}", "r(C<->T){3}", "r(G<->T){3}",
        "pi(A){3}",    "pi(C){3}",    "pi(G){3}",    "pi(T){3}",    "alpha{3}",    "pinvar{3}",
        "m{1}",        "m{2}",        "m{3}"};
    enum { NAMES = sizeof NAME / sizeof *NAME };
    for (int free = 0; free < 2; free++) {
        block_parameters b;
        char name[PARAMETER_NAME_SIZE];
        double z[MOST], value[MOST], sum = 0;
        three_blocks(&b, free);
        const int n = NAMES - (free ? 0 : 3);
        assert_int_equal(block_parameters_columns(&b), n);
        some_z(z, &b, 1);
        block_parameters_values(value, &b, z);
        for (int i = 0; i < n; i++) {
            block_parameters_name(name, &b, i);
            assert_string_equal(name, NAME[i]);
            check_near(block_parameters_value(&b, z, i), value[i], 0);
        }
        for (int i = 6; i < 12; i++)
            sum += value[i];
        check_near(sum, 1, 1e-14);
        for (int k = 0; k < 3 && free; k++)
            check_near(value[18 + k], block_parameters_multiplier(&b, z, k), 0);
        block_parameters_free(&b);
    }
}

/* With one block everything is as free_model.h has it, to the bit. */
static void one_block_is_its_model(void **state)
{
    (void)state;
    const parameter_block given = {.model = free_model_of("GTR+I+G4"), .share = 7, .multiplier = 1};
    const free_model *f = &given.model;
    block_parameters b;
    char name[PARAMETER_NAME_SIZE], expected[FREE_COLUMNS_MOST][PARAMETER_NAME_SIZE];
    double z[2][FREE_MOST], value[2][FREE_COLUMNS_MOST];
    block_slopes by = {.multiplier = 3};
    for (size_t i = 0; i < sizeof by.model / sizeof(double); i++)
        ((double *)&by.model)[i] = sin((double)i);
    check_status(block_parameters_init(&b, &given, 1, true));
    assert_int_equal(b.n_free, f->n_free);
    assert_false(b.multipliers_free);
    const size_t size = (size_t)f->n_free * sizeof(double);
    block_parameters_start(z[0], &b);
    free_model_start(z[1], f);
    assert_memory_equal(z[0], z[1], size);
    check_near(block_parameters_multiplier(&b, z[0], 0), 1, 0);
    check_near(block_parameters_log_prior(&b, z[0]), free_model_log_prior(f, z[0]), 0);
    check_near(block_parameters_stated_prior(&b, z[0]), free_model_stated_prior(f, z[0]), 0);
    const int n = free_model_columns(expected, f);
    assert_int_equal(block_parameters_columns(&b), n);
    block_parameters_values(value[0], &b, z[0]);
    free_model_values(value[1], f, z[0]);
    for (int i = 0; i < n; i++) {
        block_parameters_name(name, &b, i);
        assert_string_equal(name, expected[i]);
        check_near(value[0][i], value[1][i], 0);
    }
    double at[FREE_MOST];
    memcpy(at, z[0], size);
    block_parameters_gradient(z[0], &b, at, &by);
    free_model_gradient(z[1], f, at, &by.model);
    assert_memory_equal(z[0], z[1], size);
    block_parameters_likelihood_gradient(z[0], &b, at, &by);
    free_model_likelihood_gradient(z[1], f, at, &by.model);
    assert_memory_equal(z[0], z[1], size);
    rng stream[2] = {rng_at(1, RNG_TEST, 5, 5), rng_at(1, RNG_TEST, 5, 5)};
    block_parameters_draw(z[0], &b, &stream[0]);
    free_model_draw(z[1], f, &stream[1]);
    assert_memory_equal(z[0], z[1], size);
    block_parameters_free(&b);
}

/* Where a search starts, free multipliers have the given ratios and the mean 1 over all sites. */
static void multipliers_have_the_mean_one(void **state)
{
    (void)state;
    block_parameters b;
    double z[MOST], mean = 0, m[3];
    three_blocks(&b, true);
    assert_int_equal(b.reference, 1);
    assert_int_equal(b.n_free, 5 + 0 + 10 + 2);
    block_parameters_start(z, &b);
    for (int k = 0; k < 3; k++)
        m[k] = block_parameters_multiplier(&b, z, k);
    check_close(m[0] / m[1], 0.6 / 1.4, 1e-12);
    check_close(m[2] / m[1], 2.0 / 1.4, 1e-12);
    for (int i = 0; i < 5; i++) {
        some_z(z, &b, (uint32_t)i);
        if (i == 4)
            z[15] = 1e9, z[16] = -1; /* beyond the limits */
        mean = 0;
        for (int k = 0; k < 3; k++)
            mean += b.block[k].share * block_parameters_multiplier(&b, z, k);
        check_near(mean, 1, 1e-12);
    }
    assert_true(block_parameters_log_prior(&b, z) == -HUGE_VAL);
    block_parameters_free(&b);
}

/* A function of models and multipliers with known derivatives by the multipliers. */
static double some_value(const block_parameters *b, const double *z, block_slopes *by)
{
    double value = 0;
    for (int k = 0; k < b->n_blocks; k++) {
        const double m = block_parameters_multiplier(b, z, k);
        value += (k + 1) * sin(m) + 0.3 * k * m * m;
        if (by)
            by[k] = (block_slopes){.multiplier = (k + 1) * cos(m) + 0.6 * k * m};
    }
    return value;
}

/* Signed differences; those of the models' own parameters are tested with free_model.h, here they
 * have the prior alone. The error is h^2 times third derivatives. */
static void gradients(void **state)
{
    (void)state;
    const double h = 1e-5;
    for (uint32_t i = 0; i < 5; i++) {
        block_parameters b;
        block_slopes by[3];
        double z[MOST], dz[MOST], alone[MOST];
        three_blocks(&b, true);
        some_z(z, &b, 20 + i);
        some_value(&b, z, by);
        block_parameters_gradient(dz, &b, z, by);
        block_parameters_likelihood_gradient(alone, &b, z, by);
        for (int k = 0; k < b.n_free; k++) {
            const double before = z[k];
            double value[2], prior[2];
            for (int side = 0; side < 2; side++) {
                z[k] = before + (side ? -h : h);
                value[side] = some_value(&b, z, NULL);
                prior[side] = block_parameters_log_prior(&b, z);
            }
            z[k] = before;
            const double slope = (value[0] - value[1]) / (2 * h);
            check_near(alone[k], slope, 1e-6 * (1 + fabs(slope)));
            check_near(dz[k], slope + (prior[0] - prior[1]) / (2 * h), 1e-6 * (1 + fabs(dz[k])));
        }
        block_parameters_free(&b);
    }
}

/* The prior in z integrates to 1, and y = w m is Dirichlet(1,1): uniform. */
static void the_prior_is_a_density(void **state)
{
    (void)state;
    const parameter_block given[] = {{.model = free_model_of("JC"), .share = 1, .multiplier = 1},
                                     {.model = free_model_of("JC"), .share = 3, .multiplier = 1}};
    block_parameters b;
    check_status(block_parameters_init(&b, given, 2, true));
    assert_int_equal(b.n_free, 1);
    double sum = 0, mean = 0;
    const double step = 1e-3;
    for (double l = -30; l < 30; l += step) { /* z = exp(l): all of the tails */
        const double z = exp(l), density = exp(block_parameters_log_prior(&b, &z)) * z * step;
        sum += density;
        mean += density * 0.25 * block_parameters_multiplier(&b, &z, 0);
    }
    check_near(sum, 1, 1e-9);
    check_near(mean, 0.5, 1e-4); /* the limits of the ratios are 1e-5 and 1e5 */
    block_parameters_free(&b);
}

/* Draws have the moments of Dirichlet(1,1,1): mean 1/3, variance 1/18. */
static void draws_are_from_the_prior(void **state)
{
    (void)state;
    enum { DRAWS = 20000 };
    block_parameters b;
    double z[MOST], sum[3] = {0}, square[3] = {0};
    rng stream = rng_at(3, RNG_TEST, 80, 0);
    three_blocks(&b, true);
    for (int i = 0; i < DRAWS; i++) {
        block_parameters_draw(z, &b, &stream);
        for (int k = 0; k < 3; k++) {
            const double y = b.block[k].share * block_parameters_multiplier(&b, z, k);
            sum[k] += y / DRAWS;
            square[k] += y * y / DRAWS;
        }
    }
    for (int k = 0; k < 3; k++) { /* four standard errors */
        check_near(sum[k], 1.0 / 3, 4 * sqrt(1.0 / 18 / DRAWS));
        check_near(square[k] - sum[k] * sum[k], 1.0 / 18, 4 * 1.0 / 18 * sqrt(2.0 / DRAWS));
    }
    /* Their stated density is that of the models and Gamma(3). */
    double expected = log(2);
    for (int k = 0; k < 3; k++)
        expected += free_model_stated_prior(&b.block[k].model, z + b.block[k].first);
    check_near(block_parameters_stated_prior(&b, z), expected, 1e-12);
    block_parameters_free(&b);
}

/* Within the bounds the multipliers are not clipped; beyond they do not change. */
static void bounds(void **state)
{
    (void)state;
    block_parameters b;
    double z[MOST], low[MOST], high[MOST];
    three_blocks(&b, true);
    block_parameters_start(z, &b);
    block_parameters_bounds(low, high, &b);
    for (int k = 0; k < b.n_free; k++)
        assert_true(low[k] < z[k] && z[k] < high[k]);
    for (int side = 0; side < 2; side++) {
        double at[3];
        const double factor = side ? 1.001 : 0.999;
        z[15] = side ? high[15] : low[15];
        at[0] = block_parameters_multiplier(&b, z, 0);
        z[15] *= factor;
        at[1] = block_parameters_multiplier(&b, z, 0);
        z[15] *= factor;
        at[2] = block_parameters_multiplier(&b, z, 0);
        check_close(at[1], at[0], 1e-5);
        check_near(at[2], at[1], 0);
    }
    block_parameters_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_numbered),
        cmocka_unit_test(one_block_is_its_model),
        cmocka_unit_test(multipliers_have_the_mean_one),
        cmocka_unit_test(gradients),
        cmocka_unit_test(the_prior_is_a_density),
        cmocka_unit_test(draws_are_from_the_prior),
        cmocka_unit_test(bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
