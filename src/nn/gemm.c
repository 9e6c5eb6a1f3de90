#include "nn/gemm.h"

#include <stddef.h>

extern gemm_kernel gemm_at_generic;
#if defined(__x86_64__)
extern gemm_kernel gemm_at_avx2, gemm_at_avx512;
#endif

gemm_kernel *gemm_kernel_at(cpu_level level)
{
    switch (level) {
    case CPU_GENERIC:
        return gemm_at_generic;
#if defined(__x86_64__)
    case CPU_AVX2:
        return gemm_at_avx2;
    case CPU_AVX512:
        return gemm_at_avx512;
#endif
    default:
        return NULL;
    }
}

void gemm(gemm_form form, real *c, int ldc, const real *a, int lda, const real *b, int ldb, int m,
          int n, int k, int add)
{
    gemm_kernel_at(cpu_best())(form, c, ldc, a, lda, b, ldb, m, n, k, add);
}

void gemm_ref(gemm_form form, real *c, int ldc, const real *a, int lda, const real *b, int ldb,
              int m, int n, int k, int add)
{
    const ptrdiff_t ai = form == GEMM_TN ? 1 : lda, ap = form == GEMM_TN ? lda : 1;
    const ptrdiff_t bj = form == GEMM_NT ? ldb : 1, bp = form == GEMM_NT ? 1 : ldb;
    for (ptrdiff_t i = 0; i < m; i++) {
        for (ptrdiff_t j = 0; j < n; j++) {
            double sum = 0;
            for (ptrdiff_t p = 0; p < k; p++)
                sum += (double)a[i * ai + p * ap] * (double)b[p * bp + j * bj];
            real *out = &c[i * ldc + j];
            *out = add ? (real)(sum + (double)*out) : (real)sum;
        }
    }
}
