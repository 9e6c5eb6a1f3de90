/* gru.h: the gates of a gated recurrent unit, between its two linear layers.
 *
 * With the products a = W_i x + b_i and c = W_h h + b_h, each [3 width] in the order r, z, n:
 *
 *     r = sigmoid(a_r + c_r)     z = sigmoid(a_z + c_z)     n = tanh(a_n + r c_n)
 *     next = (1 - z) n + z h
 *
 * The products themselves are linear layers (nn/dense.h). Rows are independent of each other. */
#ifndef NN_GRU_H
#define NN_GRU_H

#include "base/cpu.h"
#include "base/real.h"

typedef struct gru_kernels {
    /* gate [rows][3 width]: a in, (r, z, n) out. product [rows][3 width]: c. h, next
     * [rows][width]; next may be h. The backward pass needs gate, c_n and h. */
    void (*gates)(real *next, real *gate, const real *product, const real *h, int rows, int width);

    /* Given dnext [rows][width]: sets da and dc [rows][3 width] and dh [rows][width], the part of
     * the gradient of h that does not go through the product. c_n [rows][width]. dh may be
     * dnext. */
    void (*gates_back)(real *da, real *dc, real *dh, const real *dnext, const real *gate,
                       const real *c_n, const real *h, int rows, int width);
} gru_kernels;

/* The kernels of a level; NULL if this build does not have them. */
const gru_kernels *gru_kernels_at(cpu_level level);

#endif
