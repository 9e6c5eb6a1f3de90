/* attention.h: multi-head attention with one query per step, in the folded form.
 *
 *     r = W_O concat_h( sum_u a_h(u) (W_V,h x_u + b_V,h) ) + b_O
 *     a_h = softmax_u( (W_Q,h q + b_Q,h) . (W_K,h x_u + b_K,h) / sqrt(d / H) )
 *
 * The query q of step l is the unit vector e_l of R^d (zero for l >= d). So the scores are x_u .
 * k_h plus a constant that cancels in the softmax, with the key k_h = W_K,h^T (W_Q,h q + b_Q,h) /
 * sqrt(d / H), which depends on the step only; and since the a_h sum to 1, one may pool first, z_h
 * = sum_u a_h(u) x_u, and apply W_V,h to z_h alone. There are no key or value matrices: O(n H d +
 * d^2) per tree, not O(n d^2).
 *
 *     attention_init(&a, d, heads, steps, level);
 *     attention_refresh(&a, in_weight, in_bias, out_weight, out_bias);   weights changed
 *     attention_pool(..);     x -> z      for every tree
 *     attention_project(..);  z -> r      for some trees at once
 *     attention_project_backward(..);  attention_pool_backward(..);
 *     attention_finish(..);                                              once per batch
 *
 * Letters: d the width, H = heads, n nodes of a tree. */
#ifndef NN_ATTENTION_H
#define NN_ATTENTION_H

#include "nn/dense.h"
#include "nn/layers.h"

typedef struct attention {
    int d, heads, steps;
    const dense_kernels *dense;
    const layer_kernels *layers;
    real *query;      /* [steps][d]: (W_Q q + b_Q) / sqrt(d / H) */
    real *key;        /* [steps][H][d] */
    real *key_panels; /* [steps], for the scores: d -> H */
    real *value;      /* [H] panels d -> d/H with bias, and back without */
    real *value_back;
    real *out; /* panels d -> d with bias, and back without */
    real *out_back;
    real *block;
} attention;

/* Gradients that sum over trees; rows of width dense_round(d). Views, owned by the caller. */
typedef struct attention_grad {
    real *value;      /* [d][dense_round(d)] */
    real *value_bias; /* [d] */
    real *out;        /* [d][dense_round(d)] */
    real *out_bias;   /* [d] */
    real *key;        /* [steps][H][dense_round(d)] */
} attention_grad;

/* heads divides d. */
int attention_init(attention *a, int d, int heads, int steps, cpu_level level);
void attention_free(attention *a); /* safe on a zeroed or freed one */

/* Weights as torch stores them: in_weight [3d][d] and in_bias [3d] stack Q, K, V;
 * out_weight [d][d], out_bias [d]. O(steps d^2). */
void attention_refresh(attention *a, const real *in_weight, const real *in_bias,
                       const real *out_weight, const real *out_bias);

/* share [n][H]: the a_h(u), and z [H][d], of the tree with node features x [n][d] at a step.
 * scratch [attention_scratch(n)]. */
void attention_pool(real *share, real *z, const attention *a, const real *x, int n, int step,
                    real *scratch);

/* s [rows][d]: W_V z + b_V, head after head, and r [rows][d], for z [rows][H][d]. */
void attention_project(real *r, real *s, const attention *a, const real *z, int rows);

/* dz [rows][H][d], given dr; adds to the sums of g. ds [rows][d] is scratch. */
void attention_project_backward(real *dz, attention_grad *g, const real *dr, const attention *a,
                                const real *s, const real *z, real *ds, int rows);

/* Adds to dx [n][d], given dz [H][d], and to g->key. */
void attention_pool_backward(real *dx, attention_grad *g, const real *dz, const attention *a,
                             const real *share, const real *x, int n, int step, real *scratch);
size_t attention_scratch(const attention *a, int n);

/* Adds the gradients of the four weights, given all sums. scratch [steps d]. */
void attention_finish(real *din_weight, real *din_bias, real *dout_weight, real *dout_bias,
                      const attention_grad *g, const attention *a, const real *in_weight,
                      real *scratch);

#endif
