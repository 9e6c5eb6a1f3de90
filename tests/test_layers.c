/* The float kernels of every level of this machine against the definitions in double. */
#include "support/check.h"

#include "base/rng.h"
#include "nn/gemm.h"
#include "nn/layers.h"
#include "nn/layers_ref.h"

#include <math.h>
#include <string.h>

enum { ROWS = 5, WIDTH = 203 };

static void fill(real *x, int n, double scale, uint32_t index)
{
    rng r = rng_at(1, RNG_TEST, 0, index);
    for (int i = 0; i < n; i++)
        x[i] = (real)(scale * rng_normal(&r));
}

/* Runs a check on the kernels of every level this machine has. */
static void at_every_level(void (*check)(const layer_kernels *k))
{
    for (cpu_level level = CPU_GENERIC; level <= cpu_best(); level++) {
        assert_non_null(layer_kernels_at(level));
        check(layer_kernels_at(level));
    }
}

static void gemm_is_its_definition(void **state)
{
    (void)state;
    static const int size[][3] = {{1, 1, 1},     {3, 5, 7},  {17, 1, 33}, {1, 200, 100},
                                  {47, 31, 129}, {8, 16, 3}, {7, 9, 16}};
    static real a[47 * 140], b[210 * 140], fast[47 * 210], slow[47 * 210];
    for (size_t s = 0; s < sizeof size / sizeof size[0]; s++) {
        int m = size[s][0], n = size[s][1], k = size[s][2];
        for (gemm_form form = GEMM_NN; form <= GEMM_TN; form++) {
            for (int add = 0; add <= 1; add++)
                for (cpu_level level = CPU_GENERIC; level <= cpu_best(); level++) {
                    int lda = (form == GEMM_TN ? m : k) + 3, ldb = (form == GEMM_NT ? k : n) + 2;
                    int ldc = n + 1;
                    fill(a, 47 * 140, 1, 1);
                    fill(b, 210 * 140, 1, 2);
                    fill(fast, 47 * 210, 1, 3);
                    memcpy(slow, fast, sizeof slow);
                    gemm_kernel_at(level)(form, fast, ldc, a, lda, b, ldb, m, n, k, add);
                    gemm_ref(form, slow, ldc, a, lda, b, ldb, m, n, k, add);
                    /* k products of order 1, rounded one by one */
                    for (int i = 0; i < m * ldc; i++)
                        check_near((double)fast[i], (double)slow[i], 1e-6 * (k + 4));
                }
        }
    }
}

static void check_elu(const layer_kernels *kernels)
{
    static real x[4099], y[4099], dy[4099], dx[4099];
    for (int n = 0; n < 40; n++) { /* every remainder of a vector; in place */
        fill(x, n + 1, 2, 4);
        memcpy(y, x, sizeof y);
        kernels->elu(y, y, (size_t)n);
        for (int i = 0; i < n; i++) {
            double value = (double)x[i];
            elu_ref(&value, 1);
            check_close((double)y[i], value, 2.4e-7); /* 2 ulp */
        }
        assert_true(y[n] == x[n]);
    }
    for (int i = 0; i < 4099; i++) /* a fine sweep down to saturation */
        x[i] = (real)-0.025 * (real)i;
    x[0] = -1e30f;
    kernels->elu(y, x, 4099);
    fill(dy, 4099, 1, 5);
    kernels->elu_back(dx, dy, y, 4099);
    for (int i = 0; i < 4099; i++) {
        double value = (double)x[i];
        elu_ref(&value, 1);
        check_close((double)y[i], value, 2.4e-7);
        check_near((double)dx[i], (double)dy[i] * (1 + value), 4e-7 * fabs((double)dy[i]));
    }
}

/* Against the definition, with h = xhat and g = gain dy:
 * dx = rstd (g - mean(g) - h mean(g h)), dgain += sum dy h, dbias += sum dy; from 1 on. */
static void check_norm_back(const real *dx, const real *dgain, const real *dbias, const real *dy,
                            const real *hat, const real *rstd, const real *gain, int width)
{
    double gain_sum[WIDTH], bias_sum[WIDTH];
    for (int j = 0; j < width; j++)
        gain_sum[j] = bias_sum[j] = 1;
    for (int i = 0; i < ROWS; i++, dx += width, dy += width, hat += width) {
        double mean = 0, along = 0;
        for (int j = 0; j < width; j++) {
            const double g = (double)gain[j] * (double)dy[j];
            mean += g / width;
            along += g * (double)hat[j] / width;
            gain_sum[j] += (double)dy[j] * (double)hat[j];
            bias_sum[j] += (double)dy[j];
        }
        for (int j = 0; j < width; j++) {
            const double g = (double)gain[j] * (double)dy[j];
            /* numbers of order 10 in float, and sums of them */
            check_near((double)dx[j] / (double)rstd[i], g - mean - (double)hat[j] * along, 2e-5);
        }
    }
    for (int j = 0; j < width; j++) {
        check_near((double)dgain[j], gain_sum[j], 1e-4);
        check_near((double)dbias[j], bias_sum[j], 1e-4);
    }
}

static void check_norm(const layer_kernels *kernels)
{
    static real x[ROWS * WIDTH], y[ROWS * WIDTH], hat[ROWS * WIDTH], dx[ROWS * WIDTH];
    real gain[WIDTH], bias[WIDTH], rstd[ROWS], dgain[WIDTH], dbias[WIDTH];
    for (int width = 1; width <= WIDTH; width += width < 20 ? 1 : 61) {
        fill(x, ROWS * width, 3, 6);
        fill(gain, width, 1, 7);
        fill(bias, width, 1, 8);
        kernels->norm(y, hat, rstd, x, gain, bias, ROWS, width);
        for (int i = 0; i < ROWS; i++) {
            double row[WIDTH];
            for (int j = 0; j < width; j++)
                row[j] = (double)x[i * width + j];
            norm_ref(row, gain, bias, width);
            for (int j = 0; j < width; j++)
                check_near((double)y[i * width + j], row[j], 1e-5); /* sums of 200 in float */
        }
        for (int j = 0; j < width; j++)
            dgain[j] = dbias[j] = 1; /* to which is added */
        kernels->norm_back(dx, dgain, dbias, y, hat, rstd, gain, ROWS, width);
        check_norm_back(dx, dgain, dbias, y, hat, rstd, gain, width);
    }
}

/* The fused layer is the two layers: forward, again from xhat, and back. */
static void check_norm_elu(const layer_kernels *kernels)
{
    static real x[ROWS * WIDTH], y[ROWS * WIDTH], hat[ROWS * WIDTH], again[ROWS * WIDTH];
    static real dy[ROWS * WIDTH], dx[ROWS * WIDTH], two[ROWS * WIDTH];
    real gain[WIDTH], bias[WIDTH], rstd[ROWS];
    for (int width = 1; width <= WIDTH; width += width < 20 ? 1 : 61) {
        real dgain[2][WIDTH] = {{0}}, dbias[2][WIDTH] = {{0}};
        fill(x, ROWS * width, 3, 12);
        fill(gain, width, 1, 14);
        fill(bias, width, 1, 15);
        fill(dy, ROWS * width, 1, 16);
        kernels->norm_elu(y, hat, rstd, x, gain, bias, ROWS, width);
        for (int i = 0; i < ROWS; i++) {
            double row[WIDTH];
            for (int j = 0; j < width; j++)
                row[j] = (double)x[i * width + j];
            norm_ref(row, gain, bias, width);
            elu_ref(row, width);
            for (int j = 0; j < width; j++)
                check_near((double)y[i * width + j], row[j], 1e-5);
        }
        kernels->norm_elu_again(again, hat, gain, bias, ROWS, width);
        kernels->norm_elu_back(dx, dgain[0], dbias[0], dy, y, hat, rstd, gain, ROWS, width);
        kernels->elu_back(two, dy, y, (size_t)(ROWS * width));
        kernels->norm_back(two, dgain[1], dbias[1], two, hat, rstd, gain, ROWS, width);
        for (int i = 0; i < ROWS * width; i++) {
            check_near((double)again[i], (double)y[i], 1e-6);
            check_near((double)dx[i], (double)two[i], 1e-5 * (1 + (double)rstd[i / width]));
        }
        for (int j = 0; j < width; j++) {
            check_near((double)dgain[0][j], (double)dgain[1][j], 1e-5);
            check_near((double)dbias[0][j], (double)dbias[1][j], 1e-5);
        }
        kernels->norm(again, hat, rstd, x, gain, bias, ROWS, width);
        kernels->elu(again, again, (size_t)(ROWS * width));
        for (int i = 0; i < ROWS * width; i++)
            check_near((double)again[i], (double)y[i], 1e-5);
    }
}

static void check_softmax(const layer_kernels *kernels)
{
    real x[131], y[131];
    for (int n = 1; n <= 131; n += 13) {
        double row[131];
        fill(x, n, 10, 9);
        for (int i = 0; i < n; i++)
            row[i] = (double)x[i];
        log_softmax_ref(row, n);
        kernels->softmax(y, x, n);
        for (int i = 0; i < n; i++)
            check_near((double)y[i], exp(row[i]), 1e-6);
    }
}

static void check_edges(const layer_kernels *kernels)
{
    static const int32_t ends[4][2] = {{0, 1}, {4, 2}, {3, 4}, {1, 3}};
    for (int width = 1; width <= 40; width++) {
        real x[5 * 40], y[4 * 40], dy[4 * 40], dx[5 * 40] = {0}, sum[40] = {0};
        double expected[5 * 40] = {0};
        fill(x, 5 * width, 1, 10);
        fill(dy, 4 * width, 1, 11);
        kernels->edge_max(y, x, ends, 4, width);
        kernels->edge_max_back(dx, dy, x, ends, 4, width);
        kernels->sum_rows(sum, x, 5, width);
        for (int j = 0; j < width; j++) {
            double column = 0;
            for (int e = 0; e < 4; e++) {
                int u = ends[e][0] * width + j, v = ends[e][1] * width + j;
                assert_true(y[e * width + j] == (x[u] > x[v] ? x[u] : x[v]));
                expected[x[u] >= x[v] ? u : v] += (double)dy[e * width + j];
            }
            for (int i = 0; i < 5; i++)
                column += (double)x[i * width + j];
            check_near((double)sum[j], column, 2e-6);
        }
        for (int i = 0; i < 5 * width; i++)
            check_near((double)dx[i], expected[i], 1e-6);
        memcpy(dx, x, sizeof x);
        kernels->add_bias(x, dy, 2, width);
        for (int i = 0; i < 5 * width; i++)
            assert_true(x[i] == (i < 2 * width ? dx[i] + dy[i % width] : dx[i]));
    }
}

static void check_dots(const layer_kernels *kernels)
{
    for (int width = 1; width <= 40; width++) {
        real x[ROWS * 40], w[40], y[ROWS], spread[ROWS * 40];
        fill(x, ROWS * width, 1, 17);
        fill(w, width, 1, 18);
        kernels->dot(y, x, w, (real)0.5, ROWS, width);
        kernels->spread(spread, y, w, ROWS, width);
        for (int i = 0; i < ROWS; i++) {
            double sum = 0.5;
            for (int j = 0; j < width; j++) {
                sum += (double)x[i * width + j] * (double)w[j];
                assert_true(spread[i * width + j] == y[i] * w[j]);
            }
            check_near((double)y[i], sum, 1e-5);
        }
    }
}

static void dots_of_every_level(void **state)
{
    (void)state;
    at_every_level(check_dots);
}

static void elu_of_every_level(void **state)
{
    (void)state;
    at_every_level(check_elu);
}

static void norm_of_every_level(void **state)
{
    (void)state;
    at_every_level(check_norm);
}

static void norm_elu_of_every_level(void **state)
{
    (void)state;
    at_every_level(check_norm_elu);
}

static void softmax_of_every_level(void **state)
{
    (void)state;
    at_every_level(check_softmax);
}

static void edges_of_every_level(void **state)
{
    (void)state;
    at_every_level(check_edges);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gemm_is_its_definition), cmocka_unit_test(elu_of_every_level),
        cmocka_unit_test(norm_of_every_level),    cmocka_unit_test(norm_elu_of_every_level),
        cmocka_unit_test(softmax_of_every_level), cmocka_unit_test(edges_of_every_level),
        cmocka_unit_test(dots_of_every_level),
    };
    return cmocka_run_group_tests_name("layers", tests, NULL, NULL);
}
