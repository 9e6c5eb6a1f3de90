/* branch_net.h: the network of the branch-length model on one tree: two edge convolutions and a
 * pooling head, forward and backward.
 *
 * The convolutions are those of density/edge_conv.h, the first on the node embeddings f
 * (density/artreeformer/embedding.h). The first layer's pairs are linear in f, so they are the
 * harmonic extension of the columns of its weight (no N-dimensional embedding is ever computed),
 * and the second layer's are one product with [W_a - W_b ; W_b]. The network works on weights in
 * this form, packed (nn/dense.h): branch_net_fold computes them, branch_net_unfold converts a
 * gradient back. The head is Linear ELU Linear ELU per node, the elementwise maximum of the two
 * ends per edge, Linear ELU Linear to (mean, log_std).
 *
 * The convolutions of ARTreeFormer's branch model have a LayerNorm; those of the one that ARTree
 * was published with have none, and its table lacks the four tensors.
 *
 * Everything is computed per tree, in an order that depends only on N and H: the results of a tree
 * depend neither on the other trees of a batch nor on threads. */
#ifndef LOGNORMAL_BRANCH_NET_H
#define LOGNORMAL_BRANCH_NET_H

#include "density/edge_conv.h"
#include "nn/dense.h"
#include "nn/params.h"

#include <stdbool.h>

/* The tensors in the order of the model's table with LayerNorm; branch_entry has their places. The
 * gradient inside is collected in a sheet, a block of the same order where the rows of matrices are
 * padded to DENSE_GRAIN and the convolutions' weights are folded. */
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

/* Room for one tree, with what the forward pass leaves for the backward. M = 2N-2 nodes, E = 2N-3
 * edges, S = 4N-6 directed edges. */
typedef struct branch_work {
    topology tree;
    embedding_plan plan;
    edge_slots slots;
    int32_t (*ends)[2]; /* [E] rows */
    edge_conv_rows conv[2];
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
int branch_net_tensors(params *p, int n_taxa, int hidden, bool with_norm);

/* The entry of a tensor (which: of enum branch_tensor) in such a table, and its numbers; -1 and
 * NULL if the table is without LayerNorm and does not have it. */
int branch_entry(const params *p, int which);
const real *branch_value(const params *p, int which);

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
