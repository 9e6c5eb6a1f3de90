/* Packed products of every level against the definition, over odd sizes and strides. */
#include "support/check.h"

#include "base/mem.h"
#include "base/rng.h"
#include "nn/dense.h"
#include "nn/gemm.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST = 70 };
static const int size[][3] = {/* rows, in, out */
                              {1, 1, 1},   {5, 3, 2},    {6, 8, 8},   {7, 9, 16},  {13, 16, 17},
                              {12, 25, 9}, {31, 33, 40}, {4, 64, 33}, {64, 4, 65}, {0, 7, 7}};
enum { N_SIZES = sizeof size / sizeof size[0] };

typedef struct arrays {
    real x[MOST * MOST], y[MOST * MOST], expected[MOST * MOST], weight[MOST * MOST], bias[MOST];
    real *panels;
} arrays;

static void fill(real *x, int n, uint32_t index)
{
    rng r = rng_at(7, RNG_TEST, 0, index);
    for (int i = 0; i < n; i++)
        x[i] = (real)rng_normal(&r);
}

static arrays *arrays_new(void)
{
    arrays *a = mem_aligned(1, sizeof *a);
    assert_non_null(a);
    a->panels = mem_aligned(dense_size(MOST, MOST), sizeof *a->panels);
    assert_non_null(a->panels);
    fill(a->x, MOST * MOST, 1);
    fill(a->weight, MOST * MOST, 2);
    fill(a->bias, MOST, 3);
    return a;
}

static void arrays_free(arrays *a)
{
    free(a->panels);
    free(a);
}

/* Sums of at most 64 products of order 1 in float. */
static const double rounding = 1e-5;

static void check_multiply(const dense_kernels *k, arrays *a, int rows, int in, int out)
{
    const int ldx = in + 1, ldy = out + 2;
    for (int transposed = 0; transposed < 2; transposed++) {
        const int ldw = (transposed ? out : in) + 3;
        k->pack(a->panels, a->weight, transposed ? 1 : ldw, transposed ? ldw : 1, a->bias, in, out);
        for (int add = 0; add < 2; add++) {
            fill(a->y, MOST * MOST, 4);
            memcpy(a->expected, a->y, sizeof a->y);
            gemm_ref(transposed ? GEMM_NN : GEMM_NT, a->expected, ldy, a->x, ldx, a->weight, ldw,
                     rows, out, in, add);
            for (int i = 0; i < rows; i++)
                for (int j = 0; j < out; j++)
                    a->expected[i * ldy + j] += a->bias[j];
            k->multiply(a->y, ldy, a->x, ldx, a->panels, rows, in, out, add);
            for (int i = 0; i < MOST * MOST; i++) /* and nothing beside is touched */
                check_near((double)a->y[i], (double)a->expected[i], rounding);
        }
    }
}

static void check_outer(const dense_kernels *k, arrays *a, int rows, int m, int n)
{
    const int lda = m + 1, ldb = n + 2, ldc = dense_round(n);
    real *c = mem_aligned((size_t)m * (size_t)ldc, sizeof *c);
    assert_non_null(c);
    for (int i = 0; i < m; i++)
        memcpy(c + i * ldc, a->bias, (size_t)n * sizeof *c);
    for (int i = 0; i < m; i++)
        memcpy(a->expected + i * n, a->bias, (size_t)n * sizeof *c);
    gemm_ref(GEMM_TN, a->expected, n, a->x, lda, a->weight, ldb, m, n, rows, 1);
    k->outer(c, ldc, a->x, lda, a->weight, ldb, m, n, rows);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            check_near((double)c[i * ldc + j], (double)a->expected[i * n + j], rounding);
    free(c);
}

static void products_are_their_definition(void **state)
{
    (void)state;
    arrays *a = arrays_new();
    for (cpu_level level = CPU_GENERIC; level <= cpu_best(); level++) {
        const dense_kernels *k = dense_kernels_at(level);
        assert_non_null(k);
        for (int s = 0; s < N_SIZES; s++) {
            check_multiply(k, a, size[s][0], size[s][1], size[s][2]);
            check_outer(k, a, size[s][0], size[s][1], size[s][2]);
        }
    }
    arrays_free(a);
}

/* Behind b's last number is memory that may not be read; in a team it is another thread's. */
static void outer_reads_nothing_behind(void **state)
{
    (void)state;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), room = 8 * page;
    arrays *a = arrays_new();
    char *block =
        mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(block != MAP_FAILED);
    assert_int_equal(mprotect(block + room, page, PROT_NONE), 0);
    for (cpu_level level = CPU_GENERIC; level <= cpu_best(); level++)
        for (int n = 1; n <= 2 * DENSE_GRAIN + 1; n++)
            for (int rows = 0; rows <= 20; rows++) {
                enum { M = 7 };
                real c[M * 3 * DENSE_GRAIN] = {0};
                const int ldc = dense_round(n);
                real *b = (real *)(void *)(block + room) - n * rows;
                memcpy(b, a->weight, (size_t)(n * rows) * sizeof *b);
                gemm_ref(GEMM_TN, a->expected, n, a->x, M, b, n, M, n, rows, 0);
                dense_kernels_at(level)->outer(c, ldc, a->x, M, b, n, M, n, rows);
                for (int i = 0; i < M; i++)
                    for (int j = 0; j < n; j++)
                        check_near((double)c[i * ldc + j], (double)a->expected[i * n + j],
                                   rounding);
            }
    assert_int_equal(munmap(block, room + page), 0);
    arrays_free(a);
}

/* A row's result is the same bits alone and among others. */
static void rows_do_not_see_each_other(void **state)
{
    (void)state;
    enum { ROWS = 47, IN = 61, OUT = 37 };
    arrays *a = arrays_new();
    for (cpu_level level = CPU_GENERIC; level <= cpu_best(); level++) {
        const dense_kernels *k = dense_kernels_at(level);
        k->pack(a->panels, a->weight, IN, 1, a->bias, IN, OUT);
        k->multiply(a->expected, OUT, a->x, IN, a->panels, ROWS, IN, OUT, 0);
        for (int tile = 1; tile <= 13; tile++) {
            for (int i = 0; i < ROWS; i += tile)
                k->multiply(a->y + i * OUT, OUT, a->x + i * IN, IN, a->panels,
                            i + tile < ROWS ? tile : ROWS - i, IN, OUT, 0);
            assert_memory_equal(a->y, a->expected, ROWS * OUT * sizeof(real));
        }
    }
    arrays_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_their_definition),
        cmocka_unit_test(outer_reads_nothing_behind),
        cmocka_unit_test(rows_do_not_see_each_other),
    };
    return cmocka_run_group_tests_name("dense", tests, NULL, NULL);
}
