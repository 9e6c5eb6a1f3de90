#include "density/lognormal/branch_net.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "nn/layers.h"

#include <stdlib.h>
#include <string.h>

/* Letters: N taxa, H hidden, M = 2N-2 nodes (rows), E = 2N-3 edges, S = 4N-6 slots. */

static const char *const NAME[BRANCH_TENSORS] = {
    [BRANCH_CONV0_WEIGHT] = "branch.gnn.gconvs.0.mlp.0.weight",
    [BRANCH_CONV0_BIAS] = "branch.gnn.gconvs.0.mlp.0.bias",
    [BRANCH_CONV0_GAIN] = "branch.gnn.gconvs.0.mlp.1.weight",
    [BRANCH_CONV0_SHIFT] = "branch.gnn.gconvs.0.mlp.1.bias",
    [BRANCH_CONV1_WEIGHT] = "branch.gnn.gconvs.1.mlp.0.weight",
    [BRANCH_CONV1_BIAS] = "branch.gnn.gconvs.1.mlp.0.bias",
    [BRANCH_CONV1_GAIN] = "branch.gnn.gconvs.1.mlp.1.weight",
    [BRANCH_CONV1_SHIFT] = "branch.gnn.gconvs.1.mlp.1.bias",
    [BRANCH_NODE0_WEIGHT] = "branch.mean_std_net.net.0.weight",
    [BRANCH_NODE0_BIAS] = "branch.mean_std_net.net.0.bias",
    [BRANCH_NODE1_WEIGHT] = "branch.mean_std_net.net.2.weight",
    [BRANCH_NODE1_BIAS] = "branch.mean_std_net.net.2.bias",
    [BRANCH_EDGE0_WEIGHT] = "branch.mean_std_net.readout.0.weight",
    [BRANCH_EDGE0_BIAS] = "branch.mean_std_net.readout.0.bias",
    [BRANCH_EDGE1_WEIGHT] = "branch.mean_std_net.readout.2.weight",
    [BRANCH_EDGE1_BIAS] = "branch.mean_std_net.readout.2.bias",
};

static bool is_norm(int which)
{
    return which == BRANCH_CONV0_GAIN || which == BRANCH_CONV0_SHIFT ||
           which == BRANCH_CONV1_GAIN || which == BRANCH_CONV1_SHIFT;
}

int branch_entry(const params *p, int which)
{
    if (p->count == BRANCH_TENSORS)
        return which;
    return is_norm(which)              ? -1
           : which < BRANCH_CONV0_GAIN ? which
           : which < BRANCH_CONV1_GAIN ? which - 2
                                       : which - 4;
}

const real *branch_value(const params *p, int which)
{
    const int entry = branch_entry(p, which);
    return entry < 0 ? NULL : params_value(p, entry);
}

/* All vectors have H numbers but the last bias; the weights' shapes are given. */
static int add_tensors(params *p, size_t h, const size_t conv0[2], const size_t conv1[2],
                       size_t columns, bool with_norm)
{
    int status = ART_OK;
    for (int i = 0; i < BRANCH_TENSORS && status == ART_OK; i++) {
        const int is_weight = i == BRANCH_NODE0_WEIGHT || i == BRANCH_NODE1_WEIGHT ||
                              i == BRANCH_EDGE0_WEIGHT || i == BRANCH_EDGE1_WEIGHT;
        const size_t rows = i >= BRANCH_EDGE1_WEIGHT ? 2 : h;
        if (is_norm(i) && !with_norm)
            continue;
        if (i == BRANCH_CONV0_WEIGHT)
            status = params_add(p, NAME[i], conv0[0], conv0[1]);
        else if (i == BRANCH_CONV1_WEIGHT)
            status = params_add(p, NAME[i], conv1[0], conv1[1]);
        else
            status = params_add(p, NAME[i], rows, is_weight ? columns : 0);
    }
    return status;
}

int branch_net_tensors(params *p, int n_taxa, int hidden, bool with_norm)
{
    const size_t h = (size_t)hidden, n = (size_t)n_taxa;
    return add_tensors(p, h, (size_t[]){h, 2 * n}, (size_t[]){h, 2 * h}, h, with_norm);
}

int branch_net_init(branch_net *net, const params *p, int n_taxa, int hidden)
{
    static const int WEIGHT[BRANCH_LAYERS] = {BRANCH_CONV1_WEIGHT, BRANCH_NODE0_WEIGHT,
                                              BRANCH_NODE1_WEIGHT, BRANCH_EDGE0_WEIGHT,
                                              BRANCH_EDGE1_WEIGHT};
    const size_t h = (size_t)hidden, n = (size_t)n_taxa, padded = (size_t)dense_round(hidden);
    memset(net, 0, sizeof *net);
    net->n_taxa = n_taxa;
    net->hidden = hidden;
    net->p = p;
    int status =
        add_tensors(&net->sheet, h, (size_t[]){n, 2 * h}, (size_t[]){2 * h, padded}, padded, true);
    net->leaf = mem_aligned(n * 2 * h, sizeof(real));
    net->pair_weight = mem_aligned(2 * h * h, sizeof(real));
    if (status == ART_OK && (!net->leaf || !net->pair_weight))
        status = ART_ERR_NOMEM;
    for (int i = 0; i < BRANCH_LAYERS && status == ART_OK; i++) {
        branch_linear *l = &net->layer[i];
        l->weight = WEIGHT[i];
        l->out = i == BRANCH_PAIR ? 2 * hidden : i == BRANCH_EDGE1 ? 2 : hidden;
        l->forward = mem_aligned(dense_size(hidden, l->out), sizeof(real));
        l->backward = mem_aligned(dense_size(l->out, hidden), sizeof(real));
        if (!l->forward || !l->backward)
            status = ART_ERR_NOMEM;
    }
    return status;
}

void branch_net_free(branch_net *net)
{
    for (int i = 0; i < BRANCH_LAYERS; i++) {
        free(net->layer[i].forward);
        free(net->layer[i].backward);
    }
    free(net->leaf);
    free(net->pair_weight);
    params_free(&net->sheet);
    memset(net, 0, sizeof *net);
}

static const dense_kernels *dense(void)
{
    return dense_kernels_at(cpu_best());
}

void branch_net_fold(branch_net *net)
{
    const int h = net->hidden;
    edge_conv_fold_leaves(net->leaf, branch_value(net->p, BRANCH_CONV0_WEIGHT), net->n_taxa, h);
    edge_conv_fold_layer(net->pair_weight, branch_value(net->p, BRANCH_CONV1_WEIGHT), h, h);
    for (int i = 0; i < BRANCH_LAYERS; i++) {
        const branch_linear *l = &net->layer[i];
        const real *weight = i ? branch_value(net->p, l->weight) : net->pair_weight;
        const real *bias = i ? branch_value(net->p, l->weight + 1) : NULL;
        dense()->pack(l->forward, weight, h, 1, bias, h, l->out);
        dense()->pack(l->backward, weight, 1, h, NULL, l->out, h);
    }
}

void branch_net_unfold(params *p, const branch_net *net, const real *sheet)
{
    const int h = net->hidden;
    const param *at = net->sheet.entry;
    for (int i = 0; i < BRANCH_TENSORS; i++) {
        const int entry = branch_entry(p, i);
        const real *from = sheet + at[i].offset;
        if (entry < 0 || i == BRANCH_CONV0_WEIGHT || i == BRANCH_CONV1_WEIGHT)
            continue;
        const param *e = &p->entry[entry];
        for (size_t r = 0; r < e->shape[0]; r++, from += at[i].shape[1])
            for (size_t c = 0; c < e->shape[1]; c++)
                params_grad(p, entry)[r * e->shape[1] + c] += from[c];
    }
    edge_conv_unfold_leaves(params_grad(p, branch_entry(p, BRANCH_CONV0_WEIGHT)),
                            sheet + at[BRANCH_CONV0_WEIGHT].offset, 2 * h, net->n_taxa, h);
    edge_conv_unfold_layer(params_grad(p, branch_entry(p, BRANCH_CONV1_WEIGHT)),
                           sheet + at[BRANCH_CONV1_WEIGHT].offset, dense_round(h), h, h);
}

/* The next count numbers of a block that is being laid out; with base NULL only counts. */
static real *carve(real *base, size_t *used, size_t count)
{
    real *at = base ? base + *used : NULL;
    *used += (count + 15) / 16 * 16;
    return at;
}

/* Points all buffers into base; returns how many numbers they take. */
static size_t lay_out(branch_work *w, real *base, size_t n, size_t h)
{
    const size_t m = 2 * n - 2, e = 2 * n - 3, s = 4 * n - 6;
    size_t used = 0;
    for (int i = 0; i < 2; i++) {
        edge_conv_rows *c = &w->conv[i];
        c->pair = carve(base, &used, m * 2 * h);
        c->xhat = carve(base, &used, s * h);
        c->rstd = carve(base, &used, s);
        c->y = carve(base, &used, s * h);
        c->once = carve(base, &used, m * h);
        c->h = carve(base, &used, m * h);
    }
    w->node0 = carve(base, &used, m * h);
    w->node1 = carve(base, &used, m * h);
    w->edge = carve(base, &used, e * h);
    w->edge0 = carve(base, &used, e * h);
    w->out = carve(base, &used, e * 2);
    w->dout = carve(base, &used, e * 2);
    w->dnode = carve(base, &used, m * h);
    w->dnode_in = carve(base, &used, m * h);
    w->dedge = carve(base, &used, e * h);
    w->dedge_in = carve(base, &used, e * h);
    w->dpair = carve(base, &used, m * 2 * h);
    w->dy = carve(base, &used, s * h);
    return used;
}

size_t branch_work_bytes(const branch_net *net)
{
    branch_work w = {0};
    return lay_out(&w, NULL, (size_t)net->n_taxa, (size_t)net->hidden) * sizeof(real);
}

int branch_work_init(branch_work *w, const branch_net *net)
{
    const size_t n = (size_t)net->n_taxa, h = (size_t)net->hidden;
    const size_t e = 2 * n - 3, s = 4 * n - 6;
    memset(w, 0, sizeof *w);
    int status = topology_init(&w->tree, net->n_taxa);
    if (status == ART_OK)
        status = embedding_plan_init(&w->plan, net->n_taxa);
    if (status)
        return status;
    w->slots.other = mem_zeros(2 * s + 2 * e, sizeof *w->slots.other);
    w->block = mem_aligned(lay_out(w, NULL, n, h), sizeof(real));
    if (!w->slots.other || !w->block)
        return ART_ERR_NOMEM;
    w->slots.reverse = w->slots.other + s;
    w->ends = (int32_t(*)[2])(w->slots.reverse + s);
    lay_out(w, w->block, n, h);
    return ART_OK;
}

void branch_work_free(branch_work *w)
{
    topology_free(&w->tree);
    embedding_plan_free(&w->plan);
    free(w->slots.other);
    free(w->block);
    memset(w, 0, sizeof *w);
}

static void set_tree(branch_work *w, const int32_t *decision)
{
    topology_build(&w->tree, decision);
    embedding_plan_set(&w->plan, &w->tree);
    edge_slots_set(&w->slots, w->ends, &w->plan);
}

/* The tensors of a convolution besides its weight follow each other from `first`: bias, gain,
 * shift. */
static edge_conv_weights conv_weights(const branch_net *net, int first)
{
    return (edge_conv_weights){branch_value(net->p, first), branch_value(net->p, first + 1),
                               branch_value(net->p, first + 2)};
}

static void conv_forward(const branch_work *w, const branch_net *net, int conv, int first)
{
    const edge_conv_weights weights = conv_weights(net, first);
    edge_conv_forward(&w->conv[conv], &w->slots, &weights, net->n_taxa, net->hidden);
}

/* dh [rows][H] is used up; sets w->dpair. */
static void conv_backward(real *dh, real *sheet, const branch_work *w, const branch_net *net,
                          int conv, int first)
{
    const param *at = net->sheet.entry;
    const edge_conv_weights weights = conv_weights(net, first);
    const edge_conv_sums sums = {sheet + at[first].offset, sheet + at[first + 1].offset,
                                 sheet + at[first + 2].offset};
    edge_conv_backward(w->dpair, &sums, dh, w->dy, &w->conv[conv], &w->slots, &weights, net->n_taxa,
                       net->hidden);
}

static void layer_forward(real *y, const real *x, const branch_net *net, int i, int rows)
{
    const branch_linear *l = &net->layer[i];
    dense()->multiply(y, l->out, x, net->hidden, l->forward, rows, net->hidden, l->out, 0);
}

/* dx = dy W, and the gradient of the weight and its bias. */
static void layer_backward(real *dx, real *sheet, const real *dy, const real *x,
                           const branch_net *net, int i, int rows)
{
    const branch_linear *l = &net->layer[i];
    const int h = net->hidden;
    const param *at = net->sheet.entry;
    dense()->multiply(dx, h, dy, l->out, l->backward, rows, l->out, h, 0);
    dense()->outer(sheet + at[l->weight].offset, dense_round(h), dy, l->out, x, h, l->out, h, rows);
    if (i != BRANCH_PAIR)
        layer_kernels_at(cpu_best())->sum_rows(sheet + at[l->weight + 1].offset, dy, rows, l->out);
}

void branch_net_forward(branch_work *w, const branch_net *net, const int32_t *decision)
{
    const int h = net->hidden, rows = topology_nodes(net->n_taxa), edges = rows - 1;
    const size_t node_size = (size_t)rows * (size_t)h, edge_size = (size_t)edges * (size_t)h;
    const edge_conv_rows *c = w->conv;
    set_tree(w, decision);
    for (int i = 0; i < net->n_taxa; i++)
        memcpy(c[0].pair + (ptrdiff_t)leaf_row(i) * 2 * h, net->leaf + (ptrdiff_t)i * 2 * h,
               2 * (size_t)h * sizeof(real));
    embedding_extend(c[0].pair, &w->plan, 2 * h);
    conv_forward(w, net, 0, BRANCH_CONV0_BIAS);
    layer_forward(c[1].pair, c[0].h, net, BRANCH_PAIR, rows);
    conv_forward(w, net, 1, BRANCH_CONV1_BIAS);
    layer_forward(w->node0, c[1].h, net, BRANCH_NODE0, rows);
    elu_forward(w->node0, w->node0, node_size);
    layer_forward(w->node1, w->node0, net, BRANCH_NODE1, rows);
    elu_forward(w->node1, w->node1, node_size);
    edge_max_forward(w->edge, w->node1, (const int32_t(*)[2])w->ends, edges, h);
    layer_forward(w->edge0, w->edge, net, BRANCH_EDGE0, edges);
    elu_forward(w->edge0, w->edge0, edge_size);
    layer_forward(w->out, w->edge0, net, BRANCH_EDGE1, edges);
}

void branch_net_backward(real *sheet, branch_work *w, const branch_net *net)
{
    const int h = net->hidden, rows = topology_nodes(net->n_taxa), edges = rows - 1;
    const size_t node_size = (size_t)rows * (size_t)h, edge_size = (size_t)edges * (size_t)h;
    const edge_conv_rows *c = w->conv;
    layer_backward(w->dedge, sheet, w->dout, w->edge0, net, BRANCH_EDGE1, edges);
    elu_backward(w->dedge, w->dedge, w->edge0, edge_size);
    layer_backward(w->dedge_in, sheet, w->dedge, w->edge, net, BRANCH_EDGE0, edges);
    memset(w->dnode, 0, node_size * sizeof(real));
    edge_max_backward(w->dnode, w->dedge_in, w->node1, (const int32_t(*)[2])w->ends, edges, h);
    elu_backward(w->dnode, w->dnode, w->node1, node_size);
    layer_backward(w->dnode_in, sheet, w->dnode, w->node0, net, BRANCH_NODE1, rows);
    elu_backward(w->dnode_in, w->dnode_in, w->node0, node_size);
    layer_backward(w->dnode, sheet, w->dnode_in, c[1].h, net, BRANCH_NODE0, rows);
    conv_backward(w->dnode, sheet, w, net, 1, BRANCH_CONV1_BIAS);
    layer_backward(w->dnode, sheet, w->dpair, c[0].h, net, BRANCH_PAIR, rows);
    conv_backward(w->dnode, sheet, w, net, 0, BRANCH_CONV0_BIAS);
    embedding_extend_backward(w->dpair, &w->plan, 2 * h);
    real *leaf = sheet + net->sheet.entry[BRANCH_CONV0_WEIGHT].offset;
    for (int i = 0; i < net->n_taxa; i++, leaf += 2 * h) {
        const real *row = w->dpair + (ptrdiff_t)leaf_row(i) * 2 * h;
#pragma omp simd
        for (int j = 0; j < 2 * h; j++)
            leaf[j] += row[j];
    }
}
