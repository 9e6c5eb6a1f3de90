#include "density/edge_conv.h"

#include "density/edge_slot_rows.h"

#include <stddef.h>

extern const edge_conv_kernels edge_conv_kernels_generic;
#if defined(__x86_64__)
extern const edge_conv_kernels edge_conv_kernels_avx2, edge_conv_kernels_avx512;
#endif

const edge_conv_kernels *edge_conv_kernels_at(cpu_level level)
{
    switch (level) {
    case CPU_GENERIC:
        return &edge_conv_kernels_generic;
#if defined(__x86_64__)
    case CPU_AVX2:
        return &edge_conv_kernels_avx2;
    case CPU_AVX512:
        return &edge_conv_kernels_avx512;
#endif
    default:
        return NULL;
    }
}

static void link_slots(const edge_slots *s, int32_t slot, int32_t row, int32_t slot_above,
                       int32_t above)
{
    s->other[slot] = above;
    s->other[slot_above] = row;
    s->reverse[slot] = slot_above;
    s->reverse[slot_above] = slot;
}

/* The first slot of a row looks up (of row 0: down), the other two at its children. */
void edge_slots_set(const edge_slots *s, int32_t (*ends)[2], const embedding_plan *plan)
{
    for (int32_t row = 1; row < topology_nodes(plan->n_leaves); row++) {
        const int32_t above = plan->parent[row];
        const int32_t slot =
            above == 0 ? 0 : first_slot(above) + 1 + (plan->child[above][1] == row);
        link_slots(s, first_slot(row), row, slot, above);
        ends[row - 1][0] = row;
        ends[row - 1][1] = above;
    }
}

void edge_conv_forward(const edge_conv_rows *c, const edge_slots *s, const edge_conv_weights *w,
                       int n_leaves, int width)
{
    const edge_conv_kernels *k = edge_conv_kernels_at(cpu_best());
    const int rows = topology_nodes(n_leaves), slots = edge_slot_count(n_leaves);
    const size_t numbers = (size_t)rows * (size_t)width;
    k->sums(w->gain ? c->xhat : c->y, c->pair, s->other, w->bias, rows, width);
    if (w->gain)
        norm_forward(c->y, c->xhat, c->rstd, c->xhat, w->gain, w->shift, slots, width);
    k->max(c->once, c->y, rows, width);
    elu_forward(c->once, c->once, numbers);
    elu_forward(c->h, c->once, numbers);
}

void edge_conv_backward(real *dpair, const edge_conv_sums *sums, real *dh, real *dy,
                        const edge_conv_rows *c, const edge_slots *s, const edge_conv_weights *w,
                        int n_leaves, int width)
{
    const edge_conv_kernels *k = edge_conv_kernels_at(cpu_best());
    const int rows = topology_nodes(n_leaves), slots = edge_slot_count(n_leaves);
    const size_t numbers = (size_t)rows * (size_t)width;
    elu_backward(dh, dh, c->h, numbers);
    elu_backward(dh, dh, c->once, numbers);
    k->max_back(dy, dh, c->y, rows, width);
    if (w->gain)
        norm_backward(dy, sums->gain, sums->shift, dy, c->xhat, c->rstd, w->gain, slots, width);
    k->sums_back(dpair, sums->bias, dy, s->reverse, rows, width);
}

void edge_conv_fold_leaves(real *leaf, const real *weight, int in, int width)
{
    const ptrdiff_t n = in, h = width;
    for (ptrdiff_t j = 0; j < h; j++, weight += 2 * n)
        for (ptrdiff_t i = 0; i < n; i++) {
            leaf[i * 2 * h + j] = weight[i] - weight[n + i];
            leaf[i * 2 * h + h + j] = weight[n + i];
        }
}

void edge_conv_fold_layer(real *pair, const real *weight, int in, int width)
{
    const ptrdiff_t n = in, h = width;
    real *top = pair, *bottom = top + h * n;
    for (ptrdiff_t j = 0; j < h; j++, weight += 2 * n, top += n, bottom += n)
        for (ptrdiff_t i = 0; i < n; i++) {
            top[i] = weight[i] - weight[n + i];
            bottom[i] = weight[n + i];
        }
}

void edge_conv_unfold_leaves(real *dweight, const real *dleaf, int ld, int in, int width)
{
    const ptrdiff_t n = in, h = width, step = ld;
    for (ptrdiff_t j = 0; j < h; j++, dweight += 2 * n)
        for (ptrdiff_t i = 0; i < n; i++) {
            const real first = dleaf[i * step + j], second = dleaf[i * step + h + j];
            dweight[i] += first;
            dweight[n + i] += second - first;
        }
}

void edge_conv_unfold_layer(real *dweight, const real *dpair, int ld, int in, int width)
{
    const ptrdiff_t n = in, h = width, step = ld;
    const real *top = dpair, *bottom = top + h * step;
    for (ptrdiff_t j = 0; j < h; j++, dweight += 2 * n, top += step, bottom += step)
        for (ptrdiff_t i = 0; i < n; i++) {
            dweight[i] += top[i];
            dweight[n + i] += bottom[i] - top[i];
        }
}
