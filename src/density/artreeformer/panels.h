/* panels.h: the weights of the network in the form used by the kernels, and everything that depends
 * only on the weights and the step: computed once when the weights change.
 *
 * The first readout layer is split. Of its input [r ; p] + b_t only p differs between the edges of
 * a tree, so with W = [W_r  W_p]
 *
 *     W ([r ; p] + b_t) + bias = W_p p + shift,    shift = W_r r + (W b_t + bias)
 *
 * and the expression in brackets depends only on the step. */
#ifndef ARTREEFORMER_PANELS_H
#define ARTREEFORMER_PANELS_H

#include "base/pool.h"
#include "density/artreeformer/embedding.h"
#include "nn/attention.h"
#include "nn/params.h"
#include "nn/time_embedding.h"

typedef struct panels {
    int n_taxa, d, heads;
    int steps; /* N - 3: one per taxon to be attached */
    const params *params;
    const dense_kernels *dense;
    const layer_kernels *layers;
    const embedding_kernels *embed;
    embedding_method method; /* method of computing embeddings of internal nodes */
    double tolerance;        /* of the iterated methods */

    real *leaf; /* [N][d]: the column of mlp.0 of each taxon, with the bias */
    real *mlp2; /* panels d -> d with bias, and back without */
    real *mlp2_back;
    real *edge; /* W_p: d -> 2d, and back */
    real *edge_back;
    real *graph; /* W_r: d -> 2d, and back */
    real *graph_back;
    real *read3; /* 2d -> 2d with bias, and back without */
    real *read3_back;
    real *moment; /* [steps][2d]: W b_t + bias */
    real *block;
    attention attention;
    time_embedding time;
} panels;

/* p is borrowed and must outlive the panels. */
int panels_init(panels *w, const params *p, int n_taxa, int d, int heads, cpu_level level);
void panels_free(panels *w); /* safe on a zeroed or freed one */

/* Must be called when the weights have changed. O(d^2 (N + 10)). */
void panels_refresh(panels *w, pool *threads);

#endif
