#include "support/check.h"
#include "support/golden.h"
#include "support/memory.h"

#include "artreeformer.h"
#include "base/rng.h"
#include "density/lognormal/branch_lognormal.h"
#include "density/lognormal/branch_ref.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* In double only the order of sums differs from the reference; in float a handful of
 * operations of relative error 6e-8 each, on numbers of order 1. */
static const double OUTPUT_TOLERANCE = REAL_IS_DOUBLE ? 1e-9 : 2e-5;
static const double GRADIENT_TOLERANCE = REAL_IS_DOUBLE ? 1e-6 : 1e-5;

/* Random trees, of which every third repeats an earlier one. */
static int32_t *random_trees(int n_taxa, int k)
{
    const int n = n_taxa - 3;
    int32_t *decision = calloc((size_t)k * (size_t)n + 1, sizeof *decision);
    for (int i = 0; i < k; i++) {
        rng r = rng_at(11, RNG_TEST, (uint32_t)n_taxa, (uint32_t)i);
        for (int j = 0; j < n; j++)
            decision[i * n + j] = i % 3 == 2 ? decision[i / 3 * n + j]
                                             : (int32_t)rng_below(&r, (uint32_t)(2 * j + 3));
    }
    return decision;
}

static branch_model *make_model(int n_taxa, int hidden, pool *team)
{
    branch_model *m;
    check_status(branch_lognormal_create(&m, n_taxa, hidden, team));
    m->ops->initialise(m, 5);
    return m;
}

/* Without LayerNorm. */
static branch_model *make_plain_model(int n_taxa, int hidden)
{
    branch_model *m;
    check_status(branch_lognormal_create_plain(&m, n_taxa, hidden, NULL));
    m->ops->initialise(m, 5);
    return m;
}

/* The files of ARTree have the model without LayerNorm. */
static void one_golden(const char *name)
{
    golden g;
    golden_load(&g, name);
    branch_model *m;
    if (strncmp(name, "artree_", 7) == 0)
        check_status(branch_lognormal_create_plain(&m, g.n_taxa, g.branch_hidden, NULL));
    else
        check_status(branch_lognormal_create(&m, g.n_taxa, g.branch_hidden, NULL));
    check_status(params_load(m->params.value, &m->params, &g.weights, "", name, NULL));
    m->ops->changed(m);
    size_t edges = (size_t)topology_edges(g.n_taxa), all = (size_t)g.count * edges;
    double *mean = calloc(all, sizeof *mean), *log_std = calloc(all, sizeof *log_std);
    check_status(branch_lognormal_moments(m, mean, log_std, g.decision, g.count));
    for (size_t i = 0; i < (size_t)g.branch_count * edges; i++) {
        check_near(mean[i], g.mean[i], OUTPUT_TOLERANCE);
        check_near(log_std[i], g.log_std[i], OUTPUT_TOLERANCE);
    }
    for (int i = 0; i < g.count; i++)
        for (size_t e = 0; e < edges; e++) {
            mean[(size_t)i * edges + e] = g.w[i];
            log_std[(size_t)i * edges + e] = 0.5 * g.w[i];
        }
    check_status(branch_lognormal_moments_backward(m, mean, log_std));
    assert_true(golden_gradient_error(&g, &m->params) <= GRADIENT_TOLERANCE);
    for (int i = 0; i < g.branch_count; i++) {
        check_status(branch_plain_moments(mean, log_std, &m->params, g.n_taxa, g.branch_hidden,
                                          g.decision + (ptrdiff_t)i * (g.n_taxa - 3)));
        for (size_t e = 0; e < edges; e++) { /* in double even where the weights are float */
            check_near(mean[e], g.mean[(size_t)i * edges + e], 1e-9);
            check_near(log_std[e], g.log_std[(size_t)i * edges + e], 1e-9);
        }
    }
    free(mean);
    free(log_std);
    m->ops->free(m);
    golden_free(&g);
}

static void matches_golden(void **state)
{
    one_golden(*state);
}

/* Against the definition, at sizes that no kernel is made for; also the density. */
static void agrees_with_plain_at_odd_sizes(void **state)
{
    (void)state;
    static const int size[][2] = {{3, 1}, {3, 9}, {4, 17}, {5, 2}, {13, 33}, {40, 7}};
    for (size_t s = 0; s < 2 * (sizeof size / sizeof size[0]); s++) {
        const int n = size[s / 2][0], k = 5, edges = topology_edges(n);
        branch_model *m =
            s % 2 ? make_plain_model(n, size[s / 2][1]) : make_model(n, size[s / 2][1], NULL);
        int32_t *decision = random_trees(n, k);
        double *length = calloc((size_t)(k * edges), sizeof *length);
        double log_q[5], again[5], plain;
        check_status(m->ops->sample(m, length, log_q, decision, k, 1, RNG_TEST, 0, 0));
        check_status(m->ops->score(m, again, length, decision, k));
        for (int i = 0; i < k; i++) {
            check_status(m->ops->reference(m, &plain, length + i * edges, decision + i * (n - 3)));
            /* log and exp once each way, in double */
            check_near(again[i], log_q[i], 1e-10 * edges);
            check_near(log_q[i], plain, OUTPUT_TOLERANCE * 5 * edges);
        }
        const double coefficient[5] = {1, 1, 1, 1, 1};
        memcpy(log_q, again, sizeof log_q);
        check_status(m->ops->gradient(m, again, length, decision, coefficient, k));
        assert_memory_equal(again, log_q, sizeof log_q); /* what score says, to the bit */
        free(length);
        free(decision);
        m->ops->free(m);
    }
}

static void unlikely_lengths_have_no_density(void **state)
{
    (void)state;
    branch_model *m = make_model(4, 3, NULL);
    int32_t decision[1] = {1};
    static const double bad[] = {0, -1, HUGE_VAL, (double)NAN};
    double length[5] = {0.1, 0.2, 0.3, 0.4, 0.5}, log_q, one = 1;
    check_status(m->ops->score(m, &log_q, length, decision, 1));
    assert_true(isfinite(log_q));
    for (size_t i = 0; i < 4; i++) {
        length[i] = bad[i];
        check_status(m->ops->score(m, &log_q, length, decision, 1));
        assert_true(isinf(log_q) && log_q < 0);
        log_q = 0;
        check_status(m->ops->gradient(m, &log_q, length, decision, &one, 1));
        assert_true(isinf(log_q) && log_q < 0);
        for (size_t j = 0; j < m->params.total; j++)
            assert_true(m->params.grad[j] == 0);
        length[i] = 0.1;
    }
    check_status(m->ops->gradient(m, NULL, length, decision, &one, 1));
    double sum = 0;
    for (size_t j = 0; j < m->params.total; j++)
        sum += fabs((double)m->params.grad[j]);
    assert_true(sum > 0);
    m->ops->free(m);
}

/* The integral over one branch of q(lengths), the others fixed, divided by the density of the
 * others. The others' density is what is left at any length: q / q_e, with q_e from the moments. */
static void density_integrates_to_one(void **state)
{
    (void)state;
    branch_model *m = make_model(4, 3, NULL);
    int32_t decision[1] = {2};
    double length[5] = {0.1, 0.2, 0.3, 0.4, 0.5}, mean[5], log_std[5], rest = 0, integral = 0;
    check_status(branch_lognormal_moments(m, mean, log_std, decision, 1));
    for (int e = 0; e < 5; e++) {
        double s = exp(log_std[e]), z = (log(length[e]) - (mean[e] - 2)) / s;
        if (e != 2)
            rest += -0.5 * z * z - log(s * length[e] * sqrt(2 * M_PI));
    }
    enum { STEPS = 4000 };
    double low = mean[2] - 2 - 12 * exp(log_std[2]), high = mean[2] - 2 + 12 * exp(log_std[2]);
    for (int i = 0; i <= STEPS; i++) { /* trapezoids in the logarithm of the length */
        double x = low + (high - low) * i / STEPS, log_q;
        length[2] = exp(x);
        check_status(m->ops->score(m, &log_q, length, decision, 1));
        integral += exp(log_q - rest + x) * (high - low) / STEPS;
    }
    check_near(integral, 1, 1e-10); /* the trapezoid rule is exact to rounding on a Gaussian */
    m->ops->free(m);
}

static void draws_have_the_moments(void **state)
{
    (void)state;
    enum { DRAWS = 20000 };
    branch_model *m = make_model(4, 3, NULL);
    int32_t *decision = calloc(DRAWS, sizeof *decision);
    double *length = calloc(5 * DRAWS, sizeof *length), *log_q = calloc(DRAWS, sizeof *log_q);
    double mean[5], log_std[5];
    check_status(m->ops->sample(m, length, log_q, decision, DRAWS, 9, RNG_TEST, 3, 0));
    check_status(branch_lognormal_moments(m, mean, log_std, decision, 1));
    for (int e = 0; e < 5; e++) {
        double sum = 0, square = 0, s = exp(log_std[e]);
        for (int i = 0; i < DRAWS; i++) {
            double z = (log(length[5 * i + e]) - (mean[e] - 2)) / s;
            sum += z;
            square += z * z;
        }
        check_near(sum / DRAWS, 0, 5 / sqrt(DRAWS)); /* five standard errors */
        check_near(square / DRAWS, 1, 5 * sqrt(2.0 / DRAWS));
    }
    double first, part[5];
    check_status(m->ops->sample(m, part, &first, decision, 1, 9, RNG_TEST, 3, 17));
    assert_memory_equal(part, length + 5 * 17, sizeof part); /* tree i is stream first + i */
    assert_true(first == log_q[17]);
    free(decision);
    free(length);
    free(log_q);
    m->ops->free(m);
}

#if REAL_IS_DOUBLE
/* L = sum of random a * length + b * log(length) over edges, + c_i * log_q_i. */
typedef struct loss {
    int k, edges;
    double *a, *b, *c;
} loss;

static double loss_at(branch_model *m, const loss *l, const int32_t *decision, double *length,
                      double *log_q)
{
    double sum = 0;
    m->ops->changed(m);
    check_status(m->ops->sample(m, length, log_q, decision, l->k, 2, RNG_TEST, 5, 100));
    for (int i = 0; i < l->k * l->edges; i++)
        sum += l->a[i] * length[i] + l->b[i] * log(length[i]);
    for (int i = 0; i < l->k; i++)
        sum += l->c[i] * log_q[i];
    return sum;
}

static void gradient_agrees_with_finite_differences(void **state)
{
    (void)state;
    enum { N = 7, K = 8 };
    branch_model *m = make_model(N, 5, NULL);
    int32_t *decision = random_trees(N, K);
    loss l = {.k = K, .edges = topology_edges(N)};
    size_t all = (size_t)(l.k * l.edges);
    double *length = calloc(all, sizeof *length), *dlength = calloc(all, sizeof *dlength);
    double log_q[K];
    l.a = calloc(all, sizeof *l.a);
    l.b = calloc(all, sizeof *l.b);
    l.c = calloc(K, sizeof *l.c);
    rng r = rng_at(6, RNG_TEST, 0, 0);
    for (size_t i = 0; i < all; i++) {
        l.a[i] = rng_normal(&r);
        l.b[i] = rng_normal(&r);
    }
    for (int i = 0; i < K; i++)
        l.c[i] = rng_normal(&r);
    loss_at(m, &l, decision, length, log_q);
    for (size_t i = 0; i < all; i++)
        dlength[i] = l.a[i] + l.b[i] / length[i];
    check_status(m->ops->backward(m, dlength, l.c));
    for (int i = 0; i < m->params.count; i++)
        for (size_t j = 0; j < m->params.entry[i].size; j++) {
            real *x = params_value(&m->params, i) + j, x0 = *x, step = (real)1e-6;
            *x = x0 + step;
            double up = loss_at(m, &l, decision, length, log_q);
            *x = x0 - step;
            double down = loss_at(m, &l, decision, length, log_q);
            *x = x0;
            /* central differences: error step^2 plus rounding of L (about 100) over 2 steps */
            check_near((double)params_grad(&m->params, i)[j], (up - down) / (2 * (double)step),
                       2e-6);
        }
    free(length);
    free(dlength);
    free(l.a);
    free(l.b);
    free(l.c);
    free(decision);
    m->ops->free(m);
}

/* sum of c_i log q(length_i | tree_i) by the plain definition. */
static double plain_sum(branch_model *m, const double *c, const double *length,
                        const int32_t *decision, int k)
{
    const int n = m->n_taxa;
    double sum = 0, log_q;
    for (int i = 0; i < k; i++) {
        check_status(m->ops->reference(m, &log_q, length + (ptrdiff_t)i * topology_edges(n),
                                       decision + (ptrdiff_t)i * (n - 3)));
        sum += c[i] * log_q;
    }
    return sum;
}

static void density_gradient_agrees_with_finite_differences(void **state)
{
    (void)state;
    enum { N = 7, K = 8, EDGES = 2 * N - 3 };
    branch_model *m = make_model(N, 5, NULL);
    int32_t *decision = random_trees(N, K);
    double length[K * EDGES], c[K];
    rng r = rng_at(7, RNG_TEST, 0, 0);
    for (int i = 0; i < K * EDGES; i++) /* not the model's own: eps is not centred */
        length[i] = 0.1 * rng_exponential(&r);
    for (int i = 0; i < K; i++)
        c[i] = rng_normal(&r);
    check_status(m->ops->gradient(m, NULL, length, decision, c, K));
    for (int i = 0; i < m->params.count; i++)
        for (size_t j = 0; j < m->params.entry[i].size; j++) {
            real *x = params_value(&m->params, i) + j, x0 = *x, step = (real)1e-6;
            *x = x0 + step;
            double up = plain_sum(m, c, length, decision, K);
            *x = x0 - step;
            double down = plain_sum(m, c, length, decision, K);
            *x = x0;
            /* central differences: error step^2 plus rounding of the sum (about 100) over 2
             * steps; the gradients are of order 10 */
            check_near((double)params_grad(&m->params, i)[j], (up - down) / (2 * (double)step),
                       2e-6);
        }
    free(decision);
    m->ops->free(m);
}

#endif

/* One round of sample and backward; lengths, log q and gradient in one block to compare. */
static double *one_round(size_t *count, int k, int threads, const int32_t *decision)
{
    enum { N = 9 };
    const int edges = topology_edges(N);
    pool *team;
    check_status(pool_create(&team, threads));
    branch_model *m = make_model(N, 20, team);
    size_t all = (size_t)(k * edges), trees = (size_t)k;
    *count = all + trees + m->params.total;
    double *out = calloc(*count, sizeof *out), *up = calloc(all + trees, sizeof *up);
    check_status(m->ops->sample(m, out, out + all, decision, k, 1, RNG_TEST, 0, 0));
    for (size_t i = 0; i < all + trees; i++)
        up[i] = 1 + (double)(i % 7);
    check_status(m->ops->backward(m, up, up + all));
    check_status(m->ops->gradient(m, NULL, up, decision, up + all, k));
    for (size_t i = 0; i < m->params.total; i++)
        out[all + trees + i] = (double)m->params.grad[i];
    free(up);
    m->ops->free(m);
    pool_free(team);
    return out;
}

static void bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    /* few trees, whose forward pass is kept, and many, whose is not */
    static const int trees[] = {4, 200};
    for (int t = 0; t < 2; t++) {
        int32_t *decision = random_trees(9, trees[t]);
        size_t count, n;
        double *one = one_round(&count, trees[t], 1, decision);
        for (int threads = 2; threads <= 8; threads *= 2) {
            double *other = one_round(&n, trees[t], threads, decision);
            assert_memory_equal(one, other, count * sizeof *one);
            free(other);
        }
        free(one);
        free(decision);
    }
}

/* A tree is the same alone or among others; the gradient of a batch is the sum of those of its
 * trees, whether they share a topology or not, kept or not. */
static void batches_are_sums_of_trees(void **state)
{
    (void)state;
    enum { N = 9, K = 120 };
    const int edges = topology_edges(N);
    int32_t *decision = random_trees(N, K);
    double *length = calloc((size_t)(K * edges), sizeof *length), log_q[K], alone, c[K];
    double *dlength = calloc((size_t)(K * edges), sizeof *dlength), part[2 * N - 3];
    branch_model *m = make_model(N, 20, NULL), *single = make_model(N, 20, NULL);
    for (int i = 0; i < K; i++)
        c[i] = 0.1 * i - 3;
    for (int i = 0; i < K * edges; i++)
        dlength[i] = sin(i);
    check_status(m->ops->sample(m, length, log_q, decision, K, 1, RNG_TEST, 0, 0));
    check_status(m->ops->backward(m, dlength, c));
    for (int i = 0; i < K; i++) {
        check_status(single->ops->sample(single, part, &alone, decision + i * (N - 3), 1, 1,
                                         RNG_TEST, 0, (uint32_t)i));
        assert_memory_equal(part, length + i * edges, sizeof part);
        assert_true(alone == log_q[i]);
        check_status(single->ops->backward(single, dlength + i * edges, c + i));
    }
    double largest = 0;
    for (size_t i = 0; i < m->params.total; i++)
        largest = fmax(largest, fabs((double)m->params.grad[i]));
    for (size_t i = 0; i < m->params.total; i++) /* sums of 120 terms in another order */
        check_near((double)m->params.grad[i], (double)single->params.grad[i],
                   (REAL_IS_DOUBLE ? 1e-13 : 1e-5) * largest);
    free(decision);
    free(length);
    free(dlength);
    m->ops->free(m);
    single->ops->free(single);
}

static void extreme_outputs_are_clamped(void **state)
{
    (void)state;
    branch_model *m = make_model(4, 3, NULL);
    const param *bias = params_find(&m->params, "branch.mean_std_net.readout.2.bias");
    int32_t decision[1] = {0};
    double length[5], log_q, one[5] = {1, 1, 1, 1, 1};
    static const double extreme[] = {1e6, -1e6, 1e30, -1e30};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 2; j++) {
            m->params.value[bias->offset] = m->params.value[bias->offset + 1] = 0;
            m->params.value[bias->offset + (size_t)j] = (real)extreme[i];
            m->ops->changed(m);
            params_clear_grad(&m->params);
            check_status(m->ops->sample(m, length, &log_q, decision, 1, 1, RNG_TEST, 0, 0));
            assert_true(isfinite(log_q));
            for (int e = 0; e < 5; e++)
                assert_true(length[e] > 0 && isfinite(length[e]));
            check_status(m->ops->backward(m, one, one));
            assert_true(m->params.grad[bias->offset + (size_t)j] == 0);
            assert_true(m->params.grad[bias->offset + 1 - (size_t)j] != 0);
        }
    m->ops->free(m);
}

static void backward_needs_a_sample(void **state)
{
    (void)state;
    branch_model *m = make_model(5, 3, NULL);
    int32_t decision[2] = {0, 1};
    double length[7] = {1, 1, 1, 1, 1, 1, 1}, log_q = 1;
    assert_int_equal(m->ops->backward(m, length, &log_q), ART_ERR_USAGE);
    check_status(m->ops->score(m, &log_q, length, decision, 1));
    assert_int_equal(m->ops->backward(m, length, &log_q), ART_ERR_USAGE);
    check_status(m->ops->sample(m, length, &log_q, decision, 1, 1, RNG_TEST, 0, 0));
    m->ops->changed(m);
    assert_int_equal(m->ops->backward(m, length, &log_q), ART_ERR_USAGE);
    check_status(m->ops->sample(m, length, &log_q, decision, 0, 1, RNG_TEST, 0, 0));
    check_status(m->ops->backward(m, length, &log_q));
    m->ops->free(m);
    assert_int_equal(branch_lognormal_create(&m, 2, 8, NULL), ART_ERR_USAGE);
    assert_int_equal(branch_lognormal_create(&m, 5, 0, NULL), ART_ERR_USAGE);
    assert_int_equal(branch_lognormal_create(&m, 5, 1 << 30, NULL), ART_ERR_LIMIT);
}

static void nothing_is_allocated_after_the_first_call(void **state)
{
    (void)state;
    enum { N = 9, K = 90 };
    int32_t *decision = random_trees(N, K);
    double *length = calloc(K * (2 * N - 3), sizeof *length), *log_q = calloc(K, sizeof *log_q);
    branch_model *m = make_model(N, 20, NULL);
    int32_t *same = calloc(K * (N - 3), sizeof *same); /* one topology, then sixty */
    check_status(m->ops->sample(m, length, log_q, same, K, 1, RNG_TEST, 0, 0));
    check_status(m->ops->backward(m, length, log_q));
    long before = memory_count();
    for (int k = 1; k <= K; k++) {
        check_status(m->ops->sample(m, length, log_q, decision, k, 1, RNG_TEST, 0, 0));
        check_status(m->ops->backward(m, length, log_q));
        check_status(m->ops->score(m, log_q, length, decision, k));
        check_status(m->ops->gradient(m, log_q, length, decision, log_q, k));
        m->ops->changed(m);
    }
    assert_int_equal(memory_count(), before);
    free(decision);
    free(same);
    free(length);
    free(log_q);
    m->ops->free(m);
}

/* Whichever allocation fails, the call says so, and works when it is asked again. */
static void short_memory_is_reported(void **state)
{
    (void)state;
    enum { N = 6, K = 4 };
    int32_t *decision = random_trees(N, K);
    double length[K * (2 * N - 3)], log_q[K], plain;
    long k = 0;
    int status = ART_ERR_NOMEM;
    while (status) {
        branch_model *m = NULL;
        memory_fail_at(++k);
        status = branch_lognormal_create(&m, N, 5, NULL);
        assert_true(status == (m ? ART_OK : ART_ERR_NOMEM));
        if (m) {
            status = m->ops->sample(m, length, log_q, decision, K, 1, RNG_TEST, 0, 0);
            if (!status)
                status = m->ops->backward(m, length, log_q);
            if (!status)
                status = m->ops->reference(m, &plain, length, decision);
            memory_fail_at(0);
            check_status(m->ops->sample(m, length, log_q, decision, K, 1, RNG_TEST, 0, 0));
            check_status(m->ops->backward(m, length, log_q));
            m->ops->free(m);
        }
        memory_fail_at(0);
        assert_true(status == ART_OK || status == ART_ERR_NOMEM);
    }
    assert_true(k > 30); /* there are that many to fail */
    free(decision);
}

static void initial_weights_fill_their_range(void **state)
{
    (void)state;
    branch_model *m = make_model(12, 24, NULL);
    for (int i = 0; i < m->params.count; i++) {
        const param *e = &m->params.entry[i];
        double low = 1e9, high = -1e9,
               limit = 1 / sqrt(strstr(e->name, "gconvs.0")   ? 24.0
                                : strstr(e->name, "gconvs.1") ? 48.0
                                                              : 24.0);
        for (size_t j = 0; j < e->size; j++) {
            low = fmin(low, (double)params_value(&m->params, i)[j]);
            high = fmax(high, (double)params_value(&m->params, i)[j]);
        }
        if (strstr(e->name, "mlp.1.")) {
            assert_true(low == high && low == (strstr(e->name, "weight") ? 1 : 0));
        } else {
            assert_true(-limit <= low && high <= limit);
            if (e->size > 20) /* 0.75^20: the chance that half a side stays empty is 0.3 % */
                assert_true(low < -limit / 2 && high > limit / 2);
        }
    }
    m->ops->free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        golden_test(matches_golden, "tiny_n5"),
        golden_test(matches_golden, "small_n8"),
        golden_test(matches_golden, "ds1_d100"),
        golden_test(matches_golden, "artree_tiny_n5"),
        golden_test(matches_golden, "artree_small_n8"),
        golden_test(matches_golden, "artree_ds1_d100"),
        cmocka_unit_test(agrees_with_plain_at_odd_sizes),
        cmocka_unit_test(unlikely_lengths_have_no_density),
        cmocka_unit_test(density_integrates_to_one),
        cmocka_unit_test(draws_have_the_moments),
#if REAL_IS_DOUBLE
        cmocka_unit_test(gradient_agrees_with_finite_differences),
        cmocka_unit_test(density_gradient_agrees_with_finite_differences),
#endif
        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(batches_are_sums_of_trees),
        cmocka_unit_test(extreme_outputs_are_clamped),
        cmocka_unit_test(backward_needs_a_sample),
        cmocka_unit_test(nothing_is_allocated_after_the_first_call),
        cmocka_unit_test(short_memory_is_reported),
        cmocka_unit_test(initial_weights_fill_their_range),
    };
    return cmocka_run_group_tests_name("branch", tests, NULL, NULL);
}
