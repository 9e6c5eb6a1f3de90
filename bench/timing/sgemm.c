#include "timing/sgemm.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "timing/clock.h"
#include "cli/progress.h"
#include "density/artreeformer/readout.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = READOUT_ROWS, TILES = 6, MOST_RUNS = 7 };

/* Numbers of one thread: two matrices of rows and one of weights, the largest of each. */
static size_t share(int d)
{
    const size_t wide = 2 * (size_t)d;
    return 2 * ROWS * wide + wide * wide;
}

int sgemm_bench_open(sgemm_bench *b, int d, pool *threads)
{
    openblas_set_num_threads(1); /* each of our threads calls it */
    *b = (sgemm_bench){.threads = threads, .d = d};
    b->block = mem_aligned(share(d) * (size_t)pool_threads(threads), sizeof *b->block);
    return b->block ? ART_OK : ART_ERR_NOMEM;
}

void sgemm_bench_close(sgemm_bench *b)
{
    free(b->block);
    memset(b, 0, sizeof *b);
}

/* C = op(A) op(B), row-major. */
static void product(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, real *c, int ldc, const real *a,
                    int lda, const real *b, int ldb, int m, int n, int k)
{
    cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, 1, a, lda, b, ldb, 0, c, ldc);
}

/* One layer on one tile: y = x W^T, or dx = dy W and dW = dy^T x. */
static void multiply(real *x, real *y, real *w, int in, int out, sgemm_pass pass)
{
    if (pass == SGEMM_FORWARD) {
        product(CblasNoTrans, CblasTrans, y, out, x, in, w, in, ROWS, out, in);
    } else {
        product(CblasNoTrans, CblasNoTrans, x, in, y, out, w, in, ROWS, in, out);
        product(CblasTrans, CblasNoTrans, w, in, y, out, x, in, out, in, ROWS);
    }
}

/* A BLAS that is not thread-safe may get the numbers wrong; only the time counts here, and all
 * numbers are zero. */
static void multiply_tiles(void *context, int part, int worker)
{
    (void)worker;
    const sgemm_bench *b = context;
    const int d = b->d;
    real *x = b->block + share(d) * (size_t)part, *y = x + 2 * ROWS * d, *w = y + 2 * ROWS * d;
    for (int i = 0; i < TILES; i++) {
        multiply(x, y, w, d, d, b->pass);
        multiply(x, y, w, d, 2 * d, b->pass);
        multiply(x, y, w, 2 * d, 2 * d, b->pass);
    }
}

double sgemm_bench_rate(sgemm_bench *b, sgemm_pass pass, int runs)
{
    const int threads = pool_threads(b->threads);
    const double d = b->d, products = pass == SGEMM_FORWARD ? 1 : 2;
    double seconds[MOST_RUNS];
    runs = runs < MOST_RUNS ? runs : MOST_RUNS;
    b->pass = pass;
    if (runs > 1) /* to warm up */
        pool_run(b->threads, threads, multiply_tiles, b);
    for (int i = 0; i < runs; i++) {
        const double start = clock_seconds();
        pool_run(b->threads, threads, multiply_tiles, b);
        seconds[i] = clock_seconds() - start;
    }
    return products * 2 * 7 * d * d * ROWS * TILES * threads / spread_of(seconds, runs).median;
}
