#include "model/nodes.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "model/network.h"

#include <stdlib.h>
#include <string.h>

int nodes_scratch_init(nodes_scratch *s, const panels *w)
{
    const size_t nodes = (size_t)topology_nodes(w->n_taxa), d = (size_t)w->d;
    memset(s, 0, sizeof *s);
    int status = topology_init(&s->tree, w->n_taxa);
    if (!status)
        status = embedding_plan_init(&s->plan, w->n_taxa);
    if (status)
        return status;
    const size_t more = attention_scratch(&w->attention, topology_nodes(w->n_taxa));
    s->row = mem_aligned(2 * nodes * d + more + d + DENSE_GRAIN, sizeof *s->row);
    if (!s->row)
        return ART_ERR_NOMEM;
    s->drow = s->row + nodes * d;
    s->attention = s->drow + nodes * d;
    s->dgraph = s->attention + more;
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

static attention_state state_of(const tile *t, int i)
{
    const size_t d = (size_t)t->d, heads = (size_t)t->heads;
    return (attention_state){
        .share = t->share + tile_node(t, i) * heads,
        .z = t->z + (size_t)i * heads * d,
        .s = t->s + (size_t)i * d,
    };
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

void nodes_forward(tile *t, int i, const panels *w, nodes_scratch *s)
{
    const int n = t->leaves[i], nodes = topology_nodes(n), d = w->d, step = n - 3;
    const size_t width = (size_t)d, first = tile_node(t, i);
    real *hidden = t->hidden + first * width, *x = t->x + first * width;
    real *r = t->r + (size_t)i * width, *shift = t->shift + (size_t)i * 2 * width;
    attention_state state = state_of(t, i);
    embedding_plan_set(&s->plan, &s->tree);
    set_ends(t, i, &s->plan);
    for (int taxon = 0; taxon < n; taxon++)
        memcpy(hidden + (size_t)leaf_row(taxon) * width, w->leaf + (size_t)taxon * width,
               width * sizeof *hidden);
    extend(hidden, w, s);
    w->layers->elu(hidden, hidden, (size_t)nodes * width);
    w->dense->multiply(s->row, d, hidden, d, w->mlp2, nodes, d, d, 0);
    w->layers->norm(x, t->xhat + first * width, t->rstd + first, s->row,
                    params_value(w->params, MLP3_WEIGHT), params_value(w->params, MLP3_BIAS), nodes,
                    d);
    attention_forward(r, &state, &w->attention, x, nodes, step, s->attention);
    w->dense->multiply_shift(shift, 2 * d, r, d, w->graph, w->moment + (size_t)step * 2 * width, 1,
                             d, 2 * d);
}

void nodes_backward(sums *g, const real *dshift, const tile *t, int i, const panels *w,
                    nodes_scratch *s)
{
    const int n = t->leaves[i], nodes = topology_nodes(n), d = w->d, step = n - 3;
    const size_t width = (size_t)d, first = tile_node(t, i);
    const real *hidden = t->hidden + first * width, *x = t->x + first * width;
    const real *r = t->r + (size_t)i * width;
    const attention_state state = state_of(t, i);
    embedding_plan_set(&s->plan, &s->tree);
    w->layers->sum_rows(g->moment + (size_t)step * 2 * width, dshift, 1, 2 * d);
    w->dense->outer(g->graph, dense_round(d), dshift, 2 * d, r, d, 2 * d, d, 1);
    w->dense->multiply(s->dgraph, d, dshift, 2 * d, w->graph_back, 1, 2 * d, d, 0);
    attention_backward(s->drow, &g->attention, s->dgraph, &state, &w->attention, x, nodes, step,
                       s->attention);
    w->layers->norm_back(s->drow, g->mlp3, g->mlp3_bias, s->drow, t->xhat + first * width,
                         t->rstd + first, params_value(w->params, MLP3_WEIGHT), nodes, d);
    w->layers->sum_rows(g->mlp2_bias, s->drow, nodes, d);
    w->dense->outer(g->mlp2, dense_round(d), s->drow, d, hidden, d, d, d, nodes);
    w->dense->multiply(s->row, d, s->drow, d, w->mlp2_back, nodes, d, d, 0);
    w->layers->elu_back(s->row, s->row, hidden, (size_t)nodes * width);
    extend_backward(s->row, w, s);
    for (int taxon = 0; taxon < n; taxon++)
        w->layers->sum_rows(g->leaf + (size_t)taxon * width,
                            s->row + (size_t)leaf_row(taxon) * width, 1, d);
}
