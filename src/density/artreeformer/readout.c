#include "density/artreeformer/readout.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "density/artreeformer/network.h"
#include "tree/topology.h"

#include <stdlib.h>
#include <string.h>

int readout_scratch_init(readout_scratch *s, const panels *w)
{
    const size_t rows = READOUT_ROWS, d = (size_t)w->d;
    memset(s, 0, sizeof *s);
    s->p = mem_aligned(rows * (12 * d + 2), sizeof *s->p);
    if (!s->p)
        return ART_ERR_NOMEM;
    s->dp = s->p + rows * d;
    s->a = s->dp + rows * d;
    s->b = s->a + rows * 2 * d;
    s->c = s->b + rows * 2 * d;
    s->hat1 = s->c + rows * 2 * d;
    s->hat2 = s->hat1 + rows * 2 * d;
    s->rstd1 = s->hat2 + rows * 2 * d;
    s->rstd2 = s->rstd1 + rows;
    return ART_OK;
}

void readout_scratch_free(readout_scratch *s)
{
    free(s->p);
    memset(s, 0, sizeof *s);
}

static const real *value(const panels *w, int index)
{
    return params_value(w->params, index);
}

/* The number of parts, about equal, in which the rows are processed. */
static int parts_of(int count)
{
    return (count + READOUT_ROWS - 1) / READOUT_ROWS;
}

/* p [d] = max of the ends of one edge row. */
static void pool_ends(real *p, const tile *t, size_t row, const panels *w)
{
    const real *x = t->x + tile_node(t, t->owner[row]) * (size_t)w->d;
    w->layers->edge_max(p, x, (const int32_t(*)[2])(t->ends + row), 1, w->d);
}

static void forward_rows(tile *t, size_t first, int rows, const panels *w, readout_scratch *s)
{
    const int d = w->d;
    const size_t wide = 2 * (size_t)d;
    for (int i = 0; i < rows; i++)
        pool_ends(s->p + (size_t)i * (size_t)d, t, first + (size_t)i, w);
    w->dense->multiply(s->a, 2 * d, s->p, d, w->edge, rows, d, 2 * d, 0);
    for (int i = 0; i < rows; i++)
        w->layers->add_bias(s->a + (size_t)i * wide,
                            t->shift + (size_t)t->owner[first + (size_t)i] * wide, 1, 2 * d);
    w->layers->norm_elu(s->b, t->hat1 + first * wide, t->rstd1 + first, s->a,
                        value(w, READ1_WEIGHT), value(w, READ1_BIAS), rows, 2 * d);
    w->dense->multiply(s->a, 2 * d, s->b, 2 * d, w->read3, rows, 2 * d, 2 * d, 0);
    w->layers->norm_elu(s->b, t->hat2 + first * wide, t->rstd2 + first, s->a,
                        value(w, READ4_WEIGHT), value(w, READ4_BIAS), rows, 2 * d);
    w->layers->dot(t->logit + first, s->b, value(w, READ6_WEIGHT), value(w, READ6_BIAS)[0], rows,
                   2 * d);
}

void readout_forward(tile *t, size_t first, int count, const panels *w, readout_scratch *s)
{
    const int parts = parts_of(count);
    for (int part = 0; part < parts; part++) {
        const int from = count * part / parts, to = count * (part + 1) / parts;
        forward_rows(t, first + (size_t)from, to - from, w, s);
    }
}

/* The rows of a backward pass as the forward pass left them. */
typedef struct kept_rows {
    const size_t *row; /* [count] */
    int count;
    const real *hat1, *hat2, *rstd1, *rstd2;
} kept_rows;

/* Where they are if they follow each other, otherwise copies side by side. */
static kept_rows find_rows(const tile *t, const size_t *row, int count, readout_scratch *s)
{
    const size_t wide = 2 * (size_t)t->d, first = row[0];
    if (row[count - 1] - first == (size_t)count - 1)
        return (kept_rows){.row = row,
                           .count = count,
                           .hat1 = t->hat1 + first * wide,
                           .hat2 = t->hat2 + first * wide,
                           .rstd1 = t->rstd1 + first,
                           .rstd2 = t->rstd2 + first};
    for (int i = 0; i < count; i++) {
        memcpy(s->hat1 + (size_t)i * wide, t->hat1 + row[i] * wide, wide * sizeof *s->hat1);
        memcpy(s->hat2 + (size_t)i * wide, t->hat2 + row[i] * wide, wide * sizeof *s->hat2);
        s->rstd1[i] = t->rstd1[row[i]];
        s->rstd2[i] = t->rstd2[row[i]];
    }
    return (kept_rows){row, count, s->hat1, s->hat2, s->rstd1, s->rstd2};
}

static void backward_layers(sums *g, const real *dlogit, kept_rows k, const panels *w,
                            readout_scratch *s)
{
    const int d = w->d, rows = k.count, ld = dense_round(d), ld2 = dense_round(2 * d);
    real *y = s->a, *du2 = s->b, *du1 = s->c;
    w->layers->norm_elu_again(y, k.hat2, value(w, READ4_WEIGHT), value(w, READ4_BIAS), rows, 2 * d);
    w->dense->outer(g->read6, ld2, dlogit, 1, y, 2 * d, 1, 2 * d, rows);
    w->layers->spread(du2, dlogit, value(w, READ6_WEIGHT), rows, 2 * d);
    w->layers->norm_elu_back(du2, g->read4, g->read4_bias, du2, y, k.hat2, k.rstd2,
                             value(w, READ4_WEIGHT), rows, 2 * d);
    w->layers->sum_rows(g->read3_bias, du2, rows, 2 * d);
    w->layers->norm_elu_again(y, k.hat1, value(w, READ1_WEIGHT), value(w, READ1_BIAS), rows, 2 * d);
    w->dense->outer(g->read3, ld2, du2, 2 * d, y, 2 * d, 2 * d, 2 * d, rows);
    w->dense->multiply(du1, 2 * d, du2, 2 * d, w->read3_back, rows, 2 * d, 2 * d, 0);
    w->layers->norm_elu_back(du1, g->read1, g->read1_bias, du1, y, k.hat1, k.rstd1,
                             value(w, READ1_WEIGHT), rows, 2 * d);
    w->dense->outer(g->edge, ld, du1, 2 * d, s->p, d, 2 * d, d, rows);
    w->dense->multiply(s->dp, d, du1, 2 * d, w->edge_back, rows, 2 * d, d, 0);
}

/* From the edges back to their trees. */
static void scatter(real *dx, real *dshift, kept_rows k, const tile *t, int base, const panels *w,
                    const readout_scratch *s)
{
    const size_t d = (size_t)w->d, first_node = tile_node(t, base);
    for (int i = 0; i < k.count; i++) {
        const int tree = t->owner[k.row[i]];
        const size_t node = tile_node(t, tree), at = (size_t)i;
        w->layers->sum_rows(dshift + (size_t)(tree - base) * 2 * d, s->c + at * 2 * d, 1, 2 * w->d);
        w->layers->edge_max_back(dx + (node - first_node) * d, s->dp + at * d, t->x + node * d,
                                 (const int32_t(*)[2])(t->ends + k.row[i]), 1, w->d);
    }
}

void readout_backward(sums *g, real *dx, real *dshift, const real *dlogit, const size_t *row,
                      int count, const tile *t, int base, const panels *w, readout_scratch *s)
{
    const int parts = parts_of(count);
    for (int part = 0; part < parts; part++) {
        const int from = count * part / parts, to = count * (part + 1) / parts;
        const kept_rows k = find_rows(t, row + from, to - from, s);
        for (int i = 0; i < k.count; i++)
            pool_ends(s->p + (size_t)i * (size_t)w->d, t, k.row[i], w);
        backward_layers(g, dlogit + from, k, w, s);
        scatter(dx, dshift, k, t, base, w, s);
    }
    for (int i = 0; i < count; i++)
        g->read6_bias[0] += dlogit[i];
}
