/* ARTree as the product has it, in float: golden numbers, and what must not change
 * a single bit: the batch, sharing, the cache, threads. */
#include "support/check.h"
#include "support/exact.h"
#include "support/golden.h"
#include "support/memory.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "base/rng.h"
#include "density/artree/artree_model.h"
#include "density/artree/artree_network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A model with random weights; sharpness multiplies its logits, so that samples share. */
static topology_model *random_model(int n_taxa, int hidden, double sharpness, pool *threads)
{
    topology_model *m;
    check_status(artree_create(&m, n_taxa, hidden, threads));
    m->ops->initialise(m, 1);
    for (int i = 0; i < hidden; i++)
        params_value(&m->params, ARTREE_EDGE3_WEIGHT)[i] *= (real)sharpness;
    m->ops->changed(m);
    return m;
}

static void golden_numbers(void **state)
{
    golden g;
    topology_model *m;
    golden_load(&g, *state);
    double *log_q = mem_zeros((size_t)g.count, sizeof *log_q);
    assert_non_null(log_q);
    check_status(artree_create(&m, g.n_taxa, g.hidden, NULL));
    check_status(params_load(m->params.value, &m->params, &g.weights, "", "golden", NULL));
    m->ops->changed(m);
    check_status(m->ops->score(m, log_q, g.decision, g.count));
    for (int j = 0; j < g.count; j++)
        check_near(log_q[j], g.log_q[j],
                   g.n_taxa > 8 ? 5e-4 : 5e-5); /* floats of the reference: 2e-5, 2e-6 */
    check_status(m->ops->gradient(m, NULL, g.decision, g.w, g.count));
    assert_true(golden_gradient_error(&g, &m->params) < 1e-3); /* float sums of 40 trees */
    free(log_q);
    m->ops->free(m);
    golden_free(&g);
}

/* What a sample is: the trees, their log q and the gradient of some sum of them. */
typedef struct outcome {
    int32_t *decision; /* [k][N-3] */
    double *log_q;     /* [k] */
    real *gradient;
} outcome;

static outcome run(topology_model *m, int k)
{
    outcome o = {mem_zeros((size_t)k * (size_t)m->n_taxa, sizeof *o.decision),
                 mem_zeros((size_t)k, sizeof *o.log_q), params_block(&m->params)};
    double *w = mem_zeros((size_t)k, sizeof *w);
    assert_true(o.decision && o.log_q && o.gradient && w);
    for (int i = 0; i < k; i++)
        w[i] = 0.25 * (i % 7) - 0.5;
    check_status(m->ops->sample(m, o.decision, o.log_q, k, 7, RNG_TEST, 3, 100));
    params_clear_grad(&m->params);
    check_status(m->ops->gradient(m, NULL, o.decision, w, k));
    memcpy(o.gradient, m->params.grad, m->params.total * sizeof *o.gradient);
    free(w);
    return o;
}

static void outcome_free(outcome *o)
{
    free(o->decision);
    free(o->log_q);
    free(o->gradient);
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    static const int batch[] = {1, 10, 150};
    for (int b = 0; b < 3; b++) {
        const int k = batch[b], n_taxa = 21;
        outcome expected = {0};
        for (int threads = 1; threads <= 5; threads++) {
            pool *team;
            check_status(pool_create(&team, threads));
            topology_model *m = random_model(n_taxa, 24, 40, team);
            outcome o = run(m, k);
            if (threads > 1) {
                assert_memory_equal(o.decision, expected.decision,
                                    (size_t)k * (size_t)(n_taxa - 3) * sizeof *o.decision);
                assert_memory_equal(o.log_q, expected.log_q, (size_t)k * sizeof *o.log_q);
                assert_memory_equal(o.gradient, expected.gradient,
                                    m->params.total * sizeof *o.gradient);
                outcome_free(&o);
            } else {
                expected = o;
            }
            m->ops->free(m);
            pool_free(team);
        }
        outcome_free(&expected);
    }
}

/* log q of a tree is one number: from sampling, from scoring, alone, among others, in any
 * order. */
static void log_q_is_one_number(void **state)
{
    (void)state;
    enum { K = 100, N = 30 };
    topology_model *m = random_model(N, 28, 20, NULL);
    static int32_t decision[K * (N - 3)], reversed[K * (N - 3)];
    double sampled[K], scored[K], alone;
    check_status(m->ops->sample(m, decision, sampled, K, 1, RNG_TEST, 0, 0));
    check_status(m->ops->score(m, scored, decision, K));
    assert_memory_equal(sampled, scored, sizeof scored);
    for (int i = 0; i < K; i++)
        memcpy(reversed + (K - 1 - i) * (N - 3), decision + i * (N - 3),
               (N - 3) * sizeof *decision);
    check_status(m->ops->score(m, scored, reversed, K));
    for (int i = 0; i < K; i++)
        assert_true(scored[K - 1 - i] == sampled[i]);
    for (int i = 0; i < K; i += 9) {
        double plain;
        check_status(m->ops->score(m, &alone, decision + i * (N - 3), 1));
        assert_true(alone == sampled[i]);
        check_status(m->ops->reference(m, &plain, decision + i * (N - 3)));
        check_near(alone, plain, 2e-3); /* sharpness magnifies rounding */
    }
    m->ops->free(m);
}

/* A sampled tree does not depend on the size of the sample or on its place in it. */
static void particles_do_not_see_each_other(void **state)
{
    (void)state;
    enum { K = 64, N = 12 };
    topology_model *m = random_model(N, 16, 10, NULL);
    int32_t all[K * (N - 3)], some[K * (N - 3)];
    double log_q[K], part[K];
    check_status(m->ops->sample(m, all, log_q, K, 5, RNG_TEST, 9, 0));
    for (int first = 0; first < K; first += 5) {
        const int k = K - first < 3 ? K - first : 3;
        check_status(m->ops->sample(m, some, part, k, 5, RNG_TEST, 9, (uint32_t)first));
        assert_memory_equal(some, all + first * (N - 3), (size_t)(k * (N - 3)) * sizeof *all);
        assert_memory_equal(part, log_q + first, (size_t)k * sizeof *part);
    }
    m->ops->free(m);
}

/* A cache large enough for everything, one that is evicted all the time, and the smallest. */
static void cache_does_not_matter(void **state)
{
    (void)state;
    enum { K = 1000, N = 16 };
    static const size_t bytes[] = {1 << 25, 1 << 18, 1 << 16, 1};
    topology_model *m = random_model(N, 12, 30, NULL);
    const size_t numbers = (size_t)K * (N - 3);
    int32_t *expected = mem_zeros(numbers, sizeof *expected);
    int32_t *decision = mem_zeros(numbers, sizeof *decision);
    double *log_q = mem_zeros(2 * (size_t)K, sizeof *log_q), *other = log_q + K;
    assert_true(expected && decision && log_q);
    check_status(m->ops->sample(m, expected, log_q, K, 2, RNG_TEST, 0, 0));
    for (int b = 0; b < 4; b++) {
        double done[2];
        check_status(m->ops->freeze(m, bytes[b]));
        for (int round = 0; round < 2; round++) {
            check_status(m->ops->sample(m, decision, other, K, 2, RNG_TEST, 0, 0));
            done[round] = m->work.done;
            assert_memory_equal(decision, expected, numbers * sizeof *decision);
            assert_memory_equal(other, log_q, (size_t)K * sizeof *log_q);
        }
        check_status(m->ops->score(m, other, expected, K));
        assert_memory_equal(other, log_q, (size_t)K * sizeof *log_q);
        if (b == 0)
            assert_true(done[0] > 0 && done[1] == 0 && m->work.done == 0);
        else
            assert_true(done[0] > 0 && done[1] > 0);
    }
    check_status(m->ops->freeze(m, 1 << 24)); /* changed weights are noticed */
    check_status(m->ops->score(m, other, expected, K));
    params_value(&m->params, ARTREE_EDGE3_WEIGHT)[0] += 1;
    m->ops->changed(m);
    check_status(m->ops->score(m, other, expected, 1));
    assert_true(other[0] != log_q[0]);
    check_status(m->ops->freeze(m, 0));
    free(expected);
    free(decision);
    free(log_q);
    m->ops->free(m);
}

/* Draws against the model's own probabilities. The statistic has trees - 1 degrees of freedom;
 * five standard deviations above its mean is an event of less than one in a million. */
static void draws_follow_the_probabilities(void **state)
{
    (void)state;
    enum { DRAWS = 200000, MOST = 105 };
    for (int n_taxa = 4; n_taxa <= 6; n_taxa++) {
        const int trees = exact_trees(n_taxa);
        topology_model *m = random_model(n_taxa, 8, 10, NULL);
        int32_t *decision = mem_zeros((size_t)DRAWS * 3, sizeof *decision);
        double *log_q = mem_zeros(DRAWS, sizeof *log_q), expected[MOST], statistic = 0;
        int count[MOST] = {0};
        assert_true(decision && log_q);
        for (int i = 0; i < trees; i++)
            exact_tree(decision + i * (n_taxa - 3), i, n_taxa);
        check_status(m->ops->score(m, expected, decision, trees));
        check_status(m->ops->freeze(m, 1 << 20));
        check_status(m->ops->sample(m, decision, log_q, DRAWS, 3, RNG_TEST, 0, 0));
        for (int i = 0; i < DRAWS; i++) {
            const int index = exact_index(decision + i * (n_taxa - 3), n_taxa);
            assert_true(log_q[i] == expected[index]);
            count[index]++;
        }
        for (int i = 0; i < trees; i++) {
            const double mean = DRAWS * exp(expected[i]);
            statistic += (count[i] - mean) * (count[i] - mean) / mean;
        }
        assert_true(statistic < trees - 1 + 5 * sqrt(2.0 * (trees - 1)) + 15);
        free(decision);
        free(log_q);
        m->ops->free(m);
    }
}

static void nothing_is_allocated_twice(void **state)
{
    (void)state;
    enum { K = 20, N = 18 };
    pool *team;
    check_status(pool_create(&team, 2));
    topology_model *m = random_model(N, 16, 1, team);
    static int32_t decision[K * (N - 3)];
    double log_q[K], w[K] = {1};
    long before = 0;
    for (int round = 0; round < 6; round++) {
        const int k = round % 2 ? K : 3;
        if (round == 2)
            before = memory_count();
        m->ops->changed(m);
        check_status(m->ops->sample(m, decision, log_q, k, 4, RNG_TEST, (uint32_t)round, 0));
        check_status(m->ops->gradient(m, log_q, decision, w, k));
        m->ops->changed(m);
        check_status(m->ops->gradient(m, NULL, decision, w, k));
        check_status(m->ops->score(m, log_q, decision, k));
    }
    assert_true(memory_count() == before);
    check_status(m->ops->freeze(m, 1 << 20));
    check_status(m->ops->sample(m, decision, log_q, K, 4, RNG_TEST, 0, 0));
    before = memory_count();
    for (uint32_t round = 0; round < 50; round++) {
        check_status(m->ops->sample(m, decision, log_q, K, 4, RNG_TEST, round, 0));
        check_status(m->ops->score(m, log_q, decision, K));
    }
    assert_true(memory_count() == before);
    m->ops->free(m);
    pool_free(team);
}

/* Every allocation fails once, and is reported; nothing leaks (the sanitizers look). */
static void memory_may_be_short(void **state)
{
    (void)state;
    enum { K = 4, N = 9 };
    int32_t decision[K * (N - 3)];
    double log_q[K], w[K] = {1, 1, 1, 1};
    int status = ART_ERR_NOMEM;
    long k = 1;
    for (; status == ART_ERR_NOMEM; k++) {
        topology_model *m;
        memory_fail_at(k);
        status = artree_create(&m, N, 8, NULL);
        if (!status) {
            m->ops->initialise(m, 1);
            status = m->ops->sample(m, decision, log_q, K, 1, RNG_TEST, 0, 0);
        }
        if (!status)
            status = m->ops->gradient(m, NULL, decision, w, K);
        if (!status)
            status = m->ops->freeze(m, 1 << 20);
        if (m)
            m->ops->free(m);
    }
    memory_fail_at(0);
    check_status(status);
    assert_true(k > 20);
}

static void what_is_no_model(void **state)
{
    (void)state;
    topology_model *m;
    assert_int_equal(artree_create(&m, 2, 8, NULL), ART_ERR_USAGE);
    assert_null(m);
    assert_int_equal(artree_create(&m, 5, 9, NULL), ART_ERR_USAGE);
    assert_int_equal(artree_create(&m, 5, 0, NULL), ART_ERR_USAGE);
    m = random_model(6, 8, 1, NULL);
    int32_t decision[3] = {0, 4, 7}; /* taxon 5 has edges 0..6 to go to */
    double log_q, w = 1;
    assert_int_equal(m->ops->score(m, &log_q, decision, 1), ART_ERR_USAGE);
    assert_int_equal(m->ops->gradient(m, &log_q, decision, &w, 1), ART_ERR_USAGE);
    assert_int_equal(m->ops->reference(m, &log_q, decision), ART_ERR_USAGE);
    decision[2] = -1;
    assert_int_equal(m->ops->score(m, &log_q, decision, 1), ART_ERR_USAGE);
    m->ops->free(m);
}

/* Three taxa have one tree and no decision. */
static void three_taxa(void **state)
{
    (void)state;
    topology_model *m = random_model(3, 8, 1, NULL);
    int32_t none[1] = {0};
    double log_q[3] = {1, 1, 1}, w[3] = {1, 2, 3};
    check_status(m->ops->sample(m, none, log_q, 3, 1, RNG_TEST, 0, 0));
    assert_true(log_q[0] == 0 && log_q[2] == 0);
    log_q[1] = 1;
    check_status(m->ops->score(m, log_q, none, 3));
    assert_true(log_q[1] == 0);
    check_status(m->ops->gradient(m, log_q, none, w, 3));
    for (size_t i = 0; i < m->params.total; i++)
        assert_true(m->params.grad[i] == 0);
    check_status(m->ops->freeze(m, 1000));
    check_status(m->ops->sample(m, none, log_q, 3, 1, RNG_TEST, 0, 0));
    check_status(m->ops->reference(m, log_q, none));
    assert_true(log_q[0] == 0);
    m->ops->free(m);
}

/* Published: 194K numbers at N = 27 and 209K at N = 64, of which 56,102 and 63,502 are those of the
 * branch model. */
static void sizes_are_the_published_ones(void **state)
{
    (void)state;
    topology_model *m = random_model(27, 100, 1, NULL);
    assert_int_equal(params_numbers(&m->params), 193903 - 56102);
    m->ops->free(m);
    m = random_model(64, 100, 1, NULL);
    assert_int_equal(params_numbers(&m->params), 208703 - 63502);
    m->ops->free(m);
}

/* All trees of five taxa: every decision's probabilities to the power, normalised. */
static void flatter_models_are_normalised(void **state)
{
    (void)state;
    enum { FIRST = 3, SECOND = 5, TREES = FIRST * SECOND };
    const double power = 0.7;
    topology_model *m = random_model(5, 12, 31, NULL);
    int32_t decision[TREES][2], drawn[TREES][2];
    double log_q[TREES], flat[TREES], again[TREES], first[FIRST], total = 0;
    for (int i = 0; i < TREES; i++) {
        decision[i][0] = i / SECOND;
        decision[i][1] = i % SECOND;
    }
    check_status(m->ops->score(m, log_q, &decision[0][0], TREES));
    check_status(m->ops->freeze(m, 1 << 20));
    check_status(m->ops->score(m, flat, &decision[0][0], TREES)); /* fills the cache */
    m->ops->flatten(m, power);
    check_status(m->ops->score(m, flat, &decision[0][0], TREES));
    for (int i = 0; i < FIRST; i++) {
        first[i] = 0;
        for (int j = 0; j < SECOND; j++)
            first[i] += exp(log_q[i * SECOND + j]);
        total += pow(first[i], power);
    }
    for (int i = 0; i < FIRST; i++) {
        double below = 0;
        for (int j = 0; j < SECOND; j++)
            below += pow(exp(log_q[i * SECOND + j]) / first[i], power);
        for (int j = 0; j < SECOND; j++)
            check_near(flat[i * SECOND + j], /* logits and power are floats */
                       power * log_q[i * SECOND + j] - log(total) - log(below), 1e-5);
    }
    check_status(m->ops->sample(m, &drawn[0][0], again, TREES, 3, RNG_TEST, 0, 0));
    for (int i = 0; i < TREES; i++)
        check_near(again[i], flat[drawn[i][0] * SECOND + drawn[i][1]], 0);
    check_status(m->ops->freeze(m, 0));
    check_status(m->ops->score(m, again, &decision[0][0], TREES));
    assert_memory_equal(again, log_q, sizeof log_q);
    m->ops->free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        golden_test(golden_numbers, "artree_tiny_n5"),
        golden_test(golden_numbers, "artree_small_n8"),
        golden_test(golden_numbers, "artree_ds1_d100"),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(log_q_is_one_number),
        cmocka_unit_test(particles_do_not_see_each_other),
        cmocka_unit_test(cache_does_not_matter),
        cmocka_unit_test(flatter_models_are_normalised),
        cmocka_unit_test(draws_follow_the_probabilities),
        cmocka_unit_test(nothing_is_allocated_twice),
        cmocka_unit_test(memory_may_be_short),
        cmocka_unit_test(what_is_no_model),
        cmocka_unit_test(three_taxa),
        cmocka_unit_test(sizes_are_the_published_ones),
    };
    return cmocka_run_group_tests_name("artree", tests, NULL, NULL);
}
