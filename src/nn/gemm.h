/* gemm.h: the one wrapper around BLAS. Matrices are row-major; ld is the distance between
 * rows. Serial, and to be called from one thread at a time: Debian's serial OpenBLAS is not
 * thread-safe and gives wrong numbers otherwise. A BLAS may choose another kernel for another
 * shape, so results are the same bits only for the same shapes. */
#ifndef NN_GEMM_H
#define NN_GEMM_H

#include "base/real.h"

typedef enum gemm_form {
    GEMM_NN, /* A [m][k], B [k][n] */
    GEMM_NT, /* A [m][k], B [n][k], used transposed */
    GEMM_TN, /* A [k][m], used transposed, B [k][n] */
} gemm_form;

/* C [m][n] = beta C + op(A) op(B); beta 0 does not read C. C must not overlap A or B. */
void gemm(gemm_form form, real *c, int ldc, const real *a, int lda, const real *b, int ldb, int m,
          int n, int k, real beta);

/* The same by the definition, sums in double. */
void gemm_plain(gemm_form form, real *c, int ldc, const real *a, int lda, const real *b, int ldb,
                int m, int n, int k, real beta);

/* Keeps a threaded BLAS from starting threads of its own. Every model calls it when created. */
void gemm_serial(void);

#endif
