#include "density/artreeformer/nodes.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "density/artreeformer/network.h"

#include <stdlib.h>
#include <string.h>

int nodes_scratch_init(nodes_scratch *s, const panels *w, size_t trees, size_t edges)
{
    const size_t d = (size_t)w->d, heads = (size_t)w->heads, rows = (trees + edges) * d;
    memset(s, 0, sizeof *s);
    int status = topology_init(&s->tree, w->n_taxa);
    if (!status)
        status = embedding_plan_init(&s->plan, w->n_taxa);
    if (status)
        return status;
    const size_t more = attention_scratch(&w->attention, topology_nodes(w->n_taxa));
    s->row = mem_aligned(2 * rows + trees * (4 + heads) * d + more, sizeof *s->row);
    if (!s->row)
        return ART_ERR_NOMEM;
    s->drow = s->row + rows;
    s->dshift = s->drow + rows;
    s->dr = s->dshift + trees * 2 * d;
    s->ds = s->dr + trees * d;
    s->dz = s->ds + trees * d;
    s->pool = s->dz + trees * heads * d;
    return nodes_scratch_method(s, w);
}

void nodes_scratch_free(nodes_scratch *s)
{
    topology_free(&s->tree);
    embedding_plan_free(&s->plan);
    free(s->row);
    free(s->embedding);
    memset(s, 0, sizeof *s);
}

int nodes_scratch_method(nodes_scratch *s, const panels *w)
{
    const size_t matrix = (size_t)topology_nodes(w->n_taxa) * (size_t)w->n_taxa;
    if (w->method == EMBEDDING_PROJECTED || s->embedding)
        return ART_OK;
    s->embedding = mem_zeros(matrix + embedding_work(w->n_taxa), sizeof *s->embedding);
    return s->embedding ? ART_OK : ART_ERR_NOMEM;
}

/* The embedding matrix of the other methods. */
static const double *embed(nodes_scratch *s, const panels *w)
{
    const ptrdiff_t n = s->plan.n_leaves;
    embedding_matrix(s->embedding, &s->plan, w->method, w->tolerance,
                     s->embedding + topology_nodes((int)n) * n);
    return s->embedding;
}

/* hidden [2n-2][d]: leaf rows in, inner rows out. */
static void extend(real *hidden, const panels *w, nodes_scratch *s)
{
    if (w->method == EMBEDDING_PROJECTED)
        w->embed->extend(hidden, &s->plan, w->d);
    else
        embedding_apply(hidden, embed(s, w), &s->plan, w->d);
}

static void extend_backward(real *dhidden, const panels *w, nodes_scratch *s)
{
    if (w->method == EMBEDDING_PROJECTED)
        w->embed->extend_back(dhidden, &s->plan, w->d);
    else
        embedding_apply_backward(dhidden, embed(s, w), &s->plan, w->d);
}

static void set_ends(tile *t, int i, const embedding_plan *plan)
{
    const int32_t edges = topology_edges(plan->n_leaves);
    int32_t(*ends)[2] = t->ends + t->edge[i];
    for (int32_t e = 0; e < edges; e++) {
        ends[e][0] = e + 1;
        ends[e][1] = plan->parent[e + 1];
    }
}

void nodes_embed(tile *t, int i, const panels *w, nodes_scratch *s)
{
    const size_t d = (size_t)w->d, nodes = (size_t)topology_nodes(t->leaves[i]);
    real *hidden = t->hidden + tile_node(t, i) * d;
    embedding_plan_set(&s->plan, &s->tree);
    set_ends(t, i, &s->plan);
    for (int taxon = 0; taxon < t->leaves[i]; taxon++)
        memcpy(hidden + (size_t)leaf_row(taxon) * d, w->leaf + (size_t)taxon * d,
               d * sizeof *hidden);
    extend(hidden, w, s);
    w->layers->elu(hidden, hidden, nodes * d);
}

/* The node rows of count trees. */
static int rows_of(const tile *t, int first, int count)
{
    return (int)(t->edge[first + count] - t->edge[first]) + count;
}

void nodes_forward(tile *t, int first, int count, const panels *w, nodes_scratch *s)
{
    const int d = w->d, rows = rows_of(t, first, count);
    const size_t width = (size_t)d, heads = (size_t)w->heads, node = tile_node(t, first);
    w->dense->multiply(s->row, d, t->hidden + node * width, d, w->mlp2, rows, d, d, 0);
    w->layers->norm(t->x + node * width, t->xhat + node * width, t->rstd + node, s->row,
                    params_value(w->params, MLP3_WEIGHT), params_value(w->params, MLP3_BIAS), rows,
                    d);
    for (int i = first; i < first + count; i++) {
        const size_t at = tile_node(t, i);
        const int n = t->leaves[i], step = n - 3;
        attention_pool(t->share + at * heads, t->z + (size_t)i * heads * width, &w->attention,
                       t->x + at * width, topology_nodes(n), step, s->pool);
        memcpy(t->shift + (size_t)i * 2 * width, w->moment + (size_t)step * 2 * width,
               2 * width * sizeof *t->shift);
    }
    const size_t tree = (size_t)first;
    attention_project(t->r + tree * width, t->s + tree * width, &w->attention,
                      t->z + tree * heads * width, count);
    w->dense->multiply(t->shift + tree * 2 * width, 2 * d, t->r + tree * width, d, w->graph, count,
                       d, 2 * d, 1);
}

void nodes_backward(sums *g, const tile *t, int first, int count, const panels *w, nodes_scratch *s)
{
    const int d = w->d, rows = rows_of(t, first, count);
    const size_t width = (size_t)d, heads = (size_t)w->heads, node = tile_node(t, first);
    const size_t tree = (size_t)first;
    const real *hidden = t->hidden + node * width;
    w->dense->outer(g->graph, dense_round(d), s->dshift, 2 * d, t->r + tree * width, d, 2 * d, d,
                    count);
    w->dense->multiply(s->dr, d, s->dshift, 2 * d, w->graph_back, count, 2 * d, d, 0);
    attention_project_backward(s->dz, &g->attention, s->dr, &w->attention, t->s + tree * width,
                               t->z + tree * heads * width, s->ds, count);
    for (int i = first; i < first + count; i++) {
        const size_t at = tile_node(t, i), own = (size_t)(i - first);
        const int n = t->leaves[i], step = n - 3;
        attention_pool_backward(s->drow + (at - node) * width, &g->attention,
                                s->dz + own * heads * width, &w->attention, t->share + at * heads,
                                t->x + at * width, topology_nodes(n), step, s->pool);
        w->layers->sum_rows(g->moment + (size_t)step * 2 * width, s->dshift + own * 2 * width, 1,
                            2 * d);
    }
    w->layers->norm_back(s->drow, g->mlp3, g->mlp3_bias, s->drow, t->xhat + node * width,
                         t->rstd + node, params_value(w->params, MLP3_WEIGHT), rows, d);
    w->layers->sum_rows(g->mlp2_bias, s->drow, rows, d);
    w->dense->outer(g->mlp2, dense_round(d), s->drow, d, hidden, d, d, d, rows);
    w->dense->multiply(s->row, d, s->drow, d, w->mlp2_back, rows, d, d, 0);
    w->layers->elu_back(s->row, s->row, hidden, (size_t)rows * width);
}

void nodes_embed_backward(sums *g, const tile *t, int first, int i, const panels *w,
                          nodes_scratch *s)
{
    const size_t d = (size_t)w->d;
    real *row = s->row + (tile_node(t, i) - tile_node(t, first)) * d;
    embedding_plan_set(&s->plan, &s->tree);
    extend_backward(row, w, s);
    for (int taxon = 0; taxon < t->leaves[i]; taxon++)
        w->layers->sum_rows(g->leaf + (size_t)taxon * d, row + (size_t)leaf_row(taxon) * d, 1,
                            w->d);
}
