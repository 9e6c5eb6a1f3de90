#include "density/lognormal/branch_net.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "nn/layers.h"

#include <stdlib.h>
#include <string.h>

/* Letters: N taxa, H hidden, M = 2N-2 nodes (rows), E = 2N-3 edges, S = 4N-6 slots. A slot is a
 * neighbour as seen from a node; a leaf row has one, an inner row three, in the order of rows. */

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

/* All vectors have H numbers but the last bias; the weights' shapes are given. */
static int add_tensors(params *p, size_t h, const size_t conv0[2], const size_t conv1[2],
                       size_t columns)
{
    int status = ART_OK;
    for (int i = 0; i < BRANCH_TENSORS && status == ART_OK; i++) {
        const int is_weight = i == BRANCH_NODE0_WEIGHT || i == BRANCH_NODE1_WEIGHT ||
                              i == BRANCH_EDGE0_WEIGHT || i == BRANCH_EDGE1_WEIGHT;
        const size_t rows = i >= BRANCH_EDGE1_WEIGHT ? 2 : h;
        if (i == BRANCH_CONV0_WEIGHT)
            status = params_add(p, NAME[i], conv0[0], conv0[1]);
        else if (i == BRANCH_CONV1_WEIGHT)
            status = params_add(p, NAME[i], conv1[0], conv1[1]);
        else
            status = params_add(p, NAME[i], rows, is_weight ? columns : 0);
    }
    return status;
}

int branch_net_tensors(params *p, int n_taxa, int hidden)
{
    const size_t h = (size_t)hidden, n = (size_t)n_taxa;
    return add_tensors(p, h, (size_t[]){h, 2 * n}, (size_t[]){h, 2 * h}, h);
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
        add_tensors(&net->sheet, h, (size_t[]){n, 2 * h}, (size_t[]){2 * h, padded}, padded);
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
    const ptrdiff_t n = net->n_taxa, h = net->hidden;
    const real *w = params_value(net->p, BRANCH_CONV0_WEIGHT);
    for (ptrdiff_t j = 0; j < h; j++, w += 2 * n)
        for (ptrdiff_t i = 0; i < n; i++) {
            net->leaf[i * 2 * h + j] = w[i] - w[n + i];
            net->leaf[i * 2 * h + h + j] = w[n + i];
        }
    w = params_value(net->p, BRANCH_CONV1_WEIGHT);
    real *top = net->pair_weight, *bottom = top + h * h;
    for (ptrdiff_t j = 0; j < h; j++, w += 2 * h, top += h, bottom += h)
        for (ptrdiff_t i = 0; i < h; i++) {
            top[i] = w[i] - w[h + i];
            bottom[i] = w[h + i];
        }
    for (int i = 0; i < BRANCH_LAYERS; i++) {
        const branch_linear *l = &net->layer[i];
        const real *weight = i ? params_value(net->p, l->weight) : net->pair_weight;
        const real *bias = i ? params_value(net->p, l->weight + 1) : NULL;
        dense()->pack(l->forward, weight, h, 1, bias, net->hidden, l->out);
        dense()->pack(l->backward, weight, 1, h, NULL, l->out, net->hidden);
    }
}

/* The folded weight is (a - b, b), so da = d(first) and db = d(second) - d(first). */
void branch_net_unfold(params *p, const branch_net *net, const real *sheet)
{
    const ptrdiff_t n = net->n_taxa, h = net->hidden, padded = dense_round(net->hidden);
    const param *at = net->sheet.entry;
    for (int i = 0; i < BRANCH_TENSORS; i++) {
        const param *e = &p->entry[i];
        const real *from = sheet + at[i].offset;
        if (i != BRANCH_CONV0_WEIGHT && i != BRANCH_CONV1_WEIGHT)
            for (size_t r = 0; r < e->shape[0]; r++, from += at[i].shape[1])
                for (size_t c = 0; c < e->shape[1]; c++)
                    params_grad(p, i)[r * e->shape[1] + c] += from[c];
    }
    const real *leaf = sheet + at[BRANCH_CONV0_WEIGHT].offset;
    real *dw = params_grad(p, BRANCH_CONV0_WEIGHT);
    for (ptrdiff_t j = 0; j < h; j++, dw += 2 * n)
        for (ptrdiff_t i = 0; i < n; i++) {
            const real first = leaf[i * 2 * h + j], second = leaf[i * 2 * h + h + j];
            dw[i] += first;
            dw[n + i] += second - first;
        }
    const real *top = sheet + at[BRANCH_CONV1_WEIGHT].offset, *bottom = top + h * padded;
    dw = params_grad(p, BRANCH_CONV1_WEIGHT);
    for (ptrdiff_t j = 0; j < h; j++, dw += 2 * h, top += padded, bottom += padded)
        for (ptrdiff_t i = 0; i < h; i++) {
            dw[i] += top[i];
            dw[h + i] += bottom[i] - top[i];
        }
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
        branch_conv *c = &w->conv[i];
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
    w->other = mem_zeros(2 * s + 2 * e, sizeof *w->other);
    w->block = mem_aligned(lay_out(w, NULL, n, h), sizeof(real));
    if (!w->other || !w->block)
        return ART_ERR_NOMEM;
    w->reverse = w->other + s;
    w->ends = (int32_t(*)[2])(w->reverse + s);
    lay_out(w, w->block, n, h);
    return ART_OK;
}

void branch_work_free(branch_work *w)
{
    topology_free(&w->tree);
    embedding_plan_free(&w->plan);
    free(w->other);
    free(w->block);
    memset(w, 0, sizeof *w);
}

/* The first slot of a row: rows 0 and 1 are leaves, then leaf and inner row take turns. */
static inline int32_t first_slot(int32_t row)
{
    return row < 2 ? row : row % 2 ? 2 * row - 3 : 2 * row - 2;
}

static inline int row_is_leaf(int32_t row)
{
    return row < 3 || row % 2 == 0;
}

static void link_slots(branch_work *w, int32_t slot, int32_t row, int32_t slot_above, int32_t above)
{
    w->other[slot] = above;
    w->other[slot_above] = row;
    w->reverse[slot] = slot_above;
    w->reverse[slot_above] = slot;
}

/* The first slot of a row looks up (of row 0: down), the other two at its children. */
static void set_tree(branch_work *w, const int32_t *decision, int n_taxa)
{
    topology_build(&w->tree, decision);
    embedding_plan_set(&w->plan, &w->tree);
    for (int32_t row = 1; row < topology_nodes(n_taxa); row++) {
        int32_t above = w->plan.parent[row];
        int32_t slot = above == 0 ? 0 : first_slot(above) + 1 + (w->plan.child[above][1] == row);
        link_slots(w, first_slot(row), row, slot, above);
        w->ends[row - 1][0] = row;
        w->ends[row - 1][1] = above;
    }
}

/* The tensors of a convolution besides its weight follow each other from `first`: bias,
 * gain, shift. */
static void conv_forward(const branch_conv *c, const branch_work *w, const branch_net *net,
                         int first)
{
    const int h = net->hidden, rows = topology_nodes(net->n_taxa);
    const real *bias = params_value(net->p, first), *gain = params_value(net->p, first + 1);
    const real *shift = params_value(net->p, first + 2);
    for (int32_t u = 0; u < rows; u++) {
        const real *own = c->pair + (ptrdiff_t)u * 2 * h;
        const int32_t begin = first_slot(u), end = begin + (row_is_leaf(u) ? 1 : 3);
        for (int32_t s = begin; s < end; s++) {
            const real *theirs = c->pair + (ptrdiff_t)w->other[s] * 2 * h + h;
            real *x = c->xhat + (ptrdiff_t)s * h;
#pragma omp simd
            for (int j = 0; j < h; j++)
                x[j] = own[j] + theirs[j] + bias[j];
        }
    }
    norm_forward(c->y, c->xhat, c->rstd, c->xhat, gain, shift, 2 * rows - 2, h);
    for (int32_t u = 0; u < rows; u++) {
        const real *a = c->y + (ptrdiff_t)first_slot(u) * h, *b = a + h, *d = b + h;
        real *top = c->once + (ptrdiff_t)u * h;
        if (row_is_leaf(u))
            memcpy(top, a, (size_t)h * sizeof *top);
        else
#pragma omp simd
            for (int j = 0; j < h; j++) {
                const real ab = a[j] >= b[j] ? a[j] : b[j];
                top[j] = ab >= d[j] ? ab : d[j];
            }
    }
    elu_forward(c->once, c->once, (size_t)rows * (size_t)h);
    elu_forward(c->h, c->once, (size_t)rows * (size_t)h);
}

/* dy of the slots of a row: all of dmax goes to the largest y, the first one among equals. */
static void max_backward(real *dy, const real *dmax, const real *y, int h)
{
    const real *a = y, *b = y + h, *c = b + h;
    real *da = dy, *db = dy + h, *dc = db + h;
#pragma omp simd
    for (int j = 0; j < h; j++) {
        const real ab = a[j] >= b[j] ? a[j] : b[j];
        const real to_ab = ab >= c[j] ? dmax[j] : 0;
        const real to_a = a[j] >= b[j] ? to_ab : 0;
        da[j] = to_a;
        db[j] = to_ab - to_a;
        dc[j] = dmax[j] - to_ab;
    }
}

/* dh [rows][H] is used up; sets w->dpair. */
static void conv_backward(real *dh, real *sheet, const branch_conv *c, const branch_work *w,
                          const branch_net *net, int first)
{
    const int h = net->hidden, rows = topology_nodes(net->n_taxa), slots = 2 * rows - 2;
    real *dbias = sheet + net->sheet.entry[first].offset;
    real *dgain = sheet + net->sheet.entry[first + 1].offset;
    real *dshift = sheet + net->sheet.entry[first + 2].offset;
    const real *gain = params_value(net->p, first + 1);
    elu_backward(dh, dh, c->h, (size_t)rows * (size_t)h);
    elu_backward(dh, dh, c->once, (size_t)rows * (size_t)h);
    for (int32_t u = 0; u < rows; u++) {
        const ptrdiff_t slot = (ptrdiff_t)first_slot(u) * h;
        if (row_is_leaf(u))
            memcpy(w->dy + slot, dh + (ptrdiff_t)u * h, (size_t)h * sizeof *dh);
        else
            max_backward(w->dy + slot, dh + (ptrdiff_t)u * h, c->y + slot, h);
    }
    norm_backward(w->dy, dgain, dshift, w->dy, c->xhat, c->rstd, gain, slots, h);
    for (int32_t u = 0; u < rows; u++) {
        real *own = w->dpair + (ptrdiff_t)u * 2 * h, *theirs = own + h;
        const int32_t begin = first_slot(u), end = begin + (row_is_leaf(u) ? 1 : 3);
        memset(own, 0, 2 * (size_t)h * sizeof *own);
        for (int32_t s = begin; s < end; s++) {
            const real *seen = w->dy + (ptrdiff_t)s * h; /* u looks at v, and v at u */
            const real *seen_by = w->dy + (ptrdiff_t)w->reverse[s] * h;
#pragma omp simd
            for (int j = 0; j < h; j++) {
                own[j] += seen[j];
                theirs[j] += seen_by[j];
            }
        }
#pragma omp simd
        for (int j = 0; j < h; j++)
            dbias[j] += own[j];
    }
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
    const branch_conv *c = w->conv;
    set_tree(w, decision, net->n_taxa);
    for (int i = 0; i < net->n_taxa; i++)
        memcpy(c[0].pair + (ptrdiff_t)leaf_row(i) * 2 * h, net->leaf + (ptrdiff_t)i * 2 * h,
               2 * (size_t)h * sizeof(real));
    embedding_extend(c[0].pair, &w->plan, 2 * h);
    conv_forward(&c[0], w, net, BRANCH_CONV0_BIAS);
    layer_forward(c[1].pair, c[0].h, net, BRANCH_PAIR, rows);
    conv_forward(&c[1], w, net, BRANCH_CONV1_BIAS);
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
    const branch_conv *c = w->conv;
    layer_backward(w->dedge, sheet, w->dout, w->edge0, net, BRANCH_EDGE1, edges);
    elu_backward(w->dedge, w->dedge, w->edge0, edge_size);
    layer_backward(w->dedge_in, sheet, w->dedge, w->edge, net, BRANCH_EDGE0, edges);
    memset(w->dnode, 0, node_size * sizeof(real));
    edge_max_backward(w->dnode, w->dedge_in, w->node1, (const int32_t(*)[2])w->ends, edges, h);
    elu_backward(w->dnode, w->dnode, w->node1, node_size);
    layer_backward(w->dnode_in, sheet, w->dnode, w->node0, net, BRANCH_NODE1, rows);
    elu_backward(w->dnode_in, w->dnode_in, w->node0, node_size);
    layer_backward(w->dnode, sheet, w->dnode_in, c[1].h, net, BRANCH_NODE0, rows);
    conv_backward(w->dnode, sheet, &c[1], w, net, BRANCH_CONV1_BIAS);
    layer_backward(w->dnode, sheet, w->dpair, c[0].h, net, BRANCH_PAIR, rows);
    conv_backward(w->dnode, sheet, &c[0], w, net, BRANCH_CONV0_BIAS);
    embedding_extend_backward(w->dpair, &w->plan, 2 * h);
    real *leaf = sheet + net->sheet.entry[BRANCH_CONV0_WEIGHT].offset;
    for (int i = 0; i < net->n_taxa; i++, leaf += 2 * h) {
        const real *row = w->dpair + (ptrdiff_t)leaf_row(i) * 2 * h;
#pragma omp simd
        for (int j = 0; j < 2 * h; j++)
            leaf[j] += row[j];
    }
}
