#include "support/check.h"

#include "base/rng.h"
#include "train/objective.h"
#include "train/importance_weights.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

enum { MAX_K = 64 };

static int read_array(double *out, const json_t *object, const char *key)
{
    const json_t *array = json_object_get(object, key);
    assert_true(json_is_array(array) && json_array_size(array) <= MAX_K);
    for (size_t i = 0; i < json_array_size(array); i++)
        out[i] = json_number_value(json_array_get(array, i));
    return (int)json_array_size(array);
}

static void agrees_with_golden(void **state)
{
    (void)state;
    static const struct {
        estimator kind;
        const char *key;
    } kinds[] = {
        {ESTIMATOR_VIMCO_GEOMETRIC, "dloss_dlogq_tree_geometric"},
        {ESTIMATOR_VIMCO_ARITHMETIC, "dloss_dlogq_tree_arithmetic"},
        {ESTIMATOR_RWS, "rws_dloss_dlogq_tree"},
    };
    json_error_t error;
    json_t *root = json_load_file(golden_path("vimco.json"), 0, &error);
    assert_non_null(root);
    const json_t *cases = json_object_get(root, "cases"), *one;
    assert_true(json_array_size(cases) > 0);
    size_t index;
    json_array_foreach(cases, index, one)
    {
        double w[MAX_K], expected[MAX_K], share[MAX_K], dlogq[MAX_K];
        int k = read_array(w, one, "log_weights");
        double bound = json_number_value(json_object_get(one, "bound"));
        check_close(objective_bound(w, k), bound, 1e-14);
        for (size_t j = 0; j < sizeof kinds / sizeof kinds[0]; j++) {
            check_close(objective_gradient(share, dlogq, w, k, kinds[j].kind), bound, 1e-14);
            read_array(expected, one, kinds[j].key);
            /* weights near 7000 leave 1e-12 of absolute precision in their differences */
            for (int i = 0; i < k; i++)
                check_near(dlogq[i], expected[i], 1e-11);
            read_array(expected, one, "dloss_dlogw_geometric");
            for (int i = 0; i < k; i++)
                check_near(-share[i], expected[i], 1e-11);
        }
    }
    json_decref(root);
}

/* Three topologies (N = 4) with probabilities softmax(logit), K = 3: all 27 tuples. */
enum { TREES = 3, K = 3, TUPLES = 27 };

static void log_softmax3(double *log_q, const double *logit)
{
    double total = log_sum_exp(logit, TREES);
    for (int t = 0; t < TREES; t++)
        log_q[t] = logit[t] - total;
}

static const double LOG_JOINT[TREES] = {-3.1, -4.7, -2.2};

static void tuple_trees(int tree[K], int tuple)
{
    for (int i = 0; i < K; i++, tuple /= TREES)
        tree[i] = tuple % TREES;
}

static double expected_bound(const double *logit)
{
    double log_q[TREES], sum = 0;
    log_softmax3(log_q, logit);
    for (int tuple = 0; tuple < TUPLES; tuple++) {
        int tree[K];
        double w[K], log_p = 0;
        tuple_trees(tree, tuple);
        for (int i = 0; i < K; i++) {
            w[i] = LOG_JOINT[tree[i]] - log_q[tree[i]];
            log_p += log_q[tree[i]];
        }
        sum += exp(log_p) * objective_bound(w, K);
    }
    return sum;
}

static void vimco_is_unbiased(void **state)
{
    (void)state;
    const double logit[TREES] = {0.3, -0.9, 0.5};
    double log_q[TREES];
    log_softmax3(log_q, logit);
    for (int kind = ESTIMATOR_VIMCO_GEOMETRIC; kind <= ESTIMATOR_VIMCO_ARITHMETIC; kind++) {
        double gradient[TREES] = {0};
        for (int tuple = 0; tuple < TUPLES; tuple++) {
            int tree[K];
            double w[K], share[K], dlogq[K], log_p = 0;
            tuple_trees(tree, tuple);
            for (int i = 0; i < K; i++) {
                w[i] = LOG_JOINT[tree[i]] - log_q[tree[i]];
                log_p += log_q[tree[i]];
            }
            objective_gradient(share, dlogq, w, K, (estimator)kind);
            for (int i = 0; i < K; i++)
                for (int t = 0; t < TREES; t++)
                    gradient[t] -= exp(log_p) * dlogq[i] * ((tree[i] == t) - exp(log_q[t]));
        }
        for (int t = 0; t < TREES; t++) {
            /* fourth-order central difference: its own error is near 1e-12 at this step */
            double value[5], h = 1e-3;
            for (int s = -2; s <= 2; s++) {
                double moved[TREES] = {logit[0], logit[1], logit[2]};
                moved[t] += s * h;
                value[s + 2] = expected_bound(moved);
            }
            double slope = (value[0] - 8 * value[1] + 8 * value[3] - value[4]) / (12 * h);
            check_near(gradient[t], slope, 2e-12);
        }
    }
}

static void one_particle_is_refused(void **state)
{
    (void)state;
    double w = -1, share, dlogq;
    assert_true(isnan(objective_gradient(&share, &dlogq, &w, 1, ESTIMATOR_VIMCO_GEOMETRIC)));
    assert_true(isnan(objective_gradient(&share, &dlogq, &w, 1, ESTIMATOR_VIMCO_ARITHMETIC)));
    check_near(objective_gradient(&share, &dlogq, &w, 1, ESTIMATOR_RWS), -1, 0);
}

static void effective_sample_size(void **state)
{
    (void)state;
    double equal[5] = {-700, -700, -700, -700, -700}, one[3] = {0, -800, -900};
    check_near(weights_ess(equal, 5), 5, 1e-12);
    check_near(weights_ess(one, 3), 1, 1e-12);
    double two[3] = {log(1), log(2), log(3)};
    check_near(weights_ess(two, 3), 36.0 / 14, 1e-12);
}

/* Weights drawn from a Pareto tail of known shape: the estimate is near it. The tolerance is
 * about four standard errors of the estimate, (1 + k) / sqrt(tail), plus the prior's pull. */
static void pareto_shape_is_found(void **state)
{
    (void)state;
    enum { N = 40000 };
    static const double shapes[] = {0.2, 0.5, 0.7, 1.0, 1.5};
    double *w = malloc(2 * N * sizeof *w);
    assert_non_null(w);
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        rng r = rng_at(11, RNG_TEST, 0, (uint32_t)s);
        for (int i = 0; i < N; i++)
            w[i] = -5000 - shapes[s] * log(rng_uniform(&r));
        check_near(weights_pareto_k(w, w + N, N), shapes[s],
                   4 * (1 + shapes[s]) / sqrt(3 * sqrt(N)));
    }
    for (int i = 0; i < N; i++)
        w[i] = -10;
    assert_true(isinf(weights_pareto_k(w, w + N, N)) && weights_pareto_k(w, w + N, N) < 0);
    assert_true(weights_pareto_k(w, w + N, 10) > 0);
    free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_golden),      cmocka_unit_test(vimco_is_unbiased),
        cmocka_unit_test(one_particle_is_refused), cmocka_unit_test(effective_sample_size),
        cmocka_unit_test(pareto_shape_is_found),
    };
    return cmocka_run_group_tests_name("objective", tests, NULL, NULL);
}
