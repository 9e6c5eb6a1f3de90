#include "branch/branch_edge.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "branch/length_scale.h"
#include "lik/transitions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 50 }; /* on one branch: bisection alone would be done by then */

int partial_store_init(partial_store *s, const branch_posterior *p, size_t count)
{
    memset(s, 0, sizeof *s);
    const size_t patterns = p->tiles * TILE;
    s->item = mem_zeros(count, sizeof *s->item);
    if (p->partial && count > SIZE_MAX / sizeof(double) / p->partial)
        goto fail;
    s->value = mem_aligned(count * p->partial, sizeof *s->value);
    s->shift = mem_aligned(count * patterns, sizeof *s->shift);
    if (!s->item || !s->value || !s->shift)
        goto fail;
    for (size_t i = 0; i < count; i++)
        s->item[i] =
            (partial){s->value + i * p->partial, s->shift + i * patterns, 0, p->model.n_categories};
    return ART_OK;
fail:
    partial_store_free(s);
    return ART_ERR_NOMEM;
}

void partial_store_free(partial_store *s)
{
    free(s->item);
    free(s->value);
    free(s->shift);
    memset(s, 0, sizeof *s);
}

size_t partial_store_memory(const branch_posterior *p, size_t count)
{
    return count *
           (p->partial * sizeof(double) + p->tiles * TILE * sizeof(int32_t) + sizeof(partial));
}

partial partial_of_taxon(const branch_posterior *p, int32_t taxon)
{
    return (partial){.value = p->tip + (size_t)taxon * p->tiles * 4 * TILE, .categories = 1};
}

/* Multiplies the patterns whose entries have become small by a power of two. */
static void rescale(partial *out, size_t first, size_t tiles)
{
    const size_t stride = (size_t)out->categories * 4;
    for (size_t k = first * TILE; k < (first + tiles) * TILE; k++) {
        double *row = out->value + k / TILE * stride * TILE + k % TILE, total = 0;
        for (size_t i = 0; i < stride; i++)
            total += row[i * TILE];
        if (!(total > 0 && total < PARTIAL_LOW))
            continue;
        int bits = -ilogb(total);
        for (size_t i = 0; i < stride; i++)
            row[i * TILE] = ldexp(row[i * TILE], bits);
        out->shift[k] += bits;
    }
}

/* out = x + y; NULL is all zeros. */
static void add_shifts(int32_t *restrict out, const int32_t *x, const int32_t *y, size_t n)
{
    if (x && y) {
        for (size_t k = 0; k < n; k++)
            out[k] = x[k] + y[k];
    } else if (x || y) {
        memcpy(out, x ? x : y, n * sizeof *out);
    } else {
        memset(out, 0, n * sizeof *out);
    }
}

void partial_join_part(partial *out, const partial *x, const double *px, const partial *y,
                       const double *py, const branch_posterior *p, size_t first, size_t tiles)
{
    double *value = out->value + first * 4 * TILE * (size_t)out->categories;
    double least = p->kernel->combine(value, partial_from(x, first, px), partial_from(y, first, py),
                                      out->categories, tiles);
    int low = least < PARTIAL_LOW;
    if (!(out->shifted | x->shifted | y->shifted | low))
        return;
    if (!out->shifted)
        memset(out->shift, 0, p->tiles * TILE * sizeof *out->shift);
    out->shifted = 1;
    add_shifts(out->shift + first * TILE, x->shifted ? x->shift + first * TILE : NULL,
               y->shifted ? y->shift + first * TILE : NULL, tiles * TILE);
    if (low)
        rescale(out, first, tiles);
}

void partial_join(partial *out, const partial *x, const double *px, const partial *y,
                  const double *py, const branch_posterior *p)
{
    out->shifted = 0;
    partial_join_part(out, x, px, y, py, p, 0, p->tiles);
}

int32_t partial_shift_between(const branch_posterior *p, const partial *x, const partial *y,
                              size_t k)
{
    int32_t shift = partial_shift(x, k) + partial_shift(y, k);
    const int limited = p->invariant && p->invariant[k] > 0;
    return limited && shift > PARTIAL_SHIFT_MOST ? PARTIAL_SHIFT_MOST : shift;
}

int branch_edge_init(branch_edge *e, const branch_posterior *p)
{
    memset(e, 0, sizeof *e);
    e->problem = p;
    e->coefficient = mem_aligned(p->tiles * (size_t)(1 + p->terms), TILE * sizeof(double));
    e->growth = mem_aligned(3 * (size_t)p->terms, sizeof *e->growth);
    e->invariant = mem_aligned(p->tiles, TILE * sizeof *e->invariant);
    if (e->coefficient && e->growth && e->invariant)
        return ART_OK;
    branch_edge_free(e);
    return ART_ERR_NOMEM;
}

void branch_edge_free(branch_edge *e)
{
    free(e->coefficient);
    free(e->growth);
    free(e->invariant);
    memset(e, 0, sizeof *e);
}

void branch_edge_set(branch_edge *e, const partial *x, const partial *y)
{
    const branch_posterior *p = e->problem;
    const double *invariant = p->invariant;
    e->x = x;
    e->y = y;
    if (invariant && (x->shifted || y->shifted)) {
        for (size_t k = 0; k < p->tiles * TILE; k++)
            e->invariant[k] = ldexp(invariant[k], partial_shift_between(p, x, y, k));
        invariant = e->invariant;
    }
    p->kernel->edge_likelihood(e->coefficient, partial_from(x, 0, NULL), partial_from(y, 0, NULL),
                               invariant, &p->model, p->tiles);
}

static partial_growth growth_at(branch_edge *e, double cbrt_length)
{
    const int terms = e->problem->terms;
    double *value = e->growth, *first = value + terms, *second = first + terms;
    transitions_growth(value, first, second, &e->problem->model, length_scale_length(cbrt_length));
    return (partial_growth){value, first, second};
}

double branch_edge_log_likelihood(branch_edge *e, double cbrt_length)
{
    const branch_posterior *p = e->problem;
    double sum = p->kernel->log_sum(e->coefficient, p->weight, growth_at(e, cbrt_length).value,
                                    p->terms, p->tiles);
    if (e->x->shifted || e->y->shifted) {
        double bits = 0;
        for (size_t k = 0; k < p->tiles * TILE; k++)
            bits += p->weight[k] * partial_shift_between(p, e->x, e->y, k);
        sum -= bits * M_LN2;
    }
    return sum;
}

void branch_edge_slopes(double out[2], branch_edge *e, double cbrt_length)
{
    const branch_posterior *p = e->problem;
    p->kernel->slopes(out, e->coefficient, p->weight, growth_at(e, cbrt_length), p->terms,
                      p->tiles);
}

double branch_edge_inspect(branch_edge *e, branch_state *b)
{
    const branch_prior prior = e->problem->prior;
    const double x = b->cbrt_length, length = length_scale_length(x);
    double l[2];
    branch_edge_slopes(l, e, x);
    double first = l[0] + branch_prior_first(prior, length, e->place), shared = 0;
    const double second = l[1] + branch_prior_second(prior, length, e->place);
    if (branch_prior_is_coupled(prior)) {
        const double total = e->rest + length;
        first += branch_prior_total_first(prior, total, e->problem->n_edges);
        shared = length_scale_slope_square(x) *
                 branch_prior_total_second(prior, total, e->problem->n_edges);
    }
    const double f_second = length_scale_second(x, first, second);
    b->slope = length_scale_first(x, first);
    b->curvature = fmax(-f_second, -0.25 * length_scale_log_jacobian_second(x));
    return f_second + shared;
}

/* f falls to -inf at both ends, so a maximum lies between the last point where it rose and the
 * last where it fell. A step that leaves these, or that the curvature does not support, is
 * replaced by halving the interval or by doubling or halving x. */
double branch_edge_improve(branch_edge *e, branch_state *b, double enough)
{
    double low = length_scale_x(BRANCH_SHORTEST), high = length_scale_x(BRANCH_LONGEST);
    double predicted = 0;
    const double small = e->problem->set.small_step;
    for (int i = 0; i < MOST_STEPS; i++) {
        const double second = branch_edge_inspect(e, b), x = b->cbrt_length;
        const double gain = b->slope * b->slope / (2 * fmax(fabs(second), 1e-300));
        if (i == 0)
            predicted = gain;
        if (b->slope > 0)
            low = x;
        else
            high = x;
        double next = second < 0 ? x - b->slope / second : b->slope > 0 ? 2 * x : x / 2;
        next = fmin(fmax(next, x / 4), 4 * x);
        if (next != x && !(next > low && next < high))
            next = sqrt(low * high);
        b->cbrt_length = next;
        if (second < 0 && (fabs(next - x) <= small * x || gain < enough))
            break;
    }
    return predicted;
}
