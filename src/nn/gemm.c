#include "nn/gemm.h"

#include <cblas.h>
#include <stddef.h>

void gemm(gemm_form form, real *c, int ldc, const real *a, int lda, const real *b, int ldb, int m,
          int n, int k, real beta)
{
    CBLAS_TRANSPOSE ta = form == GEMM_TN ? CblasTrans : CblasNoTrans;
    CBLAS_TRANSPOSE tb = form == GEMM_NT ? CblasTrans : CblasNoTrans;
#if REAL_IS_DOUBLE
    cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, 1, a, lda, b, ldb, beta, c, ldc);
#else
    cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, 1, a, lda, b, ldb, beta, c, ldc);
#endif
}

void gemm_plain(gemm_form form, real *c, int ldc, const real *a, int lda, const real *b, int ldb,
                int m, int n, int k, real beta)
{
    const ptrdiff_t ai = form == GEMM_TN ? 1 : lda, ap = form == GEMM_TN ? lda : 1;
    const ptrdiff_t bj = form == GEMM_NT ? ldb : 1, bp = form == GEMM_NT ? 1 : ldb;
    for (ptrdiff_t i = 0; i < m; i++) {
        for (ptrdiff_t j = 0; j < n; j++) {
            double sum = 0;
            for (ptrdiff_t p = 0; p < k; p++)
                sum += (double)a[i * ai + p * ap] * (double)b[p * bp + j * bj];
            real *out = &c[i * ldc + j];
            *out = beta == 0 ? (real)sum : (real)(sum + (double)beta * (double)*out);
        }
    }
}

void gemm_serial(void)
{
    openblas_set_num_threads(1);
}
