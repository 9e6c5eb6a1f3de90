#include "branch/branch_hessian.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "branch/length_scale.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK_BYTES = 1 << 18, /* of the vectors that go up the tree together: an L2 cache */
    MOST_CHUNK = 8,        /* tiles */
    BLOCK = 16,            /* branches whose products with those before are computed together */
};

struct branch_hessian {
    const branch_posterior *problem;
    size_t chunk;                   /* tiles of the present block that are processed together */
    size_t vector;                  /* entries of a partial on them; both at most .. */
    size_t most_chunk, most_vector; /* .. these of all blocks, for which there is memory */
    double *row;     /* [E][vector] Y, by place in the order children before parents */
    double *passed;  /* [E][vector] P_v down[v] */
    double *scratch; /* [vector] */
    double *ones;    /* [vector] */
    double *site;    /* [E][chunk][TILE] d log L / d b of the patterns */
    double *factor;  /* [chunk][TILE] weight / L of the patterns */
    double *slope;   /* [E][transition] derivatives of the transitions, by place */
    double *rate;    /* [transition] the same at length 0 */
    double *minus;   /* [tiles][TILE] minus the weights */
    double *half;    /* [tiles][TILE] half of that */
    double *pairs;   /* [E][E] sums for two branches, in one triangle or the other */
    double *same;    /* [E] for one branch twice */
    double *first;   /* [E] first derivatives */
    int32_t *place;  /* [nodes] of the branch above a node in the order */
    int32_t *begin;  /* [E] the branches below are begin .. place - 1 */
    double *memory;  /* what the doubles above are parts of */
};

/* The parts of the block of doubles; returns how many doubles they take. */
static size_t lay_out(branch_hessian *h, double *memory)
{
    const branch_posterior *p = h->problem;
    const size_t edges = (size_t)p->n_edges, patterns = h->most_chunk * TILE;
    const size_t vector = h->most_vector, all = p->total.tiles * TILE;
    const size_t terms = (p->total.transition + 7) / 8 * 8;
    const struct {
        double **part;
        size_t size;
    } table[] = {
        {&h->row, edges * vector},
        {&h->passed, edges * vector},
        {&h->scratch, vector},
        {&h->ones, vector},
        {&h->site, edges * patterns},
        {&h->factor, patterns},
        {&h->minus, all},
        {&h->half, all},
        {&h->slope, edges * terms},
        {&h->rate, terms},
        {&h->pairs, edges * edges},
        {&h->same, edges},
        {&h->first, edges},
    };
    size_t total = 0;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (memory)
            *table[i].part = memory + total;
        total += (table[i].size + 7) / 8 * 8; /* every part begins on a cache line */
    }
    return total;
}

/* Entries of a partial for each pattern. */
static size_t entries_per_pattern(const data_block *b)
{
    return (size_t)b->model.n_categories * (size_t)b->n_states;
}

static void take_block(branch_hessian *h, const data_block *b)
{
    const size_t edges = (size_t)h->problem->n_edges, tile = entries_per_pattern(b) * TILE;
    h->chunk = CHUNK_BYTES / (2 * edges * tile * sizeof(double));
    h->chunk = h->chunk < 1 ? 1 : h->chunk > MOST_CHUNK ? MOST_CHUNK : h->chunk;
    h->vector = h->chunk * tile;
}

static void set_sizes(branch_hessian *h, const branch_posterior *p)
{
    h->problem = p;
    for (int k = 0; k < p->n_blocks; k++) {
        take_block(h, &p->block[k]);
        h->most_chunk = h->chunk > h->most_chunk ? h->chunk : h->most_chunk;
        h->most_vector = h->vector > h->most_vector ? h->vector : h->most_vector;
    }
}

size_t branch_hessian_memory(const branch_posterior *p)
{
    branch_hessian h = {0};
    set_sizes(&h, p);
    return lay_out(&h, NULL) * sizeof(double) + 2 * (size_t)p->n_edges * sizeof(int32_t);
}

int branch_hessian_create(branch_hessian **out, const branch_posterior *p)
{
    *out = NULL;
    branch_hessian *h = mem_zeros(1, sizeof *h);
    if (!h)
        return ART_ERR_NOMEM;
    const size_t edges = (size_t)p->n_edges;
    set_sizes(h, p);
    h->memory = mem_aligned(lay_out(h, NULL), sizeof *h->memory);
    h->place = mem_zeros(edges + 1, sizeof *h->place);
    h->begin = mem_zeros(edges, sizeof *h->begin);
    if (!h->memory || !h->place || !h->begin) {
        branch_hessian_free(h);
        return ART_ERR_NOMEM;
    }
    lay_out(h, h->memory);
    for (size_t k = 0; k < h->most_vector; k++)
        h->ones[k] = 1;
    for (size_t k = 0; k < p->total.tiles * TILE; k++) {
        h->minus[k] = -p->weight[k];
        h->half[k] = h->minus[k] / 2;
    }
    *out = h;
    return ART_OK;
}

void branch_hessian_free(branch_hessian *h)
{
    if (!h)
        return;
    free(h->memory);
    free(h->place);
    free(h->begin);
    free(h);
}

/* Entries of a vector on some tiles. */
static size_t entries_of(tile_span at)
{
    return entries_per_pattern(at.block) * TILE * at.tiles;
}

/* The first of all patterns that is on them. */
static size_t first_pattern(tile_span at)
{
    return (at.block->first.tiles + at.first) * TILE;
}

static double *row_of(const branch_hessian *h, int32_t place)
{
    return h->row + (size_t)place * h->vector;
}

static double *passed_of(const branch_hessian *h, int32_t place)
{
    return h->passed + (size_t)place * h->vector;
}

static partial_operand vector_operand(const double *vector, tile_span at)
{
    return (partial_operand){vector, NULL, at.block->model.n_categories};
}

/* The likelihoods of the patterns, as they are scaled at v, make h->factor; the first
 * derivatives by the branch above v make h->site and h->first. */
static void differentiate(branch_hessian *h, const branch_solver *s, int32_t v, tile_span at)
{
    const branch_posterior *p = h->problem;
    const data_block *b = at.block;
    const partial_kernels *kernel = b->kernel;
    const int categories = b->model.n_categories;
    const int32_t place = h->place[v];
    const partial *down = &s->down[v], *outside = branch_outside(s, v);
    const double *weight = p->weight + first_pattern(at);
    const double *slope = h->slope + (size_t)place * p->total.transition;
    double *site = h->site + (size_t)place * h->chunk * TILE;
    const partial_operand above = partial_from(outside, b, at.first, NULL);
    kernel->spread(passed_of(h, place), partial_from(down, b, at.first, branch_transition_at(s, v)),
                   categories, at.tiles);
    kernel->pair(h->factor, above, vector_operand(passed_of(h, place), at), &b->model, at.tiles);
    for (size_t k = 0; b->invariant && k < at.tiles * TILE; k++) {
        size_t pattern = first_pattern(at) + k;
        if (p->invariant[pattern] > 0)
            h->factor[k] +=
                ldexp(p->invariant[pattern], partial_shift_between(p, down, outside, pattern));
    }
    kernel->spread(row_of(h, place), partial_from(down, b, at.first, slope), categories, at.tiles);
    kernel->pair(site, above, vector_operand(row_of(h, place), at), &b->model, at.tiles);
    double sum = 0;
    for (size_t k = 0; k < at.tiles * TILE; k++) {
        site[k] /= h->factor[k];
        sum += weight[k] * site[k];
        h->factor[k] = weight[k] / h->factor[k];
    }
    h->first[place] += sum;
}

/* The power of two by which down[v] was multiplied at v itself. */
static int32_t own_shift(const branch_solver *s, int32_t v, size_t k)
{
    const int32_t *child = s->tree.child[v];
    return partial_shift(&s->down[v], k) - partial_shift(&s->down[child[0]], k) -
           partial_shift(&s->down[child[1]], k);
}

/* vector *= 2^own_shift, pattern by pattern. */
static void rescale(double *vector, const branch_solver *s, int32_t v, tile_span at)
{
    const size_t entries = entries_per_pattern(at.block);
    for (size_t k = 0; k < at.tiles * TILE; k++) {
        int32_t shift = own_shift(s, v, first_pattern(at) + k);
        for (size_t i = 0; shift && i < entries; i++) {
            double *number = vector + (k / TILE * entries + i) * TILE + k % TILE;
            *number = ldexp(*number, shift);
        }
    }
}

/* At an inner node v, whose children's Y are known: the pairs of branches on different sides of v,
 * and the Y of all branches below v, propagated through the branch above v. */
static void pair_and_propagate(branch_hessian *h, const branch_solver *s, int32_t v, tile_span at)
{
    const branch_posterior *p = h->problem;
    const data_block *block = at.block;
    const partial_kernels *kernel = block->kernel;
    const int categories = block->model.n_categories;
    const partial_operand above =
        partial_from(branch_outside(s, v), block, at.first, branch_transition_at(s, v));
    const int32_t a = h->place[s->tree.child[v][0]], b = h->place[s->tree.child[v][1]];
    const int shifted = s->down[v].shifted;
    kernel->spread(h->scratch, above, categories, at.tiles);
    kernel->weigh(h->scratch, h->factor, &block->model, at.tiles);
    if (shifted) {
        rescale(h->scratch, s, v, at);
        rescale(passed_of(h, a), s, v, at);
        rescale(passed_of(h, b), s, v, at);
    }
    const int32_t from_a = h->begin[a], from_b = h->begin[b];
    kernel->dots(h->pairs + (size_t)from_a * (size_t)p->n_edges + from_b, (size_t)p->n_edges,
                 row_of(h, from_a), a - from_a + 1, row_of(h, from_b), b - from_b + 1, h->vector,
                 h->scratch, entries_of(at));
    for (int32_t i = from_a; i <= a; i++)
        kernel->propagate(row_of(h, i), passed_of(h, b), above.transition, categories, at.tiles);
    for (int32_t i = from_b; i <= b; i++)
        kernel->propagate(row_of(h, i), passed_of(h, a), above.transition, categories, at.tiles);
}

/* The branch above v with itself and with all below it. */
static void pair_with_below(branch_hessian *h, const branch_solver *s, int32_t v, tile_span at)
{
    const data_block *b = at.block;
    const size_t edges = (size_t)h->problem->n_edges, entries = entries_of(at);
    const int32_t place = h->place[v], begin = h->begin[place];
    b->kernel->spread(h->scratch, partial_from(branch_outside(s, v), b, at.first, h->rate),
                      b->model.n_categories, at.tiles);
    b->kernel->weigh(h->scratch, h->factor, &b->model, at.tiles);
    b->kernel->dots(h->same + place, 1, row_of(h, place), 1, h->scratch, 1, h->vector, h->ones,
                    entries);
    b->kernel->dots(h->pairs + (size_t)place * edges + begin, edges, h->scratch, 1,
                    row_of(h, begin), place - begin, h->vector, h->ones, entries);
}

/* -sum weight (d log L / d b_i) (d log L / d b_j): below the diagonal, and half of it on both sides
 * within the blocks along it. */
static void add_squares(branch_hessian *h, tile_span at)
{
    const partial_kernels *kernel = at.block->kernel;
    const int edges = h->problem->n_edges;
    const size_t stride = (size_t)edges, pitch = h->chunk * TILE, from = first_pattern(at);
    for (int i = 0; i < edges; i += BLOCK) {
        const int rows = edges - i < BLOCK ? edges - i : BLOCK;
        const double *block = h->site + (size_t)i * pitch;
        double *out = h->pairs + (size_t)i * stride;
        kernel->dots(out, stride, block, rows, h->site, i, pitch, h->minus + from, at.tiles * TILE);
        kernel->dots(out + i, stride, block, rows, block, rows, pitch, h->half + from,
                     at.tiles * TILE);
    }
}

/* out [transition]: the derivatives of the transitions of a branch, in all blocks. */
static void fill_derivatives(double *out, const branch_posterior *p, double length)
{
    for (int k = 0; k < p->n_blocks; k++)
        data_block_derivatives(out + p->block[k].first.transition, &p->block[k], length);
}

static void prepare(branch_hessian *h, const branch_solver *s)
{
    const branch_posterior *p = h->problem;
    const size_t edges = (size_t)p->n_edges;
    fill_derivatives(h->rate, p, 0);
    for (int32_t i = 0; i < p->n_edges; i++) {
        int32_t v = s->order[i];
        h->place[v] = i;
        h->begin[i] = v < p->n_taxa ? i : h->begin[h->place[s->tree.child[v][0]]];
        fill_derivatives(h->slope + (size_t)i * p->total.transition, p,
                         length_scale_length(s->branch[v].cbrt_length));
    }
    memset(h->pairs, 0, edges * edges * sizeof *h->pairs);
    memset(h->same, 0, edges * sizeof *h->same);
    memset(h->first, 0, edges * sizeof *h->first);
}

/* From derivatives of the log-likelihood by b to those of f by x (length_scale.h). What the prior
 * says of single branches enters the diagonal alone, what it says of the tree length every entry.
 */
static void change_variables(double *gradient, double *hessian, const branch_hessian *h,
                             const branch_solver *s)
{
    const branch_posterior *p = h->problem;
    const int32_t edges = p->n_edges;
    double total_first = 0, total_second = 0;
    if (branch_prior_is_coupled(p->prior)) {
        const double total = branch_solver_length(s);
        total_first = branch_prior_total_first(p->prior, total, edges);
        total_second = branch_prior_total_second(p->prior, total, edges);
    }
    for (int32_t i = 0; i < edges; i++) {
        const int32_t v = s->order[i], row = node_edge(v, p->n_taxa);
        const double x = s->branch[v].cbrt_length, length = length_scale_length(x);
        const branch_place place = branch_place_of(topology_is_external(&s->tree, v));
        const double first =
            h->first[i] + branch_prior_first(p->prior, length, place) + total_first;
        gradient[row] = length_scale_first(x, first);
        for (int32_t j = 0; j < edges; j++) {
            const int32_t u = s->order[j], column = node_edge(u, p->n_taxa);
            double second = h->pairs[i * edges + j] + h->pairs[j * edges + i] + total_second;
            if (i == j)
                second += h->same[i] + branch_prior_second(p->prior, length, place);
            double value =
                length_scale_slope(x) * length_scale_slope(s->branch[u].cbrt_length) * second;
            if (i == j)
                value += length_scale_curvature(x) * first + length_scale_log_jacobian_second(x);
            hessian[row * edges + column] = value;
        }
    }
}

/* Adds the patterns on some tiles. */
static void add_tiles(branch_hessian *h, const branch_solver *s, tile_span at)
{
    const branch_posterior *p = h->problem;
    for (int32_t i = 0; i < p->n_edges; i++) {
        int32_t v = s->order[i];
        differentiate(h, s, v, at);
        if (v >= p->n_taxa)
            pair_and_propagate(h, s, v, at);
        pair_with_below(h, s, v, at);
    }
    add_squares(h, at);
}

int branch_hessian_compute(branch_hessian *h, double *gradient, double *hessian,
                           const branch_solver *s)
{
    const branch_posterior *p = h->problem;
    prepare(h, s);
    for (const data_block *b = p->block; b < p->block + p->n_blocks; b++) {
        take_block(h, b);
        for (size_t first = 0; first < b->size.tiles; first += h->chunk) {
            if (interrupt_is_due(s->stop))
                return ART_ERR_STOPPED;
            add_tiles(h, s, tile_span_of(b, first, h->chunk));
        }
    }
    change_variables(gradient, hessian, h, s);
    return ART_OK;
}
