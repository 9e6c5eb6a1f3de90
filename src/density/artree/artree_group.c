#include "density/artree/artree_group.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

int artree_scratch_init(artree_scratch *s, const artree_weights *w, size_t nodes)
{
    const size_t d = (size_t)w->d, slots = (size_t)edge_slot_count(w->n_taxa);
    memset(s, 0, sizeof *s);
    int status = topology_init(&s->tree, w->n_taxa);
    if (!status)
        status = embedding_plan_init(&s->plan, w->n_taxa);
    if (status)
        return status;
    s->path = mem_zeros((size_t)w->n_taxa, sizeof *s->path);
    s->block = mem_aligned(nodes * (12 * d + 1) + slots * d, sizeof *s->block);
    if (!s->path || !s->block)
        return ART_ERR_NOMEM;
    s->pair = s->block;
    s->h = s->pair + nodes * 2 * d;
    s->product = s->h + nodes * d;
    s->dgate = s->product + nodes * 3 * d;
    s->a = s->dgate + nodes * 3 * d;
    s->b = s->a + nodes * d;
    s->dnext = s->b + nodes * d;
    s->dslot = s->dnext + nodes * d;
    s->dlogit = s->dslot + slots * d;
    return ART_OK;
}

void artree_scratch_free(artree_scratch *s)
{
    topology_free(&s->tree);
    embedding_plan_free(&s->plan);
    free(s->path);
    free(s->block);
    memset(s, 0, sizeof *s);
}

/* Sizes of a group. */
typedef struct extent {
    int n;               /* leaves */
    size_t nodes, edges; /* of a tree */
    int rows, lines;     /* node rows and edge rows of all */
} extent;

static extent extent_of(const artree_group *g)
{
    const int n = g->trie->entry[g->first].leaves;
    const int nodes = topology_nodes(n), edges = topology_edges(n);
    return (extent){n, (size_t)nodes, (size_t)edges, g->count * nodes, g->count * edges};
}

/* The convolution's tensors besides its weight follow each other. */
static edge_conv_weights conv_weights(const artree_weights *w, int weight)
{
    return (edge_conv_weights){artree_value(w, weight + 1), artree_value(w, weight + 2),
                               artree_value(w, weight + 3)};
}

static edge_conv_sums conv_sums(const artree_weights *w, real *sheet, int weight)
{
    return (edge_conv_sums){artree_sum(w, sheet, weight + 1), artree_sum(w, sheet, weight + 2),
                            artree_sum(w, sheet, weight + 3)};
}

static void multiply(real *y, const real *x, const artree_weights *w, enum artree_layer layer,
                     int rows)
{
    const artree_linear *l = &w->layer[layer];
    w->dense->multiply(y, l->out, x, w->d, l->forward, rows, w->d, l->out, 0);
}

/* dx = dy W, or dx += dy W, and the gradient of the weight. */
static void multiply_back(real *dx, real *sheet, const real *dy, const real *x,
                          const artree_weights *w, enum artree_layer layer, int rows, int add)
{
    const artree_linear *l = &w->layer[layer];
    w->dense->outer(artree_sum(w, sheet, l->weight), dense_round(w->d), dy, l->out, x, w->d, l->out,
                    w->d, rows);
    w->dense->multiply(dx, w->d, dy, l->out, l->backward, rows, l->out, w->d, add);
}

/* y = ELU(norm(x)), for the norm whose gain is tensor `gain` and whose bias is the next. */
static void activate(real *y, real *hat, real *rstd, const real *x, const artree_weights *w,
                     int gain, int rows)
{
    w->layers->norm_elu(y, hat, rstd, x, artree_value(w, gain), artree_value(w, gain + 1), rows,
                        w->d);
}

static void activate_again(real *y, const real *hat, const artree_weights *w, int gain, int rows)
{
    w->layers->norm_elu_again(y, hat, artree_value(w, gain), artree_value(w, gain + 1), rows, w->d);
}

static void activate_back(real *dx, real *sheet, const real *y, const real *hat, const real *rstd,
                          const artree_weights *w, int gain, int rows)
{
    w->layers->norm_elu_back(dx, artree_sum(w, sheet, gain), artree_sum(w, sheet, gain + 1), dx, y,
                             hat, rstd, artree_value(w, gain), rows, w->d);
}

static void set_tree(artree_scratch *s, const trie *t, int32_t entry)
{
    trie_tree(&s->tree, t, entry, s->path);
    embedding_plan_set(&s->plan, &s->tree);
}

/* The first convolution of tree i: its pairs are the harmonic extension of the leaves' pairs. */
static void embed(const artree_group *g, int i, extent x, const artree_weights *w,
                  artree_scratch *s)
{
    const size_t d = (size_t)w->d, own = (size_t)i * x.nodes;
    const size_t node = g->node + own, edge = g->edge + (size_t)i * x.edges;
    const edge_slots slots = artree_tile_slots(g->tile, edge);
    const edge_conv_weights weights = conv_weights(w, ARTREE_CONV0_WEIGHT);
    edge_conv_rows rows = artree_tile_conv(g->tile, 0, node, edge);
    set_tree(s, g->trie, g->first + i);
    edge_slots_set(&slots, g->tile->ends + edge, &s->plan);
    rows.pair = s->pair + own * 2 * d;
    for (int taxon = 0; taxon < x.n; taxon++)
        memcpy(rows.pair + (size_t)leaf_row(taxon) * 2 * d, w->leaf + (size_t)taxon * 2 * d,
               2 * d * sizeof *rows.pair);
    w->embed->extend(rows.pair, &s->plan, 2 * w->d);
    edge_conv_forward(&rows, &slots, &weights, x.n, w->d);
}

static void convolve(const artree_group *g, int i, extent x, const artree_weights *w,
                     const artree_scratch *s)
{
    const size_t own = (size_t)i * x.nodes, edge = g->edge + (size_t)i * x.edges;
    const edge_slots slots = artree_tile_slots(g->tile, edge);
    const edge_conv_weights weights = conv_weights(w, ARTREE_CONV1_WEIGHT);
    edge_conv_rows rows = artree_tile_conv(g->tile, 1, g->node + own, edge);
    rows.pair = s->pair + own * 2 * (size_t)w->d;
    edge_conv_forward(&rows, &slots, &weights, x.n, w->d);
}

/* s->h: the states that the entries have from their parents. The last two rows are new nodes. */
static void gather_states(const artree_group *g, extent x, const artree_weights *w,
                          artree_scratch *s)
{
    const size_t d = (size_t)w->d, old = x.n == 3 ? 0 : x.nodes - 2;
    for (int i = 0; i < g->count; i++) {
        real *h = s->h + (size_t)i * x.nodes * d;
        const int32_t parent = g->trie->entry[g->first + i].parent;
        if (old)
            memcpy(h, trie_state(g->trie, parent), old * d * sizeof *h);
        memset(h + old * d, 0, (x.nodes - old) * d * sizeof *h);
    }
}

static void recur(const artree_group *g, extent x, const artree_weights *w, artree_scratch *s)
{
    const size_t d = (size_t)w->d;
    artree_tile *t = g->tile;
    real *c_n = t->c_n + g->node * d;
    gather_states(g, x, w, s);
    multiply(t->gate + g->node * 3 * d, t->x[1] + g->node * d, w, ARTREE_IN, x.rows);
    multiply(s->product, s->h, w, ARTREE_STATE, x.rows);
    for (int i = 0; i < x.rows; i++)
        memcpy(c_n + (size_t)i * d, s->product + ((size_t)i * 3 + 2) * d, d * sizeof *c_n);
    w->gru->gates(trie_state(g->trie, g->first), t->gate + g->node * 3 * d, s->product, s->h,
                  x.rows, w->d);
}

static void pool_nodes(const artree_group *g, extent x, const artree_weights *w, artree_scratch *s)
{
    const size_t d = (size_t)w->d, step = (size_t)x.n - 3;
    artree_tile *t = g->tile;
    multiply(s->a, trie_state(g->trie, g->first), w, ARTREE_POOL0, x.rows);
    w->layers->add_bias(s->a, w->pool_moment + step * d, x.rows, w->d);
    activate(s->b, t->hat1 + g->node * d, t->rstd1 + g->node, s->a, w, ARTREE_POOL1_WEIGHT, x.rows);
    multiply(s->a, s->b, w, ARTREE_POOL3, x.rows);
    activate(t->y + g->node * d, t->hat2 + g->node * d, t->rstd2 + g->node, s->a, w,
             ARTREE_POOL4_WEIGHT, x.rows);
}

/* to [edges][d]: the maximum of the two ends. */
static void pool_ends(real *to, const artree_group *g, extent x, const artree_weights *w)
{
    const size_t d = (size_t)w->d;
    for (size_t i = 0; i < (size_t)g->count; i++)
        w->layers->edge_max(to + i * x.edges * d, g->tile->y + (g->node + i * x.nodes) * d,
                            (const int32_t(*)[2])(g->tile->ends + g->edge + i * x.edges),
                            (int)x.edges, w->d);
}

static void read_edges(const artree_group *g, extent x, const artree_weights *w, artree_scratch *s)
{
    const size_t d = (size_t)w->d, step = (size_t)x.n - 3;
    artree_tile *t = g->tile;
    pool_ends(s->b, g, x, w);
    multiply(s->a, s->b, w, ARTREE_EDGE0, x.lines);
    w->layers->add_bias(s->a, w->edge_moment + step * d, x.lines, w->d);
    activate(s->b, t->hat + g->edge * d, t->hat_rstd + g->edge, s->a, w, ARTREE_EDGE1_WEIGHT,
             x.lines);
    w->layers->dot(t->logit + g->edge, s->b, artree_value(w, ARTREE_EDGE3_WEIGHT),
                   artree_value(w, ARTREE_EDGE3_BIAS)[0], x.lines, w->d);
}

void artree_group_forward(const artree_group *g, const artree_weights *w, artree_scratch *s)
{
    const extent x = extent_of(g);
    for (int i = 0; i < g->count; i++)
        embed(g, i, x, w, s);
    multiply(s->pair, g->tile->x[0] + g->node * (size_t)w->d, w, ARTREE_PAIR, x.rows);
    for (int i = 0; i < g->count; i++)
        convolve(g, i, x, w, s);
    recur(g, x, w, s);
    pool_nodes(g, x, w, s);
    read_edges(g, x, w, s);
    for (int i = 0; i < g->count; i++)
        trie_set(g->trie, g->first + i, g->tile->logit + g->edge + (size_t)i * x.edges);
}

/* dy [nodes][d] from s->dlogit. du and scratch [nodes][d]. */
static void read_edges_back(real *dy, real *du, real *scratch, real *sheet, const artree_group *g,
                            extent x, const artree_weights *w, const artree_scratch *s)
{
    const size_t d = (size_t)w->d, step = (size_t)x.n - 3;
    const artree_tile *t = g->tile;
    const real *hat = t->hat + g->edge * d;
    real *bias = artree_sum(w, sheet, ARTREE_EDGE3_BIAS);
    activate_again(scratch, hat, w, ARTREE_EDGE1_WEIGHT, x.lines);
    w->dense->outer(artree_sum(w, sheet, ARTREE_EDGE3_WEIGHT), dense_round(w->d), s->dlogit, 1,
                    scratch, w->d, 1, w->d, x.lines);
    for (int i = 0; i < x.lines; i++)
        bias[0] += s->dlogit[i];
    w->layers->spread(du, s->dlogit, artree_value(w, ARTREE_EDGE3_WEIGHT), x.lines, w->d);
    activate_back(du, sheet, scratch, hat, t->hat_rstd + g->edge, w, ARTREE_EDGE1_WEIGHT, x.lines);
    w->layers->sum_rows(artree_sum(w, sheet, ARTREE_EDGE_MOMENT) + step * d, du, x.lines, w->d);
    pool_ends(scratch, g, x, w);
    multiply_back(dy, sheet, du, scratch, w, ARTREE_EDGE0, x.lines, 0);
    memcpy(du, dy, (size_t)x.lines * d * sizeof *du);
    memset(dy, 0, (size_t)x.rows * d * sizeof *dy);
    for (size_t i = 0; i < (size_t)g->count; i++)
        w->layers->edge_max_back(
            dy + i * x.nodes * d, du + i * x.edges * d, t->y + (g->node + i * x.nodes) * d,
            (const int32_t(*)[2])(t->ends + g->edge + i * x.edges), (int)x.edges, w->d);
}

/* Adds to s->dnext, given dy, which is used up. scratch [nodes][d]. */
static void pool_nodes_back(real *dy, real *scratch, real *sheet, const artree_group *g, extent x,
                            const artree_weights *w, artree_scratch *s)
{
    const size_t d = (size_t)w->d, step = (size_t)x.n - 3;
    const artree_tile *t = g->tile;
    const real *hat1 = t->hat1 + g->node * d;
    real *du = s->pair;
    activate_back(dy, sheet, t->y + g->node * d, t->hat2 + g->node * d, t->rstd2 + g->node, w,
                  ARTREE_POOL4_WEIGHT, x.rows);
    w->layers->sum_rows(artree_sum(w, sheet, ARTREE_POOL3_BIAS), dy, x.rows, w->d);
    activate_again(scratch, hat1, w, ARTREE_POOL1_WEIGHT, x.rows);
    multiply_back(du, sheet, dy, scratch, w, ARTREE_POOL3, x.rows, 0);
    activate_back(du, sheet, scratch, hat1, t->rstd1 + g->node, w, ARTREE_POOL1_WEIGHT, x.rows);
    w->layers->sum_rows(artree_sum(w, sheet, ARTREE_POOL_MOMENT) + step * d, du, x.rows, w->d);
    multiply_back(s->dnext, sheet, du, trie_state(g->trie, g->first), w, ARTREE_POOL0, x.rows, 1);
}

/* Sets dstate and dx [nodes][d], the gradient of the second convolution. */
static void recur_back(real *dstate, real *dx, real *sheet, const artree_group *g, extent x,
                       const artree_weights *w, artree_scratch *s)
{
    const size_t d = (size_t)w->d;
    const artree_tile *t = g->tile;
    gather_states(g, x, w, s);
    w->gru->gates_back(s->dgate, s->product, dstate, s->dnext, t->gate + g->node * 3 * d,
                       t->c_n + g->node * d, s->h, x.rows, w->d);
    w->layers->sum_rows(artree_sum(w, sheet, ARTREE_GRU_IN_BIAS), s->dgate, x.rows, 3 * w->d);
    w->layers->sum_rows(artree_sum(w, sheet, ARTREE_GRU_STATE_BIAS), s->product, x.rows, 3 * w->d);
    multiply_back(dx, sheet, s->dgate, t->x[1] + g->node * d, w, ARTREE_IN, x.rows, 0);
    multiply_back(dstate, sheet, s->product, s->h, w, ARTREE_STATE, x.rows, 1);
}

/* s->pair of tree i becomes the gradient of its pairs, given dx, which is used up. */
static void conv_back(real *dx, real *sheet, const artree_group *g, int i, int conv, int weight,
                      extent x, const artree_weights *w, const artree_scratch *s)
{
    const size_t d = (size_t)w->d, own = (size_t)i * x.nodes;
    const size_t edge = g->edge + (size_t)i * x.edges;
    const edge_slots slots = artree_tile_slots(g->tile, edge);
    const edge_conv_weights weights = conv_weights(w, weight);
    const edge_conv_sums sums = conv_sums(w, sheet, weight);
    const edge_conv_rows rows = artree_tile_conv(g->tile, conv, g->node + own, edge);
    edge_conv_backward(s->pair + own * 2 * d, &sums, dx + own * d, s->dslot, &rows, &slots,
                       &weights, x.n, w->d);
}

static void embed_back(real *sheet, const artree_group *g, int i, extent x, const artree_weights *w,
                       artree_scratch *s)
{
    const size_t d = (size_t)w->d;
    real *dpair = s->pair + (size_t)i * x.nodes * 2 * d;
    real *leaf = artree_sum(w, sheet, ARTREE_CONV0_WEIGHT);
    set_tree(s, g->trie, g->first + i);
    w->embed->extend_back(dpair, &s->plan, 2 * w->d);
    for (int taxon = 0; taxon < x.n; taxon++)
        w->layers->sum_rows(leaf + (size_t)taxon * 2 * d, dpair + (size_t)leaf_row(taxon) * 2 * d,
                            1, 2 * w->d);
}

void artree_group_backward(real *dstate, real *sheet, const artree_group *g,
                           const artree_weights *w, artree_scratch *s)
{
    const extent x = extent_of(g);
    real *dx = s->a;
    read_edges_back(s->a, s->b, s->pair, sheet, g, x, w, s);
    pool_nodes_back(s->a, s->b, sheet, g, x, w, s);
    recur_back(dstate, dx, sheet, g, x, w, s);
    for (int i = 0; i < g->count; i++)
        conv_back(dx, sheet, g, i, 1, ARTREE_CONV1_WEIGHT, x, w, s);
    multiply_back(dx, sheet, s->pair, g->tile->x[0] + g->node * (size_t)w->d, w, ARTREE_PAIR,
                  x.rows, 0);
    for (int i = 0; i < g->count; i++) {
        conv_back(dx, sheet, g, i, 0, ARTREE_CONV0_WEIGHT, x, w, s);
        embed_back(sheet, g, i, x, w, s);
    }
}
