#include "branch/parameter_slopes.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "branch/length_scale.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 2 }; /* tiles that are processed together, so that they stay in the cache */

struct parameter_slopes {
    const branch_posterior *problem;
    double *passed; /* [CHUNK][C][S][TILE] P_v down[v] */
    double *factor; /* [CHUNK][TILE] n / L */
    double *common; /* [CHUNK][TILE] the same at the top branch, for all that are not scaled */
    double *pairs;  /* [E][C][S][S] the C of the opening comment, by edge number; of one block */
    double *memory; /* what the above are parts of */
    block_slopes *by_block; /* [K] */
};

/* S S, pairs of states. */
static size_t state_pairs(const data_block *b)
{
    return (size_t)b->n_states * (size_t)b->n_states;
}

static size_t vector_size(const data_block *b)
{
    return (size_t)CHUNK * (size_t)b->model.n_categories * (size_t)b->n_states * TILE;
}

static size_t pairs_size(const data_block *b, int n_edges)
{
    return (size_t)n_edges * (size_t)b->model.n_categories * state_pairs(b);
}

/* The most of any block. */
static void most_sizes(size_t *vector, size_t *pairs, const branch_posterior *p)
{
    *vector = *pairs = 0;
    for (const data_block *b = p->block; b < p->block + p->n_blocks; b++) {
        *vector = vector_size(b) > *vector ? vector_size(b) : *vector;
        *pairs = pairs_size(b, p->n_edges) > *pairs ? pairs_size(b, p->n_edges) : *pairs;
    }
}

/* Numbers of all the parts. */
static size_t memory_size(const branch_posterior *p)
{
    size_t vector, pairs;
    most_sizes(&vector, &pairs, p);
    return vector + 2 * CHUNK * TILE + pairs;
}

size_t parameter_slopes_memory(const branch_posterior *p)
{
    return sizeof(parameter_slopes) + memory_size(p) * sizeof(double) +
           (size_t)p->n_blocks * sizeof(block_slopes);
}

int parameter_slopes_create(parameter_slopes **out, const branch_posterior *p)
{
    *out = NULL;
    parameter_slopes *w = mem_zeros(1, sizeof *w);
    if (!w)
        return ART_ERR_NOMEM;
    size_t vector, pairs;
    most_sizes(&vector, &pairs, p);
    w->problem = p;
    w->memory = mem_aligned(memory_size(p), sizeof *w->memory);
    w->by_block = mem_zeros((size_t)p->n_blocks, sizeof *w->by_block);
    if (!w->memory || !w->by_block) {
        parameter_slopes_free(w);
        return ART_ERR_NOMEM;
    }
    w->passed = w->memory;
    w->factor = w->passed + vector;
    w->common = w->factor + CHUNK * TILE;
    w->pairs = w->common + CHUNK * TILE;
    *out = w;
    return ART_OK;
}

void parameter_slopes_free(parameter_slopes *w)
{
    if (!w)
        return;
    free(w->memory);
    free(w->by_block);
    free(w);
}

/* n / L of the patterns, scaled as the partials at both ends of the branch above v are. */
static void weigh(parameter_slopes *w, double *factor, const branch_solver *s, int32_t v,
                  tile_span at)
{
    const branch_posterior *p = w->problem;
    const data_block *b = at.block;
    const partial *down = &s->down[v], *outside = branch_outside(s, v);
    const int categories = b->model.n_categories;
    b->kernel->spread(w->passed, partial_from(down, b, at.first, branch_transition_at(s, v)),
                      categories, at.tiles);
    b->kernel->pair(factor, partial_from(outside, b, at.first, NULL),
                    (partial_operand){w->passed, NULL, categories}, &b->model, at.tiles);
    for (size_t k = 0; k < at.tiles * TILE; k++) {
        const size_t pattern = (b->first.tiles + at.first) * TILE + k;
        if (b->invariant && p->invariant[pattern] > 0)
            factor[k] +=
                ldexp(p->invariant[pattern], partial_shift_between(p, down, outside, pattern));
        factor[k] = p->weight[pattern] / factor[k];
    }
}

/* Adds the patterns of a span to the pairs of the branch above v. */
static void add_pairs(parameter_slopes *w, const branch_solver *s, int32_t v, const double *factor,
                      tile_span at)
{
    const data_block *b = at.block;
    const int categories = b->model.n_categories, states = b->n_states, rows = states * TILE;
    const size_t edge = (size_t)node_edge(v, w->problem->n_taxa);
    double *pairs = w->pairs + edge * (size_t)categories * state_pairs(b);
    for (size_t tile = 0; tile < at.tiles; tile++) {
        const partial_operand x = partial_from(branch_outside(s, v), b, at.first + tile, NULL);
        const partial_operand y = partial_from(&s->down[v], b, at.first + tile, NULL);
        for (int c = 0; c < categories; c++)
            b->kernel->dots(pairs + (size_t)c * state_pairs(b), (size_t)states,
                            x.value + (x.categories > 1 ? c : 0) * rows, states,
                            y.value + (y.categories > 1 ? c : 0) * rows, states, TILE,
                            factor + tile * TILE, TILE);
    }
}

/* Invariant sites, which are the same at every branch: by frequencies and p. */
static void add_invariant(const parameter_slopes *w, model_slopes *out, const double *factor,
                          const branch_solver *s, int32_t v, tile_span at)
{
    const branch_posterior *p = w->problem;
    const subst_model *m = &at.block->model;
    for (size_t k = 0; k < at.tiles * TILE; k++) {
        const size_t pattern = (at.block->first.tiles + at.first) * TILE + k;
        if (!(p->invariant[pattern] > 0))
            continue;
        const double scaled =
            ldexp(factor[k], partial_shift_between(p, &s->down[v], branch_outside(s, v), pattern));
        out->p_invariant += scaled * p->invariant[pattern] / m->p_invariant;
        for (int base = 0; base < 4; base++)
            if (p->common[pattern] >> base & 1)
                out->frequency[base] += scaled * m->p_invariant;
    }
}

static void sum_patterns(parameter_slopes *w, model_slopes *out, const branch_solver *s,
                         const data_block *b)
{
    const branch_posterior *p = w->problem;
    const int32_t top = s->tree.child[0][0];
    memset(w->pairs, 0, pairs_size(b, p->n_edges) * sizeof *w->pairs);
    for (size_t first = 0; first < b->size.tiles; first += CHUNK) {
        const tile_span at = tile_span_of(b, first, CHUNK);
        const int top_shifted = s->down[top].shifted;
        weigh(w, w->common, s, top, at);
        if (b->invariant)
            add_invariant(w, out, w->common, s, top, at);
        for (int32_t v = 1; v <= p->n_edges; v++) {
            const double *factor = w->common;
            if (v != top && (top_shifted || s->down[v].shifted || branch_outside(s, v)->shifted))
                weigh(w, w->factor, s, v, at), factor = w->factor;
            add_pairs(w, s, v, factor, at);
        }
    }
}

/* integral from 0 to t of exp(a s) exp(b (t - s)) ds = (exp(a t) - exp(b t)) / (a - b), as a
 * multiple of the greater exponential, which cannot overflow: a and b are not positive */
static double mixed_growth(double a, double b, double t)
{
    const double d = -fabs(a - b) * t;
    const double ratio = d > -1e-8 ? 1 + d / 2 : expm1(d) / d;
    return t * exp(fmax(a, b) * t) * ratio;
}

/* One branch in one category: D = d log L / d P of a branch of length t = r b there. Adds to
 * grown [4][4], the derivatives by Q in the basis of its eigenvectors; returns d log L / d t. */
static double add_category(double grown[4][4], const subst_model *m, double d[4][4], double t)
{
    double half[4][4], slope = 0;
    for (int a = 0; a < 4; a++) /* right^T D */
        for (int j = 0; j < 4; j++) {
            half[a][j] = 0;
            for (int i = 0; i < 4; i++)
                half[a][j] += m->right[i][a] * d[i][j];
        }
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++) {
            double entry = 0;
            for (int j = 0; j < 4; j++)
                entry += half[a][j] * m->left[b][j];
            grown[a][b] += entry * mixed_growth(m->eigenvalue[a], m->eigenvalue[b], t);
            if (a == b)
                slope += entry * m->eigenvalue[a] * exp(m->eigenvalue[a] * t);
        }
    return slope;
}

/* The root is at the top branch: there the frequencies and the weights of the categories enter. */
static void add_root(model_slopes *out, const subst_model *m, const double *pairs, double t)
{
    double p[4][4];
    subst_model_transition(p, m, t);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            const double entry = p[i][j] * pairs[i * 4 + j];
            out->frequency[i] += m->category_weight * entry;
            out->category_weight += m->frequency[i] * entry;
        }
}

/* One block: adds its part to by_length [E]. */
static void add_block(parameter_slopes *w, double *by_length, block_slopes *by,
                      const branch_solver *s, const data_block *block)
{
    const branch_posterior *p = w->problem;
    const subst_model *m = &block->model;
    model_slopes *out = &by->model;
    const int categories = m->n_categories;
    const int32_t top = s->tree.child[0][0];
    double grown[4][4] = {{0}};
    memset(by, 0, sizeof *by);
    sum_patterns(w, out, s, block);
    for (int e = 0; e < p->n_edges; e++) {
        const int32_t v = edge_node(e, p->n_taxa);
        const double length = length_scale_length(s->branch[v].cbrt_length);
        const double own_length = block->multiplier * length;
        double by_own = 0;
        for (int c = 0; c < categories; c++) {
            const double *pairs = w->pairs + ((size_t)e * (size_t)categories + (size_t)c) * 16;
            const double rate = m->category_rate[c];
            double d[4][4];
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++)
                    d[i][j] = m->category_weight * m->frequency[i] * pairs[i * 4 + j];
            const double slope = add_category(grown, m, d, rate * own_length);
            by_own += rate * slope;
            out->category_rate[c] += own_length * slope;
            if (v == top)
                add_root(out, m, pairs, rate * own_length);
        }
        by_length[e] += block->multiplier * by_own;
        by->multiplier += length * by_own;
    }
    for (int k = 0; k < 4; k++) /* back from the eigenvectors: left^T grown right^T */
        for (int l = 0; l < 4; l++)
            for (int a = 0; a < 4; a++)
                for (int b = 0; b < 4; b++)
                    out->rate_matrix[k][l] += m->left[a][k] * grown[a][b] * m->right[l][b];
}

const block_slopes *parameter_slopes_compute(parameter_slopes *w, double *by_length,
                                             const branch_solver *s)
{
    const branch_posterior *p = w->problem;
    memset(by_length, 0, (size_t)p->n_edges * sizeof *by_length);
    for (int k = 0; k < p->n_blocks; k++)
        add_block(w, by_length, &w->by_block[k], s, &p->block[k]);
    return w->by_block;
}
