#include "support/check.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "base/rng.h"
#include "collapsed/bridge.h"

#include <math.h>
#include <stdlib.h>

/* Numbers 0 .. K-1 with target weights exp g and proposal q: all sums are known. */
enum { K = 40 };

typedef struct toy {
    double log_target[K], log_q[K];
    double log_sum; /* of the target */
} toy;

static void toy_init(toy *t, double shift)
{
    double sum = 0, q = 0;
    for (int i = 0; i < K; i++) {
        t->log_target[i] = 3 - 0.02 * (i - 12) * (i - 12);
        t->log_q[i] = -0.02 * (i - 12 - shift) * (i - 12 - shift);
        sum += exp(t->log_target[i]);
        q += exp(t->log_q[i]);
    }
    t->log_sum = log(sum);
    for (int i = 0; i < K; i++)
        t->log_q[i] -= log(q);
}

static int draw(const double *log_p, double log_sum, rng *r)
{
    double u = rng_uniform(r);
    for (int i = 0; i < K; i++)
        if ((u -= exp(log_p[i] - log_sum)) < 0)
            return i;
    return K - 1;
}

typedef struct sample {
    double *draw, *state;
    size_t n_draws, n_chains, n_states;
} sample;

/* Each state is repeated so often: chains that move slowly. */
static sample sample_of(const toy *t, size_t draws, size_t chains, size_t states, size_t repeat,
                        uint32_t seed)
{
    sample s = {mem_zeros(draws, sizeof(double)), mem_zeros(chains * states, sizeof(double)), draws,
                chains, states};
    rng r = rng_at(seed, RNG_TEST, 0, 0);
    assert_non_null(s.draw);
    assert_non_null(s.state);
    for (size_t i = 0; i < draws; i++) {
        const int k = draw(t->log_q, 0, &r);
        s.draw[i] = t->log_target[k] - t->log_q[k];
    }
    for (size_t i = 0, k = 0; i < chains * states; i++) {
        if (i % repeat == 0)
            k = (size_t)draw(t->log_target, t->log_sum, &r);
        s.state[i] = t->log_target[k] - t->log_q[k];
    }
    return s;
}

static bridge_estimate bridge_free_sample(sample s)
{
    bridge_estimate b;
    check_status(
        bridge_of(&b, s.draw, s.n_draws, (double)s.n_draws, s.state, s.n_chains, s.n_states));
    free(s.draw);
    free(s.state);
    return b;
}

/* Over many repeats: the mean is right, and errors have the size that is stated. */
static void check_calibrated(double shift, size_t repeat)
{
    enum { REPEATS = 200 };
    toy t;
    double mean = 0, squares = 0;
    toy_init(&t, shift);
    for (uint32_t i = 0; i < REPEATS; i++) {
        const bridge_estimate b = bridge_free_sample(sample_of(&t, 400, 4, 400, repeat, i));
        const double z = (b.log_sum - t.log_sum) / b.error;
        mean += z / REPEATS;
        squares += z * z / REPEATS;
    }
    /* 200 standard normal numbers: mean 0 +- 0.07; mean square 1 +- 0.1, and the stated error may
     * be too large, never much too small */
    assert_true(fabs(mean) < 0.3);
    assert_true(squares < 1.4);
    assert_true(squares > 0.4);
}

static void errors_are_calibrated(void **state)
{
    (void)state;
    check_calibrated(1, 1);
    check_calibrated(4, 1);
    check_calibrated(10, 1);
    check_calibrated(4, 8);
}

static void equal_distributions_overlap(void **state)
{
    (void)state;
    toy t;
    toy_init(&t, 0);
    const bridge_estimate b = bridge_free_sample(sample_of(&t, 100, 2, 100, 1, 1));
    check_near(b.log_sum, t.log_sum, 1e-9); /* all weights are the same */
    check_near(b.overlap, 1, 1e-9);
    check_near(b.error, 0, 1e-9);
    toy_init(&t, 25);
    assert_true(bridge_free_sample(sample_of(&t, 400, 4, 400, 1, 1)).overlap < 0.1);
}

/* Chains that stay apart count little, although each of them has a large effective size: the draws
 * decide then. */
static void chains_apart_count_little(void **state)
{
    (void)state;
    toy t;
    toy_init(&t, 4);
    sample s = sample_of(&t, 4000, 2, 400, 1, 3);
    for (size_t i = 0; i < 400; i++) { /* chain 0 has only the small ones, chain 1 the large ones */
        s.state[i] = t.log_target[4] - t.log_q[4] + 0.001 * (double)(i % 7);
        s.state[400 + i] = t.log_target[24] - t.log_q[24] + 0.001 * (double)(i % 7);
    }
    const bridge_estimate b = bridge_free_sample(s);
    assert_true(b.states < 4);
    assert_true(b.share < 0.02);
    check_near(b.log_sum, t.log_sum, 4 * b.error);
}

/* The pooled sample gives expectations of the target. */
static void pooled_weights(void **state)
{
    (void)state;
    toy t;
    toy_init(&t, 5);
    enum { N = 20000 };
    sample s = sample_of(&t, N, 2, N / 2, 1, 9);
    bridge_estimate b;
    check_status(
        bridge_of(&b, s.draw, s.n_draws, (double)s.n_draws, s.state, s.n_chains, s.n_states));
    double all = 0, high = 0, exact = 0;
    for (int i = 0; i < N; i++) {
        const double from_draw = (1 - b.share) / N * bridge_weight(&b, s.draw[i]);
        const double from_state = b.share / N * bridge_weight(&b, s.state[i]);
        all += from_draw + from_state;
        high += (s.draw[i] > t.log_sum ? from_draw : 0) + (s.state[i] > t.log_sum ? from_state : 0);
    }
    for (int i = 0; i < K; i++)
        exact += t.log_target[i] - t.log_q[i] > t.log_sum ? exp(t.log_target[i] - t.log_sum) : 0;
    check_near(all, 1, 0.02);
    check_near(high / all, exact, 0.02);
    assert_true(bridge_weight(&b, HUGE_VAL) <= 1 / b.share);
    check_near(bridge_weight(&b, -HUGE_VAL), 0, 0);
    free(s.draw);
    free(s.state);
}

/* A few draws tell what the part of the states in the error will be with many. */
static void planned_draws(void **state)
{
    (void)state;
    toy t;
    toy_init(&t, 6);
    sample many = sample_of(&t, 20000, 4, 300, 1, 5);
    bridge_estimate with_many, with_few, as_if;
    check_status(bridge_of(&with_many, many.draw, 20000, 20000, many.state, 4, 300));
    check_status(bridge_of(&with_few, many.draw, 200, 200, many.state, 4, 300));
    check_status(bridge_of(&as_if, many.draw, 200, 20000, many.state, 4, 300));
    check_near(as_if.state_error / with_many.state_error, 1, 0.3);
    assert_true(with_few.state_error > 2 * with_many.state_error);
    free(many.draw);
    free(many.state);
}

static void too_little_is_not_known(void **state)
{
    (void)state;
    bridge_estimate b;
    const double one[8] = {0, 1, 2, 3, 4, 5, 6, 7}, none[2] = {-HUGE_VAL, -HUGE_VAL};
    check_status(bridge_of(&b, one, 1, 1, one, 2, 4));
    assert_true(isnan(b.log_sum) && isinf(b.error));
    check_status(bridge_of(&b, one, 8, 8, one, 1, 3));
    assert_true(isnan(b.log_sum) && isinf(b.error));
    check_status(bridge_of(&b, none, 2, 2, one, 2, 4));
    assert_true(isnan(b.log_sum) && isinf(b.error));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_calibrated),
        cmocka_unit_test(equal_distributions_overlap),
        cmocka_unit_test(chains_apart_count_little),
        cmocka_unit_test(pooled_weights),
        cmocka_unit_test(planned_draws),
        cmocka_unit_test(too_little_is_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
