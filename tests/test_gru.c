/* The gates of the recurrence at every level of this machine against their definition, and their
 * derivatives; in float here, in double in test_gru_f64.c. */
#include "support/check.h"

#include "base/rng.h"
#include "nn/gru.h"

#include <math.h>
#include <string.h>

enum { ROWS = 3, MOST = 67 };

typedef struct gates {
    real a[ROWS * 3 * MOST], product[ROWS * 3 * MOST], h[ROWS * MOST];
} gates;

static void fill(gates *g, double scale)
{
    rng r = rng_at(1, RNG_TEST, 0, 0);
    for (int i = 0; i < ROWS * 3 * MOST; i++) {
        g->a[i] = (real)(scale * rng_normal(&r));
        g->product[i] = (real)rng_normal(&r);
    }
    for (int i = 0; i < ROWS * MOST; i++)
        g->h[i] = (real)(2 * rng_uniform(&r) - 1);
}

/* By the definition, in double, for number j of row i. */
static double next_of(const gates *g, int i, int j, int width)
{
    const real *a = g->a + (ptrdiff_t)i * 3 * width + j;
    const real *c = g->product + (ptrdiff_t)i * 3 * width + j;
    const double r = 1 / (1 + exp(-(double)a[0] - (double)c[0]));
    const double z = 1 / (1 + exp(-(double)a[width] - (double)c[width]));
    const double n = tanh((double)a[2 * width] + r * (double)c[2 * width]);
    return (1 - z) * n + z * (double)g->h[i * width + j];
}

/* All results are within [-1, 1]; a handful of roundings. Also where exponentials overflow. */
static void gates_are_their_definition(void **state)
{
    (void)state;
    static const double scale[] = {0.01, 1, 30, 1e4};
    for (int s = 0; s < 4; s++)
        for (int width = 1; width <= MOST; width += 11)
            for (cpu_level level = CPU_GENERIC; level <= cpu_best(); level++) {
                gates g;
                real gate[ROWS * 3 * MOST], next[ROWS * MOST];
                fill(&g, scale[s]);
                memcpy(gate, g.a, sizeof gate);
                gru_kernels_at(level)->gates(next, gate, g.product, g.h, ROWS, width);
                for (int i = 0; i < ROWS; i++)
                    for (int j = 0; j < width; j++)
                        check_near((double)next[i * width + j], next_of(&g, i, j, width),
                                   REAL_IS_DOUBLE ? 1e-14 : 1e-6);
            }
}

#if REAL_IS_DOUBLE
static double slope(gates *g, real *x, int i, int j, int width)
{
    const double step = 1e-6, kept = *x;
    *x = kept + step;
    const double above = next_of(g, i, j, width);
    *x = kept - step;
    const double below = next_of(g, i, j, width);
    *x = kept;
    return (above - below) / (2 * step);
}

/* Against central differences of the definition: rounding 1e-10, truncation 1e-12. */
static void gradients_are_differences(void **state)
{
    (void)state;
    const int width = 13;
    for (cpu_level level = CPU_GENERIC; level <= cpu_best(); level++) {
        gates g;
        real gate[ROWS * 3 * MOST], next[ROWS * MOST], c_n[ROWS * MOST], dnext[ROWS * MOST];
        real da[ROWS * 3 * MOST], dc[ROWS * 3 * MOST], dh[ROWS * MOST];
        fill(&g, 1);
        memcpy(gate, g.a, sizeof gate);
        const gru_kernels *k = gru_kernels_at(level);
        k->gates(next, gate, g.product, g.h, ROWS, width);
        for (int i = 0; i < ROWS * width; i++) {
            dnext[i] = 0.3 * (i % 5) - 0.7;
            c_n[i] = g.product[i / width * 3 * width + 2 * width + i % width];
        }
        k->gates_back(da, dc, dh, dnext, gate, c_n, g.h, ROWS, width);
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < width; j++) {
                const double d = dnext[i * width + j];
                for (int part = 0; part < 3; part++) {
                    const int at = (i * 3 + part) * width + j;
                    check_near(da[at], d * slope(&g, g.a + at, i, j, width), 1e-9);
                    check_near(dc[at], d * slope(&g, g.product + at, i, j, width), 1e-9);
                }
                check_near(dh[i * width + j], d * slope(&g, g.h + i * width + j, i, j, width),
                           1e-9);
            }
    }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gates_are_their_definition),
#if REAL_IS_DOUBLE
        cmocka_unit_test(gradients_are_differences),
#endif
    };
    return cmocka_run_group_tests_name("gru", tests, NULL, NULL);
}
