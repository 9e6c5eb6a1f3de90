#include "model/readout.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "model/network.h"
#include "tree/topology.h"

#include <stdlib.h>
#include <string.h>

int readout_scratch_init(readout_scratch *s, const panels *w)
{
    const size_t rows = READOUT_ROWS, d = (size_t)w->d;
    memset(s, 0, sizeof *s);
    s->p = mem_aligned(rows * 8 * d + DENSE_GRAIN, sizeof *s->p);
    if (!s->p)
        return ART_ERR_NOMEM;
    s->dp = s->p + rows * d;
    s->a = s->dp + rows * d;
    s->b = s->a + rows * 2 * d;
    s->c = s->b + rows * 2 * d;
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

/* In how many parts, about equal, so many rows are done. */
static int parts_of(int count)
{
    return (count + READOUT_ROWS - 1) / READOUT_ROWS;
}

/* p = max of the ends, tree by tree. */
static void pool_ends(real *p, const tile *t, size_t first, int rows, const panels *w)
{
    const size_t d = (size_t)w->d, last = first + (size_t)rows;
    for (size_t at = first; at < last;) {
        const tile_segment own = tile_segment_at(t, at, last);
        w->layers->edge_max(p + (at - first) * d, t->x + tile_node(t, own.tree) * d,
                            (const int32_t(*)[2])(t->ends + at), own.rows, w->d);
        at += (size_t)own.rows;
    }
}

static void forward_rows(tile *t, size_t first, int rows, const panels *w, readout_scratch *s)
{
    const int d = w->d;
    const size_t wide = 2 * (size_t)d, last = first + (size_t)rows;
    pool_ends(s->p, t, first, rows, w);
    w->dense->multiply(s->a, 2 * d, s->p, d, w->edge, rows, d, 2 * d, 0);
    for (size_t at = first; at < last;) {
        const tile_segment own = tile_segment_at(t, at, last);
        w->layers->add_bias(s->a + (at - first) * wide, t->shift + (size_t)own.tree * wide,
                            own.rows, 2 * d);
        at += (size_t)own.rows;
    }
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

/* The gradients of p and of the first layer's input go back to the trees of the rows; dx and
 * dshift begin with tree `base`. */
static void scatter(real *dx, real *dshift, const tile *t, size_t first, int rows, int base,
                    const panels *w, const readout_scratch *s)
{
    const size_t d = (size_t)w->d, last = first + (size_t)rows;
    for (size_t at = first; at < last;) {
        const tile_segment own = tile_segment_at(t, at, last);
        const size_t node = tile_node(t, own.tree);
        w->layers->sum_rows(dshift + (size_t)(own.tree - base) * 2 * d, s->c + (at - first) * 2 * d,
                            own.rows, 2 * w->d);
        w->layers->edge_max_back(dx + (node - tile_node(t, base)) * d, s->dp + (at - first) * d,
                                 t->x + node * d, (const int32_t(*)[2])(t->ends + at), own.rows,
                                 w->d);
        at += (size_t)own.rows;
    }
}

static void backward_rows(sums *g, const real *dlogit, const tile *t, size_t first, int rows,
                          const panels *w, readout_scratch *s)
{
    const int d = w->d, ld = dense_round(d), ld2 = dense_round(2 * d);
    const size_t wide = first * 2 * (size_t)d;
    real *y = s->a, *du2 = s->b, *du1 = s->c;
    w->layers->norm_elu_again(y, t->hat2 + wide, value(w, READ4_WEIGHT), value(w, READ4_BIAS), rows,
                              2 * d);
    w->dense->outer(g->read6, ld2, dlogit, 1, y, 2 * d, 1, 2 * d, rows);
    w->layers->spread(du2, dlogit, value(w, READ6_WEIGHT), rows, 2 * d);
    w->layers->norm_elu_back(du2, g->read4, g->read4_bias, du2, y, t->hat2 + wide, t->rstd2 + first,
                             value(w, READ4_WEIGHT), rows, 2 * d);
    w->layers->sum_rows(g->read3_bias, du2, rows, 2 * d);
    w->layers->norm_elu_again(y, t->hat1 + wide, value(w, READ1_WEIGHT), value(w, READ1_BIAS), rows,
                              2 * d);
    w->dense->outer(g->read3, ld2, du2, 2 * d, y, 2 * d, 2 * d, 2 * d, rows);
    w->dense->multiply(du1, 2 * d, du2, 2 * d, w->read3_back, rows, 2 * d, 2 * d, 0);
    w->layers->norm_elu_back(du1, g->read1, g->read1_bias, du1, y, t->hat1 + wide, t->rstd1 + first,
                             value(w, READ1_WEIGHT), rows, 2 * d);
    pool_ends(s->p, t, first, rows, w);
    w->dense->outer(g->edge, ld, du1, 2 * d, s->p, d, 2 * d, d, rows);
    w->dense->multiply(s->dp, d, du1, 2 * d, w->edge_back, rows, 2 * d, d, 0);
}

void readout_backward(sums *g, real *dx, real *dshift, const real *dlogit, const tile *t, int first,
                      int count, const panels *w, readout_scratch *s)
{
    const size_t begin = t->edge[first];
    const int rows = (int)(t->edge[first + count] - begin), parts = parts_of(rows);
    for (int part = 0; part < parts; part++) {
        const int from = rows * part / parts, to = rows * (part + 1) / parts;
        backward_rows(g, dlogit + from, t, begin + (size_t)from, to - from, w, s);
        scatter(dx, dshift, t, begin + (size_t)from, to - from, first, w, s);
    }
    for (int e = 0; e < rows; e++)
        g->read6_bias[0] += dlogit[e];
}
