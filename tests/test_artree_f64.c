/* ARTree in double: golden numbers, exact sums, finite differences. */
#include "support/check.h"
#include "support/exact.h"
#include "support/golden.h"

#include "base/mem.h"
#include "base/rng.h"
#include "density/artree/artree_model.h"
#include "density/artree/artree_network.h"
#include "tree/topology.h"
#include "nn/optim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static topology_model *golden_model(golden *g)
{
    topology_model *m;
    check_status(artree_create(&m, g->n_taxa, g->hidden, NULL));
    check_status(params_load(m->params.value, &m->params, &g->weights, "", "golden", NULL));
    m->ops->changed(m);
    return m;
}

static topology_model *random_model(int n_taxa, int hidden, uint64_t seed)
{
    topology_model *m;
    check_status(artree_create(&m, n_taxa, hidden, NULL));
    m->ops->initialise(m, seed);
    return m;
}

static int32_t *random_trees(int n_taxa, int k, uint64_t seed)
{
    int32_t *decision = mem_zeros((size_t)k * (size_t)n_taxa, sizeof *decision), *at = decision;
    assert_non_null(decision);
    for (int i = 0; i < k; i++) {
        rng r = rng_at(seed, RNG_TEST, 0, (uint32_t)i);
        for (int n = 3; n < n_taxa; n++)
            *at++ = (int32_t)rng_below(&r, (uint32_t)topology_edges(n));
    }
    return decision;
}

static void golden_log_q(void **state)
{
    golden g;
    golden_load(&g, *state);
    topology_model *m = golden_model(&g);
    double *log_q = mem_zeros((size_t)g.count, sizeof *log_q), plain;
    check_status(m->ops->score(m, log_q, g.decision, g.count));
    for (int j = 0; j < g.count; j++)
        check_near(log_q[j], g.log_q[j], 1e-9);
    for (int j = 0; j<g.count; j += g.n_taxa> 8 ? 10 : 1) { /* the plain way takes its time */
        check_status(m->ops->reference(m, &plain, g.decision + j * (g.n_taxa - 3)));
        check_near(plain, g.log_q[j], 1e-9);
    }
    free(log_q);
    m->ops->free(m);
    golden_free(&g);
}

/* log q of all topologies, in the order of exact_tree. */
static double *all_log_q(topology_model *m)
{
    const int n_taxa = m->n_taxa, trees = exact_trees(n_taxa);
    int32_t *decision = mem_zeros((size_t)trees * (size_t)n_taxa, sizeof *decision);
    double *log_q = mem_zeros((size_t)trees, sizeof *log_q);
    assert_true(decision && log_q);
    for (int i = 0; i < trees; i++)
        exact_tree(decision + (ptrdiff_t)i * (n_taxa - 3), i, n_taxa);
    check_status(m->ops->score(m, log_q, decision, trees));
    free(decision);
    return log_q;
}

/* step, as artree_ref writes it, from the probabilities of all trees alone: those that begin
 * with given decisions follow each other. */
static void steps_by_sums(double *step, const double *log_q, const int32_t *decision, int n_taxa)
{
    int first = 0, count = exact_trees(n_taxa);
    double before = 1;
    for (int n = 3; n < n_taxa; n++) {
        const int edges = topology_edges(n), part = count / edges;
        for (int e = 0; e < edges; e++) {
            double sum = 0;
            for (int i = 0; i < part; i++)
                sum += exp(log_q[first + e * part + i]);
            *step++ = log(sum / before);
        }
        first += decision[n - 3] * part;
        count = part;
        before *= exp(step[decision[n - 3] - edges]);
    }
}

/* step against the steps of the first tree in the golden file, edge by edge. */
static void check_steps(const golden *g, const double *step)
{
    json_t *steps = json_object_get(g->json, "steps_of_first_tree");
    assert_int_equal(json_array_size(steps), g->n_taxa - 3);
    for (int n = 3; n < g->n_taxa; n++) {
        json_t *of = json_array_get(steps, (size_t)n - 3), *edges = json_object_get(of, "edges");
        topology t;
        check_status(topology_init(&t, n)); /* the partial tree as a whole one */
        topology_build(&t, g->decision);
        assert_int_equal(golden_edge(&t, json_object_get(of, "chosen")), g->decision[n - 3]);
        assert_int_equal(json_array_size(edges), topology_edges(n));
        for (int e = 0; e < topology_edges(n); e++) {
            json_t *edge = json_array_get(edges, (size_t)e);
            int32_t number = golden_edge(&t, json_array_get(edge, 0));
            check_near(step[number], json_real_value(json_array_get(edge, 1)), 1e-9);
        }
        step += topology_edges(n);
        topology_free(&t);
    }
}

/* Of the plain way, and of the fast one. */
static void golden_steps(void **state)
{
    golden g;
    golden_load(&g, *state);
    topology_model *m = golden_model(&g);
    const size_t total = (size_t)(g.n_taxa - 3) * (size_t)(g.n_taxa - 1);
    double *step = mem_zeros(total, sizeof *step), *log_q = all_log_q(m), plain;
    assert_non_null(step);
    check_status(artree_ref(&plain, step, &m->params, g.n_taxa, g.hidden, g.decision));
    check_steps(&g, step);
    steps_by_sums(step, log_q, g.decision, g.n_taxa);
    check_steps(&g, step);
    free(step);
    free(log_q);
    m->ops->free(m);
    golden_free(&g);
}

static void golden_gradients(void **state)
{
    golden g;
    golden_load(&g, *state);
    topology_model *m = golden_model(&g);
    double *log_q = mem_zeros((size_t)g.count, sizeof *log_q);
    check_status(m->ops->gradient(m, log_q, g.decision, g.w, g.count));
    for (int j = 0; j < g.count; j++)
        check_near(log_q[j], g.log_q[j], 1e-9);
    assert_true(golden_gradient_error(&g, &m->params) < 1e-7);
    free(log_q);
    m->ops->free(m);
    golden_free(&g);
}

/* The sum of q over all topologies, minus 1. */
static double excess(topology_model *m)
{
    double *log_q = all_log_q(m), sum = 0;
    for (int i = 0; i < exact_trees(m->n_taxa); i++)
        sum += exp(log_q[i]);
    free(log_q);
    return sum - 1;
}

static void scale_tensor(topology_model *m, int index, double factor)
{
    for (size_t i = 0; i < m->params.entry[index].size; i++)
        params_value(&m->params, index)[i] *= factor;
    m->ops->changed(m);
}

/* Writes the weights to bytes and reads them into a new model. */
static topology_model *saved_and_loaded(topology_model *m, int hidden)
{
    safetensors out = {0}, in = {0};
    topology_model *other;
    void *bytes;
    size_t n;
    check_status(params_store(&out, &m->params, m->params.value, ""));
    check_status(safetensors_format(&out, &bytes, &n, "memory", NULL));
    check_status(safetensors_parse(&in, bytes, n, "memory", NULL));
    check_status(artree_create(&other, m->n_taxa, hidden, NULL));
    check_status(params_load(other->params.value, &other->params, &in, "", "memory", NULL));
    other->ops->changed(other);
    safetensors_free(&out);
    safetensors_free(&in);
    free(bytes);
    return other;
}

static void probabilities_sum_to_one(void **state)
{
    (void)state;
    for (int n_taxa = 4; n_taxa <= 8; n_taxa++) {
        topology_model *m = random_model(n_taxa, 8, (uint64_t)n_taxa);
        check_near(excess(m), 0, 1e-12);
        topology_model *other = saved_and_loaded(m, 8);
        check_near(excess(other), 0, 1e-12);
        other->ops->free(other);
        scale_tensor(m, ARTREE_EDGE3_WEIGHT, 100); /* logits times 100 */
        check_near(excess(m), 0, 1e-12);
        m->ops->free(m);
    }
}

/* Maximum likelihood on one tree: q is far from where it began, and still a distribution. */
static void probabilities_sum_to_one_after_training(void **state)
{
    (void)state;
    enum { TAXA = 7, STEPS = 200 };
    topology_model *m = random_model(TAXA, 8, 5);
    int32_t *tree = random_trees(TAXA, 1, 6);
    const double coefficient = -1;
    double before, after;
    optim o;
    check_status(optim_init(&o, &m->params, optim_defaults(0.01), NULL));
    check_status(m->ops->score(m, &before, tree, 1));
    for (int step = 0; step < STEPS; step++) {
        params_clear_grad(&m->params);
        check_status(m->ops->gradient(m, NULL, tree, &coefficient, 1));
        optim_update(&o, 1);
        m->ops->changed(m);
    }
    check_status(m->ops->score(m, &after, tree, 1));
    assert_true(after > before + 2);
    check_near(excess(m), 0, 1e-12);
    optim_free(&o);
    free(tree);
    m->ops->free(m);
}

static void no_last_layer_is_uniform(void **state)
{
    (void)state;
    for (int n_taxa = 4; n_taxa <= 40; n_taxa += 9) {
        topology_model *m = random_model(n_taxa, 12, 1);
        int32_t *decision = random_trees(n_taxa, 5, 2);
        double log_q[5], expected = 0;
        scale_tensor(m, ARTREE_EDGE3_WEIGHT, 0);
        check_status(m->ops->score(m, log_q, decision, 5));
        for (int n = 3; n < n_taxa; n++)
            expected -= log(2 * n - 3);
        for (int i = 0; i < 5; i++)
            check_close(log_q[i], expected, 1e-14); /* a sum of at most 37 logarithms */
        free(decision);
        m->ops->free(m);
    }
}

/* Widths that are no multiple of a vector, more steps than hidden numbers, trees of more rows than
 * a group. */
static const int sizes[][2] = {{4, 2}, {5, 6}, {9, 4}, {12, 10}, {20, 18}, {27, 40}, {70, 34}};
enum { N_SIZES = sizeof sizes / sizeof sizes[0] };

static void fast_is_plain(void **state)
{
    (void)state;
    for (int s = 0; s < N_SIZES; s++) {
        const int n_taxa = sizes[s][0];
        topology_model *m = random_model(n_taxa, sizes[s][1], 3);
        int32_t *decision = random_trees(n_taxa, 3, 4);
        double log_q[3], plain;
        check_status(m->ops->score(m, log_q, decision, 3));
        for (int i = 0; i < 3; i++) {
            check_status(m->ops->reference(m, &plain, decision + i * (n_taxa - 3)));
            check_near(log_q[i], plain, 1e-9);
        }
        free(decision);
        m->ops->free(m);
    }
}

static double objective(topology_model *m, const int32_t *decision, const double *w, int k)
{
    double log_q[16], sum = 0;
    m->ops->changed(m);
    check_status(m->ops->score(m, log_q, decision, k));
    for (int i = 0; i < k; i++)
        sum += w[i] * log_q[i];
    return sum;
}

static double difference(topology_model *m, real *value, double step, const int32_t *decision,
                         const double *w, int k)
{
    const double kept = *value;
    *value = kept + step;
    const double above = objective(m, decision, w, k);
    *value = kept - step;
    const double below = objective(m, decision, w, k);
    *value = kept;
    return (above - below) / (2 * step);
}

/* Signed central differences of sum_i w_i log q_i for some numbers of each tensor. The network
 * takes some ten thousand maxima, and where the largest changes within the step the difference is
 * not the derivative: then the step is a tenth, down to 1e-8. Truncation is about 1e-10 of the
 * third derivative at step 1e-5, rounding of the sum 2e-14 divided by the step. */
static void check_differences(topology_model *m, const int32_t *decision, const double *w, int k)
{
    rng r = rng_at(5, RNG_TEST, 1, (uint32_t)m->n_taxa);
    for (int t = 0; t < m->params.count; t++) {
        const size_t size = m->params.entry[t].size;
        real *value = params_value(&m->params, t), *grad = params_grad(&m->params, t);
        double largest = 0;
        for (size_t i = 0; i < size; i++)
            largest = fmax(largest, fabs(grad[i]));
        for (int j = 0; j < 12; j++) {
            const size_t i = rng_below(&r, (uint32_t)size);
            double step = 1e-5, slope = difference(m, value + i, step, decision, w, k);
            while (step > 2e-8 && fabs(grad[i] - slope) > 1e-6 * largest + 1e-8 + 2e-14 / step) {
                step /= 10;
                slope = difference(m, value + i, step, decision, w, k);
            }
            check_near(grad[i], slope, 1e-6 * largest + 1e-8 + 2e-14 / step);
        }
    }
}

static void finite_differences(void **state)
{
    (void)state;
    for (int s = 1; s < N_SIZES - 3; s++) {
        enum { K = 6 };
        topology_model *m = random_model(sizes[s][0], sizes[s][1], 6);
        int32_t *decision = random_trees(sizes[s][0], K, 7);
        double w[K];
        rng r = rng_at(8, RNG_TEST, 0, 0);
        for (int i = 0; i < K; i++)
            w[i] = rng_normal(&r);
        check_status(m->ops->gradient(m, NULL, decision, w, K));
        check_differences(m, decision, w, K);
        free(decision);
        m->ops->free(m);
    }
}

/* The largest difference between m's gradient and the one given, per tensor, relative. */
static void check_same_gradient(const topology_model *m, const real *expected, double tolerance)
{
    for (int t = 0; t < m->params.count; t++) {
        const param *e = &m->params.entry[t];
        double largest = 1e-2; /* what is zero by symmetry is rounding */
        for (size_t i = 0; i < e->size; i++)
            largest = fmax(largest, fabs(expected[e->offset + i]));
        for (size_t i = 0; i < e->size; i++)
            check_near(m->params.grad[e->offset + i], expected[e->offset + i], tolerance * largest);
    }
}

/* Sharing on (one batch, with equal trees in it), off (a call per tree), and after sample. */
static void sharing_does_not_change_gradients(void **state)
{
    (void)state;
    enum { K = 12, N = 14 };
    topology_model *m = random_model(N, 20, 9);
    int32_t decision[K * (N - 3)];
    double log_q[K], w[K];
    real *expected = params_block(&m->params);
    assert_non_null(expected);
    scale_tensor(m, ARTREE_EDGE3_WEIGHT, 300); /* so that samples share */
    check_status(m->ops->sample(m, decision, log_q, K, 1, RNG_TEST, 0, 0));
    assert_true(m->work.done < 0.9 * m->work.unshared);
    for (int i = 0; i < K; i++)
        w[i] = 0.3 * i - 1;
    for (int i = 0; i < K; i++) {
        m->ops->changed(m);
        check_status(m->ops->gradient(m, NULL, decision + i * (N - 3), w + i, 1));
        assert_true(m->work.done == m->work.unshared);
    }
    memcpy(expected, m->params.grad, m->params.total * sizeof *expected);
    params_clear_grad(&m->params);
    m->ops->changed(m);
    check_status(m->ops->gradient(m, NULL, decision, w, K));
    assert_true(m->work.done < 0.9 * m->work.unshared);
    check_same_gradient(m, expected, 1e-12);
    params_clear_grad(&m->params);
    check_status(m->ops->sample(m, decision, log_q, K, 1, RNG_TEST, 0, 0));
    check_status(m->ops->gradient(m, NULL, decision, w, K)); /* from what sample kept */
    check_same_gradient(m, expected, 1e-12);
    params_clear_grad(&m->params);
    for (int i = K - 1; i >= 0; i--) /* in another order, one by one, still kept */
        check_status(m->ops->gradient(m, NULL, decision + i * (N - 3), w + i, 1));
    check_same_gradient(m, expected, 1e-12);
    params_clear_grad(&m->params);
    check_status(m->ops->freeze(m, 1 << 22)); /* then nothing is kept, and the trie is a cache */
    check_status(m->ops->score(m, log_q, decision, K / 2));
    check_status(m->ops->gradient(m, NULL, decision, w, K));
    assert_true(m->work.again == 2 * m->work.done);
    check_same_gradient(m, expected, 1e-12);
    free(expected);
    m->ops->free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        golden_test(golden_log_q, "artree_tiny_n5"),
        golden_test(golden_log_q, "artree_small_n8"),
        golden_test(golden_log_q, "artree_ds1_d100"),
        golden_test(golden_steps, "artree_tiny_n5"),
        golden_test(golden_steps, "artree_small_n8"),
        golden_test(golden_gradients, "artree_tiny_n5"),
        golden_test(golden_gradients, "artree_small_n8"),
        golden_test(golden_gradients, "artree_ds1_d100"),
        cmocka_unit_test(probabilities_sum_to_one),
        cmocka_unit_test(probabilities_sum_to_one_after_training),
        cmocka_unit_test(no_last_layer_is_uniform),
        cmocka_unit_test(fast_is_plain),
        cmocka_unit_test(finite_differences),
        cmocka_unit_test(sharing_does_not_change_gradients),
    };
    return cmocka_run_group_tests_name("artree_f64", tests, NULL, NULL);
}
