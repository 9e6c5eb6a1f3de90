/* edge_conv.h: the edge convolution on one tree, which the networks of branch lengths and of ARTree
 * share.
 *
 *     y_uv = LayerNorm(W [x_u ; x_v - x_u] + bias)          over the neighbours v of u
 *     h_u  = ELU(max_v ELU(y_uv)) = ELU(ELU(max_v y_uv))    (ELU is increasing)
 *
 * or the same without LayerNorm. With W = [W_a W_b] its argument is (W_a - W_b) x_u + W_b x_v +
 * bias: a sum of one vector of u and one of v, together the pair of a node, [2 width]. The pairs
 * are a linear layer of the nodes, or the harmonic extension of the pairs of the leaves; the caller
 * makes them.
 *
 * Nodes are rows in the order of density/artreeformer/embedding.h, M = 2n-2 of them. A slot is a
 * neighbour as seen from a node; a leaf row has one, an inner row three, in the order of rows: S =
 * 4n-6 slots. */
#ifndef DENSITY_EDGE_CONV_H
#define DENSITY_EDGE_CONV_H

#include "base/cpu.h"
#include "density/artreeformer/embedding.h"
#include "nn/layers.h"

/* Who is beside whom. */
typedef struct edge_slots {
    int32_t *other;   /* [S] the neighbour's row: slot s belongs to row u, other[s] = v */
    int32_t *reverse; /* [S] the slot of v whose neighbour is u */
} edge_slots;

static inline int32_t edge_slot_count(int n_leaves)
{
    return 4 * n_leaves - 6;
}

/* From the plan of a tree; ends [2n-3], the rows of each edge, lower node first. */
void edge_slots_set(const edge_slots *s, int32_t (*ends)[2], const embedding_plan *plan);

/* bias, gain and shift [width]; gain and shift NULL: without LayerNorm. */
typedef struct edge_conv_weights {
    const real *bias, *gain, *shift;
} edge_conv_weights;

/* Where the gradients of the weights are added. */
typedef struct edge_conv_sums {
    real *bias, *gain, *shift;
} edge_conv_sums;

/* The rows of one tree, with what the backward pass needs. */
typedef struct edge_conv_rows {
    real *pair; /* [M][2 width] in; not needed afterwards */
    real *xhat; /* [S][width]; without LayerNorm not used, nor rstd */
    real *rstd; /* [S] */
    real *y;    /* [S][width] */
    real *once; /* [M][width] ELU(max y) */
    real *h;    /* [M][width] out */
} edge_conv_rows;

/* The loops over slots, by instruction set. */
typedef struct edge_conv_kernels {
    /* y_s = first half of pair_u + second half of pair_v + bias */
    void (*sums)(real *y, const real *pair, const int32_t *other, const real *bias, int rows,
                 int width);
    /* top_u = max of its slots, and back: all goes to the largest, the first one among equals */
    void (*max)(real *top, const real *y, int rows, int width);
    void (*max_back)(real *dy, const real *dtop, const real *y, int rows, int width);
    /* dpair is set, dbias added to */
    void (*sums_back)(real *dpair, real *dbias, const real *dy, const int32_t *reverse, int rows,
                      int width);
} edge_conv_kernels;

/* The kernels of a level; NULL if this build does not have them. */
const edge_conv_kernels *edge_conv_kernels_at(cpu_level level);

void edge_conv_forward(const edge_conv_rows *c, const edge_slots *s, const edge_conv_weights *w,
                       int n_leaves, int width);

/* dh [M][width] is used up; sets dpair [M][2 width]; dy [S][width] is scratch. */
void edge_conv_backward(real *dpair, const edge_conv_sums *sums, real *dh, real *dy,
                        const edge_conv_rows *c, const edge_slots *s, const edge_conv_weights *w,
                        int n_leaves, int width);

/* The weights of a convolution, W [width][2 in], in the form that makes pairs, and the gradient
 * back from there: (W_a - W_b, W_b), so da = d(first) and db = d(second) - d(first).
 *
 * fold_leaves: leaf [in][2 width], the pairs of unit vectors.  fold_layer: pair [2 width][in], the
 * weight of a linear layer. The gradients have rows of ld numbers, ld >= 2 width and in. */
void edge_conv_fold_leaves(real *leaf, const real *weight, int in, int width);
void edge_conv_fold_layer(real *pair, const real *weight, int in, int width);
void edge_conv_unfold_leaves(real *dweight, const real *dleaf, int ld, int in, int width);
void edge_conv_unfold_layer(real *dweight, const real *dpair, int ld, int in, int width);

#endif
