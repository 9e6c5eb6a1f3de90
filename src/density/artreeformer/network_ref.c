/* The model as design.md and docs/model.md define it, written for reading, in double. */
#include "density/artreeformer/network.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "density/artreeformer/embedding.h"
#include "nn/layers_ref.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct plain {
    const params *p;
    int n_taxa, d, heads;
    topology tree;
    embedding_plan plan;
    double *f;      /* [2N-2][N] node embeddings, then scratch of embedding_work(N) */
    double *x;      /* [2N-2][d] node features */
    double *key;    /* [2N-2][d] */
    double *value;  /* [2N-2][d] */
    double *score;  /* [2N-2] */
    double *hidden; /* [4][2d] */
    double *logit;  /* [2N-3] */
    double *block;
} plain;

static const real *weight(const plain *m, enum network_tensor t)
{
    return params_value(m->p, t);
}

static int plain_init(plain *m, const params *p, int n_taxa, int d, int heads)
{
    const size_t nodes = (size_t)topology_nodes(n_taxa), width = (size_t)d, n = (size_t)n_taxa;
    memset(m, 0, sizeof *m);
    *m = (plain){.p = p, .n_taxa = n_taxa, .d = d, .heads = heads};
    int status = topology_init(&m->tree, n_taxa);
    if (!status)
        status = embedding_plan_init(&m->plan, n_taxa);
    if (status)
        return status;
    const size_t f = nodes * n + embedding_work(n_taxa);
    m->block = mem_zeros(f + nodes * (3 * width + 2) + 8 * width, sizeof *m->block);
    if (!m->block)
        return ART_ERR_NOMEM;
    m->f = m->block;
    m->x = m->f + f;
    m->key = m->x + nodes * width;
    m->value = m->key + nodes * width;
    m->score = m->value + nodes * width;
    m->logit = m->score + nodes;
    m->hidden = m->logit + nodes;
    return ART_OK;
}

static void plain_free(plain *m)
{
    topology_free(&m->tree);
    embedding_plan_free(&m->plan);
    free(m->block);
}

/* x_u = LayerNorm(mlp.2 ELU(mlp.0 f(u))); columns of taxa not yet in the tree are zero. */
static void node_features(plain *m)
{
    const int n = m->tree.n_leaves, nodes = topology_nodes(n), d = m->d;
    double *hidden = m->hidden, *f = m->hidden + d;
    embedding_matrix(m->f, &m->plan, EMBEDDING_TWO_PASS, 0, m->f + nodes * n);
    for (int u = 0; u < nodes; u++) {
        double *x = m->x + (ptrdiff_t)u * d;
        for (int i = 0; i < d; i++) {
            const real *row = weight(m, MLP0_WEIGHT) + (ptrdiff_t)i * m->n_taxa;
            linear_ref(f, m->f + (ptrdiff_t)u * n, row, NULL, n, 1);
            hidden[i] = f[0] + (double)weight(m, MLP0_BIAS)[i];
        }
        elu_ref(hidden, d);
        linear_ref(x, hidden, weight(m, MLP2_WEIGHT), weight(m, MLP2_BIAS), d, d);
        norm_ref(x, weight(m, MLP3_WEIGHT), weight(m, MLP3_BIAS), d);
    }
}

/* r = MultiHeadAttention(e_(n-3), X, X) */
static void graph_vector(plain *m, double *r)
{
    const int n = m->tree.n_leaves, nodes = topology_nodes(n), d = m->d, width = d / m->heads;
    const real *in = weight(m, MHA_IN_WEIGHT), *bias = weight(m, MHA_IN_BIAS);
    double *query = m->hidden, *pooled = m->hidden + d, *unit = m->hidden + 2 * d;
    memset(unit, 0, (size_t)d * sizeof *unit);
    if (n - 3 < d)
        unit[n - 3] = 1;
    linear_ref(query, unit, in, bias, d, d);
    for (ptrdiff_t u = 0; u < nodes; u++) {
        linear_ref(m->key + u * d, m->x + u * d, in + (ptrdiff_t)d * d, bias + d, d, d);
        linear_ref(m->value + u * d, m->x + u * d, in + 2 * (ptrdiff_t)d * d, bias + 2 * d, d, d);
    }
    memset(pooled, 0, (size_t)d * sizeof *pooled);
    for (int h = 0; h < m->heads; h++) {
        for (ptrdiff_t u = 0; u < nodes; u++) {
            m->score[u] = 0;
            for (int i = h * width; i < (h + 1) * width; i++)
                m->score[u] += query[i] * m->key[u * d + i] / sqrt(width);
        }
        log_softmax_ref(m->score, nodes);
        for (ptrdiff_t u = 0; u < nodes; u++)
            for (int i = h * width; i < (h + 1) * width; i++)
                pooled[i] += exp(m->score[u]) * m->value[u * d + i];
    }
    linear_ref(r, pooled, weight(m, MHA_OUT_WEIGHT), weight(m, MHA_OUT_BIAS), d, d);
}

/* b [2d] = Linear ELU Linear of [sin(c_i t)] [cos(c_i t)], c_i = (i / d) ln 10000 */
static void time_vector(plain *m, double *b, double *scratch)
{
    const int d = m->d, t = m->tree.n_leaves;
    for (int i = 0; i < d; i++) {
        const double c = i * log(10000.0) / d;
        b[i] = sin(c * t);
        b[d + i] = cos(c * t);
    }
    linear_ref(scratch, b, weight(m, TIME0_WEIGHT), weight(m, TIME0_BIAS), 2 * d, 2 * d);
    elu_ref(scratch, 2 * d);
    linear_ref(b, scratch, weight(m, TIME2_WEIGHT), weight(m, TIME2_BIAS), 2 * d, 2 * d);
}

/* logit = readout([r ; max(x_u, x_v)] + b) for the edge (u, v) */
static void edge_logits(plain *m, const double *r, const double *b)
{
    const int n = m->tree.n_leaves, d = m->d;
    double *a = m->hidden + 4 * d, *c = m->hidden + 6 * d;
    for (int e = 0; e < topology_edges(n); e++) {
        const double *xu = m->x + (ptrdiff_t)(e + 1) * d;
        const double *xv = m->x + (ptrdiff_t)m->plan.parent[e + 1] * d;
        for (int i = 0; i < d; i++) {
            a[i] = r[i] + b[i];
            a[d + i] = fmax(xu[i], xv[i]) + b[d + i];
        }
        linear_ref(c, a, weight(m, READ0_WEIGHT), weight(m, READ0_BIAS), 2 * d, 2 * d);
        norm_ref(c, weight(m, READ1_WEIGHT), weight(m, READ1_BIAS), 2 * d);
        elu_ref(c, 2 * d);
        linear_ref(a, c, weight(m, READ3_WEIGHT), weight(m, READ3_BIAS), 2 * d, 2 * d);
        norm_ref(a, weight(m, READ4_WEIGHT), weight(m, READ4_BIAS), 2 * d);
        elu_ref(a, 2 * d);
        linear_ref(&m->logit[e], a, weight(m, READ6_WEIGHT), weight(m, READ6_BIAS), 2 * d, 1);
    }
}

int network_ref(double *log_q, double *step, const params *p, int n_taxa, int d, int heads,
                const int32_t *decision)
{
    plain m;
    int status = plain_init(&m, p, n_taxa, d, heads);
    if (status)
        goto out;
    *log_q = 0;
    for (int n = 3; n < n_taxa; n++) {
        const int edges = topology_edges(n);
        double *r = m.key, *b = m.hidden; /* the keys are not needed any more */
        embedding_plan_set(&m.plan, &m.tree);
        node_features(&m);
        graph_vector(&m, m.hidden + 6 * d);
        memcpy(r, m.hidden + 6 * d, (size_t)d * sizeof *r);
        time_vector(&m, b, m.hidden + 4 * d);
        edge_logits(&m, r, b);
        log_softmax_ref(m.logit, edges);
        if (step) {
            memcpy(step, m.logit, (size_t)edges * sizeof *step);
            step += edges;
        }
        *log_q += m.logit[decision[n - 3]];
        topology_attach(&m.tree, decision[n - 3]);
    }
out:
    plain_free(&m);
    return status;
}
