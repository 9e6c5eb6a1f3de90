#include "nn/attention.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "nn/gemm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int attention_init(attention *a, int d, int heads, int steps, cpu_level level)
{
    const size_t keys = (size_t)steps * (size_t)heads * (size_t)d;
    const size_t queries = (size_t)steps * (size_t)d;
    const size_t key_panels = (size_t)steps * dense_size(d, heads);
    const size_t values = (size_t)heads * dense_size(d, d / heads);
    const size_t values_back = (size_t)heads * dense_size(d / heads, d);
    const size_t square = dense_size(d, d);
    *a = (attention){.d = d, .heads = heads, .steps = steps};
    a->dense = dense_kernels_at(level);
    a->layers = layer_kernels_at(level);
    a->block = mem_aligned(keys + queries + key_panels + values + values_back + 2 * square,
                           sizeof *a->block);
    if (!a->block)
        return ART_ERR_NOMEM;
    a->key_panels = a->block;
    a->value = a->key_panels + key_panels;
    a->value_back = a->value + values;
    a->out = a->value_back + values_back;
    a->out_back = a->out + square;
    a->key = a->out_back + square;
    a->query = a->key + keys;
    return ART_OK;
}

void attention_free(attention *a)
{
    free(a->block);
    memset(a, 0, sizeof *a);
}

static real key_scale(const attention *a)
{
    return (real)(1 / sqrt((double)a->d / a->heads));
}

void attention_refresh(attention *a, const real *in_weight, const real *in_bias,
                       const real *out_weight, const real *out_bias)
{
    const int d = a->d, heads = a->heads, width = d / heads, steps = a->steps;
    const real *wk = in_weight + (ptrdiff_t)d * d, *wv = wk + (ptrdiff_t)d * d;
    const real scale = key_scale(a);
    for (ptrdiff_t l = 0; l < steps; l++)
        for (ptrdiff_t i = 0; i < d; i++)
            a->query[l * d + i] = scale * (in_bias[i] + (l < d ? in_weight[i * d + l] : 0));
    for (ptrdiff_t h = 0; h < heads; h++) {
        gemm(GEMM_NN, a->key + h * d, heads * d, a->query + h * width, d, wk + h * width * d, d,
             steps, d, width, 0);
        a->dense->pack(a->value + h * (ptrdiff_t)dense_size(d, width), wv + h * width * d, d, 1,
                       in_bias + 2 * d + h * width, d, width);
        a->dense->pack(a->value_back + h * (ptrdiff_t)dense_size(width, d), wv + h * width * d, 1,
                       d, NULL, width, d);
    }
    for (ptrdiff_t l = 0; l < steps; l++)
        a->dense->pack(a->key_panels + l * (ptrdiff_t)dense_size(d, heads), a->key + l * heads * d,
                       d, 1, NULL, d, heads);
    a->dense->pack(a->out, out_weight, d, 1, out_bias, d, d);
    a->dense->pack(a->out_back, out_weight, 1, d, NULL, d, d);
}

size_t attention_scratch(const attention *a, int n)
{
    const size_t nodes = (size_t)n, d = (size_t)a->d, heads = (size_t)a->heads;
    const size_t forward = nodes + heads * (size_t)dense_round(a->d);
    const size_t backward = 2 * heads * d + dense_size(a->d, a->heads) +
                            dense_size(2 * a->heads, a->d) + 2 * nodes * heads + 2 * nodes;
    return forward > backward ? forward : backward;
}

void attention_pool(real *share, real *z, const attention *a, const real *x, int n, int step,
                    real *scratch)
{
    const int d = a->d, heads = a->heads, ld = dense_round(d);
    real *column = scratch, *pooled = scratch + n; /* [n], [H][ld] */
    a->dense->multiply(share, heads, x, d, a->key_panels + (size_t)step * dense_size(d, heads), n,
                       d, heads, 0);
    for (ptrdiff_t h = 0; h < heads; h++) {
        for (ptrdiff_t u = 0; u < n; u++)
            column[u] = share[u * heads + h];
        a->layers->softmax(column, column, n);
        for (ptrdiff_t u = 0; u < n; u++)
            share[u * heads + h] = column[u];
    }
    memset(pooled, 0, (size_t)heads * (size_t)ld * sizeof *pooled);
    a->dense->outer(pooled, ld, share, heads, x, d, heads, d, n);
    for (ptrdiff_t h = 0; h < heads; h++)
        memcpy(z + h * d, pooled + h * ld, (size_t)d * sizeof *pooled);
}

void attention_project(real *r, real *s, const attention *a, const real *z, int rows)
{
    const int d = a->d, heads = a->heads, width = d / heads;
    for (ptrdiff_t h = 0; h < heads; h++)
        a->dense->multiply(s + h * width, d, z + h * d, heads * d,
                           a->value + h * (ptrdiff_t)dense_size(d, width), rows, d, width, 0);
    a->dense->multiply(r, d, s, d, a->out, rows, d, d, 0);
}

void attention_project_backward(real *dz, attention_grad *g, const real *dr, const attention *a,
                                const real *s, const real *z, real *ds, int rows)
{
    const int d = a->d, heads = a->heads, width = d / heads, ld = dense_round(d);
    a->dense->outer(g->out, ld, dr, d, s, d, d, d, rows);
    a->layers->sum_rows(g->out_bias, dr, rows, d);
    a->dense->multiply(ds, d, dr, d, a->out_back, rows, d, d, 0);
    a->layers->sum_rows(g->value_bias, ds, rows, d);
    for (ptrdiff_t h = 0; h < heads; h++) {
        a->dense->outer(g->value + h * width * ld, ld, ds + h * width, d, z + h * d, heads * d,
                        width, d, rows);
        a->dense->multiply(dz + h * d, heads * d, ds + h * width, d,
                           a->value_back + h * (ptrdiff_t)dense_size(width, d), rows, width, d, 0);
    }
}

/* Everything that reaches x_u is a sum over heads, sum_h a_h(u) dz_h + dscore_h(u) k_h: one
 * product of n x 2H with 2H x d. */
void attention_pool_backward(real *dx, attention_grad *g, const real *dz, const attention *a,
                             const real *share, const real *x, int n, int step, real *scratch)
{
    const int d = a->d, heads = a->heads, ld = dense_round(d);
    real *both = scratch;                             /* [2H][d]: dz, then the keys */
    real *panels = both + 2 * heads * d;              /* of dz */
    real *all = panels + dense_size(d, heads);        /* of both, transposed */
    real *factor = all + dense_size(2 * heads, d);    /* [n][2H]: a, then dscore */
    real *column = factor + (ptrdiff_t)n * 2 * heads; /* [2n] */
    const size_t size = (size_t)(heads * d) * sizeof *both;
    memcpy(both, dz, size);
    memcpy(both + heads * d, a->key + (ptrdiff_t)step * heads * d, size);
    a->dense->pack(panels, dz, d, 1, NULL, d, heads);
    a->dense->pack(all, both, 1, d, NULL, 2 * heads, d);
    a->dense->multiply(factor + heads, 2 * heads, x, d, panels, n, d, heads, 0);
    for (ptrdiff_t h = 0; h < heads; h++) {
        real *from = column, *dfrom = column + n;
        for (ptrdiff_t u = 0; u < n; u++) {
            from[u] = factor[u * 2 * heads + h] = share[u * heads + h];
            dfrom[u] = factor[u * 2 * heads + heads + h];
        }
        softmax_backward(dfrom, dfrom, from, n);
        for (ptrdiff_t u = 0; u < n; u++)
            factor[u * 2 * heads + heads + h] = dfrom[u];
    }
    a->dense->multiply(dx, d, factor, 2 * heads, all, n, 2 * heads, d, 1);
    a->dense->outer(g->key + (ptrdiff_t)step * heads * ld, ld, factor + heads, 2 * heads, x, d,
                    heads, d, n);
}

/* With Q = (W_Q q + b_Q) / sqrt(d / H) and k_h = W_K,h^T Q_h: dW_K,h = Q_h dk_h^T and
 * dQ_h = W_K,h dk_h, summed over the steps; dQ goes to column l of W_Q and to b_Q. */
void attention_finish(real *din_weight, real *din_bias, real *dout_weight, real *dout_bias,
                      const attention_grad *g, const attention *a, const real *in_weight,
                      real *scratch)
{
    const int d = a->d, heads = a->heads, width = d / heads, steps = a->steps;
    const ptrdiff_t ld = dense_round(d), square = (ptrdiff_t)d * d;
    const real scale = key_scale(a);
    real *dquery = scratch; /* [steps][d] */
    for (ptrdiff_t h = 0; h < heads; h++) {
        const real *dkey = g->key + h * ld;
        gemm(GEMM_TN, din_weight + square + h * width * d, d, a->query + h * width, d, dkey,
             (int)(heads * ld), width, d, steps, 1);
        gemm(GEMM_NT, dquery + h * width, d, dkey, (int)(heads * ld),
             in_weight + square + h * width * d, d, steps, width, d, 0);
    }
    for (ptrdiff_t l = 0; l < steps; l++) {
        for (ptrdiff_t i = 0; i < d; i++) {
            din_bias[i] += scale * dquery[l * d + i];
            if (l < d)
                din_weight[i * d + l] += scale * dquery[l * d + i];
        }
    }
    for (ptrdiff_t i = 0; i < d; i++) {
        for (ptrdiff_t j = 0; j < d; j++) {
            din_weight[2 * square + i * d + j] += g->value[i * ld + j];
            dout_weight[i * d + j] += g->out[i * ld + j];
        }
        din_bias[2 * d + i] += g->value_bias[i];
        dout_bias[i] += g->out_bias[i];
    }
}
