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
    const size_t patterns = p->total.tiles * TILE, size = p->total.partial;
    s->item = mem_zeros(count, sizeof *s->item);
    if (size && count > SIZE_MAX / sizeof(double) / size)
        goto fail;
    s->value = mem_aligned(count * size, sizeof *s->value);
    s->shift = mem_aligned(count * patterns, sizeof *s->shift);
    if (!s->item || !s->value || !s->shift)
        goto fail;
    for (size_t i = 0; i < count; i++)
        s->item[i] = (partial){.value = s->value + i * size, .shift = s->shift + i * patterns};
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
    return count * (p->total.partial * sizeof(double) + p->total.tiles * TILE * sizeof(int32_t) +
                    sizeof(partial));
}

partial partial_of_taxon(const branch_posterior *p, int32_t taxon)
{
    return (partial){.value = p->tip + (size_t)taxon * p->total.leaf, .is_leaf = 1};
}

/* Of one tile, with `rows` entries for each of its patterns. */
static void rescale_tile(double *restrict value, int32_t *restrict shift, size_t rows)
{
    double total[TILE] = {0};
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < TILE; k++)
            total[k] += value[i * TILE + k];
    for (size_t k = 0; k < TILE; k++) {
        if (!(total[k] > 0 && total[k] < PARTIAL_LOW))
            continue;
        const int bits = -ilogb(total[k]);
        for (size_t i = 0; i < rows; i++)
            value[i * TILE + k] = ldexp(value[i * TILE + k], bits);
        shift[k] += bits;
    }
}

/* Multiplies the patterns whose entries have become small by a power of two. */
static void rescale(partial *out, tile_span at)
{
    const data_block *b = at.block;
    const size_t rows = (size_t)b->model.n_categories * (size_t)b->n_states;
    for (size_t tile = at.first; tile < at.first + at.tiles; tile++)
        rescale_tile(out->value + b->first.partial + tile * rows * TILE,
                     out->shift + (b->first.tiles + tile) * TILE, rows);
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
                       const double *py, const branch_posterior *p, tile_span at)
{
    const data_block *b = at.block;
    const int categories = b->model.n_categories;
    const size_t pattern = (b->first.tiles + at.first) * TILE;
    double *value =
        out->value + b->first.partial + at.first * TILE * (size_t)(categories * b->n_states);
    double least = b->kernel->combine(value, partial_from(x, b, at.first, px),
                                      partial_from(y, b, at.first, py), categories, at.tiles);
    int low = least < PARTIAL_LOW;
    if (!(out->shifted | x->shifted | y->shifted | low))
        return;
    if (!out->shifted)
        memset(out->shift, 0, p->total.tiles * TILE * sizeof *out->shift);
    out->shifted = 1;
    add_shifts(out->shift + pattern, x->shifted ? x->shift + pattern : NULL,
               y->shifted ? y->shift + pattern : NULL, at.tiles * TILE);
    if (low)
        rescale(out, at);
}

void partial_join(partial *out, const partial *x, const double *px, const partial *y,
                  const double *py, const branch_posterior *p)
{
    out->shifted = 0;
    for (int k = 0; k < p->n_blocks; k++)
        partial_join_part(out, x, px, y, py, p, tile_span_of(&p->block[k], 0, SIZE_MAX));
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
    e->coefficient = mem_aligned(p->total.coefficient, sizeof *e->coefficient);
    e->growth = mem_aligned(p->total.growth, sizeof *e->growth);
    e->invariant = mem_aligned(p->total.tiles, TILE * sizeof *e->invariant);
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

size_t branch_edge_memory(const branch_posterior *p)
{
    return (p->total.coefficient + p->total.tiles * TILE) * sizeof(double);
}

/* The likelihoods of a block's patterns as invariant sites, scaled as the partials x and y are;
 * NULL without +I. */
static const double *scaled_invariant(branch_edge *e, const data_block *b)
{
    const size_t from = b->first.tiles * TILE;
    if (!b->invariant || !(e->x->shifted || e->y->shifted))
        return b->invariant;
    for (size_t k = from; k < from + b->size.tiles * TILE; k++)
        e->invariant[k] =
            ldexp(e->problem->invariant[k], partial_shift_between(e->problem, e->x, e->y, k));
    return e->invariant + from;
}

void branch_edge_set(branch_edge *e, const partial *x, const partial *y)
{
    const branch_posterior *p = e->problem;
    e->x = x;
    e->y = y;
    for (int k = 0; k < p->n_blocks; k++) {
        const data_block *b = &p->block[k];
        b->kernel->edge_likelihood(e->coefficient + b->first.coefficient,
                                   partial_from(x, b, 0, NULL), partial_from(y, b, 0, NULL),
                                   scaled_invariant(e, b), &b->model, b->size.tiles);
    }
}

/* How the likelihoods of a block grow along the branch, by its own length m b of it. */
static partial_growth growth_at(branch_edge *e, const data_block *b, double cbrt_length)
{
    double *value = e->growth + b->first.growth, *first = value + b->terms;
    double *second = first + b->terms;
    transitions_growth(value, first, second, &b->model,
                       b->multiplier * length_scale_length(cbrt_length));
    return (partial_growth){value, first, second};
}

double branch_edge_log_likelihood(branch_edge *e, double cbrt_length)
{
    const branch_posterior *p = e->problem;
    double sum = 0;
    for (int k = 0; k < p->n_blocks; k++) {
        const data_block *b = &p->block[k];
        sum += b->kernel->log_sum(e->coefficient + b->first.coefficient, b->weight,
                                  growth_at(e, b, cbrt_length).value, b->terms, b->size.tiles);
    }
    if (e->x->shifted || e->y->shifted) {
        double bits = 0;
        for (size_t k = 0; k < p->total.tiles * TILE; k++)
            bits += p->weight[k] * partial_shift_between(p, e->x, e->y, k);
        sum -= bits * M_LN2;
    }
    return sum;
}

void branch_edge_slopes(double out[2], branch_edge *e, double cbrt_length)
{
    const branch_posterior *p = e->problem;
    out[0] = out[1] = 0;
    for (int k = 0; k < p->n_blocks; k++) {
        const data_block *b = &p->block[k];
        double own[2];
        b->kernel->slopes(own, e->coefficient + b->first.coefficient, b->weight,
                          growth_at(e, b, cbrt_length), b->terms, b->size.tiles);
        out[0] += b->multiplier * own[0];
        out[1] += b->multiplier * b->multiplier * own[1];
    }
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
