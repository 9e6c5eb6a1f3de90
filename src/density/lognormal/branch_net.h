/* branch_net.h: the network of the branch-length model on one tree: two edge convolutions and a
 * pooling head, forward and backward.
 *
 * With f the node embeddings (density/artreeformer/embedding.h), an edge convolution is
 *
 *     y_uv = LayerNorm(W [f_u ; f_v - f_u] + bias)  over the neighbours v of u
 *     h_u  = ELU(max_v ELU(y_uv)) = ELU(ELU(max_v y_uv))          (ELU is increasing)
 *
 * With W = [W_a W_b] the argument of LayerNorm is (W_a - W_b) f_u + W_b f_v + bias: a sum of one
 * vector of u and one of v, together the pair of a node, which is linear in f. So the first layer's
 * pairs are the harmonic extension of the columns of its weight (no N-dimensional embedding is ever
 * computed), and the second layer's are one product with [W_a - W_b ; W_b]. The network works on
 * weights in this form, packed (nn/dense.h): branch_net_fold computes them, branch_net_unfold
 * converts a gradient back. The head is Linear ELU Linear ELU per node, the elementwise maximum of
 * the two ends per edge, Linear ELU Linear to (mean, log_std).
 *
 * Everything is computed per tree, in an order that depends only on N and H: the results of a tree
 * depend neither on the other trees of a batch nor on threads. */
#ifndef LOGNORMAL_BRANCH_NET_H
#define LOGNORMAL_BRANCH_NET_H

#include "density/artreeformer/embedding.h"
#include "nn/dense.h"
#include "nn/params.h"

/* The tensors in the order of the model's table. The gradient inside is collected in a sheet, a
 * block of the same order where the rows of matrices are padded to DENSE_GRAIN and the
 * convolutions' weights are folded. */
enum branch_tensor {
    BRANCH_CONV0_WEIGHT, /* [H][2N]; folded: [N][2H], the pairs of the leaves */
    BRANCH_CONV0_BIAS,
    BRANCH_CONV0_GAIN,
    BRANCH_CONV0_SHIFT,
    BRANCH_CONV1_WEIGHT, /* [H][2H]; folded: [2H][H] */
    BRANCH_CONV1_BIAS,
    BRANCH_CONV1_GAIN,
    BRANCH_CONV1_SHIFT,
    BRANCH_NODE0_WEIGHT, /* [H][H] */
    BRANCH_NODE0_BIAS,
    BRANCH_NODE1_WEIGHT, /* [H][H] */
    BRANCH_NODE1_BIAS,
    BRANCH_EDGE0_WEIGHT, /* [H][H] */
    BRANCH_EDGE0_BIAS,
    BRANCH_EDGE1_WEIGHT, /* [2][H] */
    BRANCH_EDGE1_BIAS,
    BRANCH_TENSORS
};

enum branch_layer {
    BRANCH_PAIR,
    BRANCH_NODE0,
    BRANCH_NODE1,
    BRANCH_EDGE0,
    BRANCH_EDGE1,
    BRANCH_LAYERS
};

/* A linear layer of H inputs, packed both ways. */
typedef struct branch_linear {
    int weight;     /* its tensor; the bias is the next one, except that BRANCH_PAIR has none */
    int out;        /* outputs */
    real *forward;  /* panels of W and bias */
    real *backward; /* panels of W transposed */
} branch_linear;

typedef struct branch_net {
    int n_taxa;        /* N */
    int hidden;        /* H */
    const params *p;   /* the table of the model, for tensors that need no folding; borrowed */
    params sheet;      /* the layout of gradients; has no numbers itself */
    real *leaf;        /* [N][2H] */
    real *pair_weight; /* [2H][H] */
    branch_linear layer[BRANCH_LAYERS];
} branch_net;

/* What one convolution keeps for its backward. M = 2N-2 nodes, S = 4N-6 directed edges. */
typedef struct branch_conv {
    real *pair; /* [M][2H] */
    real *xhat; /* [S][H] */
    real *rstd; /* [S] */
    real *y;    /* [S][H] */
    real *once; /* [M][H] ELU(max y) */
    real *h;    /* [M][H] */
} branch_conv;

/* Room for one tree, with what the forward pass leaves for the backward. */
typedef struct branch_work {
    topology tree;
    embedding_plan plan;
    int32_t *other;     /* [S] the neighbour's row: slot s belongs to row u, other[s] = v */
    int32_t *reverse;   /* [S] the slot of v whose neighbour is u */
    int32_t (*ends)[2]; /* [E] rows */
    branch_conv conv[2];
    real *node0, *node1;    /* [M][H] */
    real *edge, *edge0;     /* [E][H] */
    real *out;              /* [E][2] */
    real *dout;             /* [E][2] set by the caller of backward */
    real *dnode, *dnode_in; /* [M][H] intermediate gradients */
    real *dedge, *dedge_in; /* [E][H] */
    real *dpair;            /* [M][2H] */
    real *dy;               /* [S][H] */
    void *block;
} branch_work;

/* Adds the model's tensors to a table: names as in the model file. */
int branch_net_tensors(params *p, int n_taxa, int hidden);

/* p is the table that branch_net_tensors made, and must outlive net. */
int branch_net_init(branch_net *net, const params *p, int n_taxa, int hidden);
void branch_net_free(branch_net *net); /* safe on a zeroed or half-built one */

/* Must be called when the weights in p have changed. */
void branch_net_fold(branch_net *net);

/* Adds the gradient of a sheet to p->grad. */
void branch_net_unfold(params *p, const branch_net *net, const real *sheet);

int branch_work_init(branch_work *w, const branch_net *net);
void branch_work_free(branch_work *w); /* safe on a zeroed or half-built one */
size_t branch_work_bytes(const branch_net *net);

/* w->out [E][2]: mean and log_std by edge of the tree of the given decisions [N-3]. */
void branch_net_forward(branch_work *w, const branch_net *net, const int32_t *decision);

/* After forward of the same tree, with w->dout filled in: adds the gradient of sum dout * out to a
 * sheet. The results of the forward pass in w are kept. */
void branch_net_backward(real *sheet, branch_work *w, const branch_net *net);

#endif
