/* artree_weights.h: the weights of ARTree's network in the form used by the kernels, and everything
 * that depends only on the weights and the step: computed once when the weights change. And the
 * gradient of the weights while it is summed over partial trees, in the same form.
 *
 * The two convolutions are folded (density/edge_conv.h). The vector b_t of the step is added to the
 * input of two linear layers, so each of them has a bias per step instead, its moment:
 *
 *     W (x + b_t) + bias = W x + moment_t,    moment_t = W b_t + bias
 *
 * A sheet is one block of gradients: an entry for each tensor, in the order of enum artree_tensor,
 * with rows padded to dense_round and convolutions folded, then the moments. */
#ifndef ARTREE_ARTREE_WEIGHTS_H
#define ARTREE_ARTREE_WEIGHTS_H

#include "density/artree/artree_network.h"
#include "density/edge_conv.h"
#include "nn/dense.h"
#include "nn/gru.h"
#include "nn/time_embedding.h"

/* The entries of a sheet after the tensors. */
enum { ARTREE_POOL_MOMENT = ARTREE_COUNT, ARTREE_EDGE_MOMENT, ARTREE_SHEET };

/* Linear layers of d inputs. */
enum artree_layer {
    ARTREE_PAIR,  /* the folded second convolution: d -> 2d, without bias */
    ARTREE_IN,    /* of the recurrence: d -> 3d */
    ARTREE_STATE, /* the same */
    ARTREE_POOL0, /* d -> d, without bias: it is in the moment */
    ARTREE_POOL3,
    ARTREE_EDGE0, /* without bias */
    ARTREE_LAYERS
};

typedef struct artree_linear {
    int weight;     /* its tensor */
    int out;        /* outputs */
    real *forward;  /* panels of W and bias */
    real *backward; /* panels of W transposed */
} artree_linear;

typedef struct artree_weights {
    int n_taxa, d;
    int steps; /* N - 3: one per taxon to be attached */
    const params *params;
    params sheet; /* the layout of gradients; has no numbers itself */
    const dense_kernels *dense;
    const layer_kernels *layers;
    const gru_kernels *gru;
    const embedding_kernels *embed;
    artree_linear layer[ARTREE_LAYERS];
    real *leaf;        /* [N][2d]: the pairs of the leaves */
    real *pair_weight; /* [2d][d] */
    real *pool_moment; /* [steps][d] */
    real *edge_moment; /* [steps][d] */
    real *scratch;     /* [2][steps][d] */
    real *block;
    time_embedding time;
} artree_weights;

/* p is borrowed and must outlive the weights. */
int artree_weights_init(artree_weights *w, const params *p, int n_taxa, int d);
void artree_weights_free(artree_weights *w); /* safe on a zeroed or freed one */

/* Must be called when the parameters have changed. O(d^2 (N + 12)). */
void artree_weights_refresh(artree_weights *w);

static inline const real *artree_value(const artree_weights *w, int which)
{
    return params_value(w->params, which);
}

/* An entry of a sheet. */
static inline real *artree_sum(const artree_weights *w, real *sheet, int which)
{
    return sheet + w->sheet.entry[which].offset;
}

/* Adds the gradient of a sheet to p->grad. Serial. */
void artree_weights_finish(params *p, artree_weights *w, real *sheet);

#endif
