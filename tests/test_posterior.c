/* Summaries of draws that depend on each other: errors of means, and rows that are taken evenly. */
#include "support/check.h"

#include "artreeformer.h"
#include "base/rng.h"
#include "results/parameters.h"
#include "tree/taxa.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 4, EDGES = 2 * N - 3, CHAINS = 4, EACH = 4000 };

/* A posterior of four taxa for states of chains. */
static void begin(posterior *p, int rows, posterior_rows kind)
{
    taxa names;
    taxa_init(&names);
    for (int i = 0; i < N; i++)
        check_status(taxa_add(&names, &"abcd"[i], 1));
    check_status(posterior_init(p, &names, rows, kind, true, 1));
    check_status(posterior_set_chains(p, CHAINS));
    taxa_free(&names);
}

/* States whose tree length is 10 + offset * chain + an autoregression: x = a x + noise, of variance
 * 1. */
static void fill(particles *batch, int chain, double a, double offset, uint32_t seed)
{
    rng r = rng_at(seed, RNG_TEST, (uint32_t)chain, 0);
    double x = rng_normal(&r);
    for (int i = 0; i < EACH; i++) {
        batch->length[i * EDGES] = 10 + offset * chain + x;
        batch->part[i] = posterior_chain_part(chain, (size_t)i, EACH);
        x = a * x + sqrt(1 - a * a) * rng_normal(&r);
    }
}

/* The mean of the tree length and its standard error. */
static void tree_length_of(double out[2], double a, double offset, uint32_t seed)
{
    posterior p;
    particles batch;
    begin(&p, 10, ROWS_EVENLY);
    p.expected = CHAINS * EACH;
    check_status(particles_init(&batch, EACH, N, 0));
    for (int c = 0; c < CHAINS; c++) {
        fill(&batch, c, a, offset, seed);
        check_status(posterior_add(&p, &batch));
    }
    check_status(posterior_finish(&p));
    out[0] = weighted_mean(&p.column[0]);
    out[1] = weighted_mean_error(&p.column[0]);
    particles_free(&batch);
    posterior_free(&p);
}

/* The stated error of the mean of dependent states is what the means of many runs differ by. */
static void errors_hold_for_chains(void **state)
{
    (void)state;
    enum { RUNS = 40 };
    static const double correlation[] = {0, 0.9, 0.98};
    for (size_t k = 0; k < 3; k++) {
        double squares = 0, stated = 0;
        const double a = correlation[k];
        for (uint32_t run = 0; run < RUNS; run++) {
            double found[2];
            tree_length_of(found, a, 0, run + 1);
            squares += (found[0] - 10) * (found[0] - 10) / RUNS;
            stated += found[1] * found[1] / RUNS;
        }
        const double truth = (1 + a) / (1 - a) / (CHAINS * EACH);
        check_close(squares, truth, 0.7); /* three standard deviations of 40 squares */
        assert_true(stated > 0.85 * truth && stated < 1.6 * truth); /* the larger of two is taken */
    }
}

/* Chains that stay apart: the means 10, 11, 12, 13 have a variance of 5 / 3. */
static void errors_hold_for_chains_that_stay_apart(void **state)
{
    (void)state;
    double found[2];
    tree_length_of(found, 0, 1, 1);
    check_close(found[0], 11.5, 0.01);
    check_close(found[1], sqrt(5 / 3.0 / CHAINS), 0.05);
}

/* A weight that is on one draw has no error, however little the others would make of it; and what
 * is said of the parameters then has no interval. */
static void no_error_without_draws(void **state)
{
    (void)state;
    for (int is_heavy = 0; is_heavy < 2; is_heavy++) {
        posterior p;
        particles batch;
        parameter_row *row;
        begin(&p, 100, ROWS_BY_WEIGHT);
        check_status(particles_init(&batch, 5, N, 0));
        for (int i = 0; i < 5; i++) {
            batch.length[i * EDGES] = i;
            batch.log_weight[i] = is_heavy && i == 2 ? 4 : 0; /* 55 of 59 */
        }
        check_status(posterior_add(&p, &batch));
        check_status(posterior_finish(&p));
        check_status(parameter_rows(&row, &p));
        const double e = exp(4), draws = is_heavy ? (e + 4) * (e + 4) / (e * e + 4) : 5;
        check_close(weighted_draws(&p.column[0]), draws, 1e-9);
        assert_int_equal(isnan(weighted_mean_error(&p.column[0])) != 0, is_heavy);
        assert_int_equal(isnan(row->error) && isnan(row->low) && isnan(row->median), is_heavy);
        check_close(row->ess, draws, 1e-9);
        free(row);
        particles_free(&batch);
        posterior_free(&p);
    }
}

/* As many rows as there is room for, in the order of the draws, none twice; fewer draws are all
 * rows. */
static void rows_are_taken_evenly(void **state)
{
    (void)state;
    static const int expected_rows[][2] = {{700, 300}, {300, 300}, {7, 7}};
    for (size_t k = 0; k < 3; k++) {
        const int draws = expected_rows[k][0];
        posterior p;
        particles batch;
        begin(&p, 300, ROWS_EVENLY);
        p.expected = draws;
        check_status(particles_init(&batch, draws, N, 0));
        for (int i = 0; i < draws; i++)
            batch.value[i] = i;
        check_status(posterior_add(&p, &batch));
        check_status(posterior_finish(&p));
        assert_int_equal(p.count, expected_rows[k][1]);
        for (int i = 1; i < p.count; i++) {
            const double step = p.value[i] - p.value[i - 1];
            assert_true(step >= draws / p.count && step <= draws / p.count + 1);
        }
        particles_free(&batch);
        posterior_free(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_hold_for_chains),
        cmocka_unit_test(errors_hold_for_chains_that_stay_apart),
        cmocka_unit_test(no_error_without_draws),
        cmocka_unit_test(rows_are_taken_evenly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
