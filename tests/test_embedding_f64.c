/* Node embeddings: four ways and a dense solve, one meaning. */
#include "support/check.h"

#include "base/mem.h"
#include "base/rng.h"
#include "density/artreeformer/embedding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum shape { RANDOM, CATERPILLAR, BALANCED, N_SHAPES };
static const int sizes[] = {3, 4, 5, 8, 27, 64, 200};
enum { N_SIZES = sizeof sizes / sizeof sizes[0] };

/* A tree on n leaves of N taxa. Balanced: every leaf of a round is split in turn. */
static void grow(topology *t, int n, enum shape shape)
{
    rng r = rng_at(3, RNG_TEST, (uint32_t)shape, (uint32_t)n);
    topology_reset(t);
    for (int taxon = 3, round = 3; taxon < n; taxon++) {
        int32_t edges = topology_edges(taxon), edge = edges - 2;
        if (shape == RANDOM)
            edge = (int32_t)rng_below(&r, (uint32_t)edges);
        if (shape == BALANCED) {
            round = taxon >= 2 * round ? 2 * round : round;
            int32_t leaf = taxon - round;
            edge = node_edge(leaf == 0 ? t->child[0][0] : leaf, t->n_taxa);
        }
        topology_attach(t, edge);
    }
}

typedef struct fixture {
    topology tree;
    embedding_plan plan;
    double *f, *g, *work;
} fixture;

/* Partial trees have room for more taxa than they have. */
static void setup(fixture *x, int n, enum shape shape)
{
    check_status(topology_init(&x->tree, n + 2));
    check_status(embedding_plan_init(&x->plan, n + 2));
    grow(&x->tree, n, shape);
    embedding_plan_set(&x->plan, &x->tree);
    size_t numbers = (size_t)topology_nodes(n) * (size_t)n;
    x->f = mem_zeros(numbers, sizeof *x->f);
    x->g = mem_zeros(numbers, sizeof *x->g);
    x->work = mem_zeros(embedding_work(n), sizeof *x->work);
    assert_true(x->f && x->g && x->work);
}

static void teardown(fixture *x)
{
    topology_free(&x->tree);
    embedding_plan_free(&x->plan);
    free(x->f);
    free(x->g);
    free(x->work);
}

static void for_every_tree(void (*check)(fixture *x, int n))
{
    for (int shape = 0; shape < N_SHAPES; shape++) {
        for (int i = 0; i < N_SIZES; i++) {
            fixture x;
            setup(&x, sizes[i], (enum shape)shape);
            check(&x, sizes[i]);
            teardown(&x);
        }
    }
}

/* 1e-12 is what n sums of numbers below 1 lose at most, with room. */
static void check_same(const double *f, const double *g, int n)
{
    for (int i = 0; i < topology_nodes(n) * n; i++)
        check_near(f[i], g[i], 1e-12);
}

/* The inner equations 3 f_u - sum of inner neighbours = sum of leaf neighbours by Gaussian
 * elimination on the dense matrix (diagonally dominant: no pivoting). */
static void dense_solve(double *f, const embedding_plan *p)
{
    const int n = p->n_leaves, m = n - 2, width = m + n;
    double *a = mem_zeros((size_t)m * (size_t)width, sizeof *a);
    assert_non_null(a);
    for (int i = 0; i < m; i++) {
        const int v = 2 * i + 3;
        const int32_t beside[3] = {p->parent[v], p->child[v][0], p->child[v][1]};
        a[i * width + i] = 3;
        for (int b = 0; b < 3; b++) {
            int32_t row = beside[b];
            if (row >= 3 && row % 2)
                a[i * width + (row - 3) / 2] = -1;
            else
                a[i * width + m + (row < 2 ? row : row / 2 + 1)] = 1;
        }
    }
    for (int k = 0; k < m; k++) {
        for (int i = 0; i < m; i++) {
            double factor = a[i * width + k] / a[k * width + k];
            if (i == k || factor == 0)
                continue;
            for (int j = k; j < width; j++)
                a[i * width + j] -= factor * a[k * width + j];
        }
    }
    memset(f, 0, (size_t)topology_nodes(n) * (size_t)n * sizeof *f);
    for (int i = 0; i < n; i++)
        f[leaf_row(i) * n + i] = 1;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            f[(2 * i + 3) * n + j] = a[i * width + m + j] / a[i * width + i];
    free(a);
}

static void check_all_ways(fixture *x, int n)
{
    dense_solve(x->f, &x->plan);
    for (int method = EMBEDDING_PROJECTED; method <= EMBEDDING_SQUARED; method++) {
        embedding_matrix(x->g, &x->plan, (embedding_method)method, 1e-13, x->work);
        check_same(x->f, x->g, n);
    }
    for (cpu_level level = CPU_GENERIC; level <= cpu_best(); level++) { /* projected by identity */
        memset(x->g, 0, (size_t)(topology_nodes(n) * n) * sizeof *x->g);
        for (int i = 0; i < n; i++)
            x->g[leaf_row(i) * n + i] = 1;
        embedding_kernels_at(level)->extend(x->g, &x->plan, n);
        check_same(x->f, x->g, n);
    }
}

static void all_ways_agree(void **state)
{
    (void)state;
    for_every_tree(check_all_ways);
}

static void check_projection(fixture *x, int n)
{
    enum { D = 13 };
    double *leaf = mem_zeros((size_t)n * D, sizeof *leaf);
    double *extended = mem_zeros((size_t)topology_nodes(n) * D, sizeof *extended);
    assert_true(leaf && extended);
    rng r = rng_at(4, RNG_TEST, 0, (uint32_t)n);
    for (int i = 0; i < n * D; i++)
        leaf[i] = rng_normal(&r);
    for (int i = 0; i < n; i++)
        memcpy(extended + leaf_row(i) * D, leaf + i * D, D * sizeof *leaf);
    embedding_extend(extended, &x->plan, D);
    embedding_matrix(x->f, &x->plan, EMBEDDING_TWO_PASS, 0, x->work);
    for (int u = 0; u < topology_nodes(n); u++) {
        for (int j = 0; j < D; j++) {
            double sum = 0;
            for (int i = 0; i < n; i++)
                sum += x->f[u * n + i] * leaf[i * D + j];
            check_near(extended[u * D + j], sum, 1e-12);
        }
    }
    free(leaf);
    free(extended);
}

static void projection_is_linear_map_of_embedding(void **state)
{
    (void)state;
    for_every_tree(check_projection);
}

/* <g, extend(x)> = <adjoint(g), x> for every x, so the adjoint is f^T g. */
static void check_adjoint(fixture *x, int n)
{
    enum { D = 5 };
    const int nodes = topology_nodes(n);
    double *g = mem_zeros((size_t)nodes * D, sizeof *g);
    double *dx = mem_zeros((size_t)nodes * D, sizeof *dx);
    assert_true(g && dx);
    rng r = rng_at(5, RNG_TEST, 0, (uint32_t)n);
    for (int i = 0; i < nodes * D; i++)
        g[i] = rng_normal(&r);
    embedding_matrix(x->f, &x->plan, EMBEDDING_TWO_PASS, 0, x->work);
    for (cpu_level level = CPU_GENERIC; level <= cpu_best(); level++) {
        memcpy(dx, g, (size_t)(nodes * D) * sizeof *g);
        embedding_kernels_at(level)->extend_back(dx, &x->plan, D);
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < D; j++) {
                double sum = 0;
                for (int u = 0; u < nodes; u++)
                    sum += x->f[u * n + i] * g[u * D + j];
                check_near(dx[leaf_row(i) * D + j], sum, 1e-12);
            }
        }
    }
    free(g);
    free(dx);
}

static void adjoint_is_the_transpose(void **state)
{
    (void)state;
    for_every_tree(check_adjoint);
}

static void check_probabilities(fixture *x, int n)
{
    embedding_matrix(x->f, &x->plan, EMBEDDING_TWO_PASS, 0, x->work);
    for (int u = 0; u < topology_nodes(n); u++) {
        double sum = 0;
        for (int i = 0; i < n; i++) {
            assert_true(x->f[u * n + i] >= 0);
            sum += x->f[u * n + i];
        }
        check_near(sum, 1, 1e-13);
    }
}

static void rows_are_hitting_probabilities(void **state)
{
    (void)state;
    for_every_tree(check_probabilities);
}

static void star_and_quartet(void **state)
{
    (void)state;
    fixture x;
    setup(&x, 3, RANDOM);
    embedding_matrix(x.f, &x.plan, EMBEDDING_TWO_PASS, 0, x.work);
    for (int i = 0; i < 3; i++)
        check_near(x.f[3 * 3 + i], 1.0 / 3, 1e-15);
    teardown(&x);
    setup(&x, 4, RANDOM);
    topology_reset(&x.tree);
    topology_attach(&x.tree, 2); /* taxa 0 and 3 on one side, 1 and 2 on the other */
    embedding_plan_set(&x.plan, &x.tree);
    embedding_matrix(x.f, &x.plan, EMBEDDING_TWO_PASS, 0, x.work);
    for (int i = 0; i < 4; i++) {
        check_near(x.f[3 * 4 + i], i == 1 || i == 2 ? 3.0 / 8 : 1.0 / 8, 1e-15);
        check_near(x.f[5 * 4 + i], i == 0 || i == 3 ? 3.0 / 8 : 1.0 / 8, 1e-15);
    }
    teardown(&x);
}

/* The stopping rule promises the error and the theory the number of sweeps. */
static void check_stopping(fixture *x, int n)
{
    embedding_matrix(x->f, &x->plan, EMBEDDING_TWO_PASS, 0, x->work);
    for (double tolerance = 1e-2; tolerance > 1e-11; tolerance *= 1e-4) {
        for (int method = EMBEDDING_ITERATED; method <= EMBEDDING_SQUARED; method++) {
            int count =
                embedding_matrix(x->g, &x->plan, (embedding_method)method, tolerance, x->work);
            double sweeps =
                2 + log(tolerance * (1 - EMBEDDING_RATE) / sqrt(n)) / log(EMBEDDING_RATE);
            assert_true((method == EMBEDDING_SQUARED ? pow(2, count - 1) : count) <= sweeps);
            for (int i = 0; i < n; i++) {
                double error = 0;
                for (int u = 0; u < topology_nodes(n); u++)
                    error += pow(x->f[u * n + i] - x->g[u * n + i], 2);
                assert_true(sqrt(error) <= tolerance);
            }
        }
    }
}

static void iterations_keep_their_promise(void **state)
{
    (void)state;
    for_every_tree(check_stopping);
}

/* The iteration matrix is the interior adjacency over 3; power iteration finds its norm. */
static void check_spectrum(fixture *x, int n)
{
    const int m = n - 2;
    double *v = x->f, *w = x->g, norm = 0, before = 0;
    rng r = rng_at(6, RNG_TEST, 0, (uint32_t)n);
    for (int i = 0; i < m; i++)
        v[i] = rng_uniform(&r);
    for (int round = 0; round < 300; round++) {
        double vv = 0, ww = 0;
        for (int i = 0; i < m; i++) {
            const int row = 2 * i + 3;
            const int32_t beside[3] = {x->plan.parent[row], x->plan.child[row][0],
                                       x->plan.child[row][1]};
            w[i] = 0;
            for (int b = 0; b < 3; b++)
                w[i] += beside[b] >= 3 && beside[b] % 2 ? v[(beside[b] - 3) / 2] : 0;
            vv += v[i] * v[i];
            ww += w[i] * w[i];
        }
        norm = vv > 0 ? sqrt(ww / vv) : 0;
        assert_true(norm <= 2 * sqrt(2) + 1e-12); /* so the rate is at most 2 sqrt(2) / 3 */
        assert_true(round == 0 || norm >= before - 1e-12); /* the power method rises */
        before = norm;
        for (int i = 0; i < m && ww > 0; i++)
            v[i] = w[i] / sqrt(ww);
    }
    if (n == 4)
        check_near(norm, 1, 1e-12); /* two inner nodes, one edge */
    if (n == 5)
        check_near(norm, sqrt(2), 1e-12); /* a path of three */
}

static void spectral_radius_is_bounded(void **state)
{
    (void)state;
    for_every_tree(check_spectrum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ways_agree),
        cmocka_unit_test(projection_is_linear_map_of_embedding),
        cmocka_unit_test(adjoint_is_the_transpose),
        cmocka_unit_test(rows_are_hitting_probabilities),
        cmocka_unit_test(star_and_quartet),
        cmocka_unit_test(iterations_keep_their_promise),
        cmocka_unit_test(spectral_radius_is_bounded),
    };
    return cmocka_run_group_tests_name("embedding_f64", tests, NULL, NULL);
}
