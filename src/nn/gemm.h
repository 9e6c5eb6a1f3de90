/* gemm.h: products of matrices that are used once, so that packing them (dense.h) is not
 * worthwhile: the few products of a step whose rows are the steps of the autoregression. Matrices
 * are row-major; ld is the distance between rows. Every number is a sum in a fixed order,
 * independent of the other rows and columns of the call. */
#ifndef NN_GEMM_H
#define NN_GEMM_H

#include "base/cpu.h"
#include "base/real.h"

typedef enum gemm_form {
    GEMM_NN, /* A [m][k], B [k][n] */
    GEMM_NT, /* A [m][k], B [n][k], used transposed */
    GEMM_TN, /* A [k][m], used transposed, B [k][n] */
} gemm_form;

/* C [m][n] = op(A) op(B), or with add C += op(A) op(B). C must not overlap A or B. */
typedef void gemm_kernel(gemm_form form, real *c, int ldc, const real *a, int lda, const real *b,
                         int ldb, int m, int n, int k, int add);

/* At the best level of this machine, and by the definition with sums in double. */
gemm_kernel gemm, gemm_ref;

/* The kernel of a level; NULL if this build does not have it. */
gemm_kernel *gemm_kernel_at(cpu_level level);

#endif
