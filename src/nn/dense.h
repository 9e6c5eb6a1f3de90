/* dense.h: products of rows with a weight matrix that is used many times.
 *
 * A BLAS packs the matrix at every call, which for the 5 to 100 rows of a tile takes from a quarter
 * to most of the time of the product; here it is packed once, when the weights change, and a tile
 * may be of any size. Every number is a sum in a fixed order, independent of the other rows of a
 * call: results do not depend on how rows are divided into tiles, bit for bit.
 *
 *     const dense_kernels *k = dense_kernels_at(cpu_best());
 *     real *panels = mem_aligned(dense_size(in, out), sizeof *panels);
 *     k->pack(panels, weight, in, 1, bias, in, out);            when the weights changed
 *     k->multiply(y, out, x, in, panels, rows, in, out, 0);     y = x W^T + b
 *     k->outer(dw, ld, dy, out, x, in, out, in, rows);          dW += dy^T x
 *
 * Packed panels belong to the level (instruction set) that packed them. */
#ifndef NN_DENSE_H
#define NN_DENSE_H

#include "base/cpu.h"
#include "base/real.h"

#include <stddef.h>

/* Numbers per cache line: the rows that `outer` writes are multiples of it. */
enum { DENSE_GRAIN = 64 / sizeof(real) };

/* n rounded up to the grain. */
static inline int dense_round(int n)
{
    return (n + DENSE_GRAIN - 1) / DENSE_GRAIN * DENSE_GRAIN;
}

/* Size of the panels of a matrix, in numbers, at any level. */
static inline size_t dense_size(int in, int out)
{
    return ((size_t)in + 1) * (size_t)dense_round(out);
}

typedef struct dense_kernels {
    /* Packs the out x in matrix whose element (o, i) is weight[o * out_step + i * in_step], so
     * that a transpose needs no copy, with bias [out] (NULL for zero). */
    void (*pack)(real *panels, const real *weight, ptrdiff_t out_step, ptrdiff_t in_step,
                 const real *bias, int in, int out);

    /* y = x W^T + b, or y += x W^T + b.   y [rows][ldy >= out], x [rows][ldx >= in]. */
    void (*multiply)(real *y, ptrdiff_t ldy, const real *x, ptrdiff_t ldx, const real *panels,
                     int rows, int in, int out, int add);

    /* c += a^T b.   c [m][ldc >= n rounded up], a [rows][lda >= m], b [rows][ldb >= n]. Numbers of
     * c beyond column n are scratch; nothing after the last number of b is read. */
    void (*outer)(real *c, ptrdiff_t ldc, const real *a, ptrdiff_t lda, const real *b,
                  ptrdiff_t ldb, int m, int n, int rows);
} dense_kernels;

/* The kernels of a level; NULL if this build does not have them. */
const dense_kernels *dense_kernels_at(cpu_level level);

#endif
