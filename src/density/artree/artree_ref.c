/* ARTree as docs/artree.md defines it, written for reading, in double. */
#include "density/artree/artree_network.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "density/artreeformer/embedding.h"
#include "nn/layers_ref.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct plain {
    const params *p;
    int n_taxa, d;
    topology tree;
    embedding_plan plan;
    double *f;      /* [2N-2][N] node embeddings, then scratch of embedding_work(N) */
    double *x;      /* [2N-2][d] node features */
    double *next;   /* [2N-2][d] */
    double *state;  /* [2N-2][d] hidden states; a node's row is the same in all steps */
    double *both;   /* [2 max(N, d)] */
    double *gate;   /* [6d] */
    double *vector; /* [3d] */
    double *logit;  /* [2N-3] */
    double *block;
} plain;

static const real *weight(const plain *m, enum artree_tensor t)
{
    return params_value(m->p, t);
}

static int plain_init(plain *m, const params *p, int n_taxa, int d)
{
    const size_t nodes = (size_t)topology_nodes(n_taxa), width = (size_t)d, n = (size_t)n_taxa;
    const size_t f = nodes * n + embedding_work(n_taxa), both = 2 * (n > width ? n : width);
    *m = (plain){.p = p, .n_taxa = n_taxa, .d = d};
    int status = topology_init(&m->tree, n_taxa);
    if (!status)
        status = embedding_plan_init(&m->plan, n_taxa);
    if (status)
        return status;
    m->block = mem_zeros(f + nodes * (3 * width + 1) + both + 9 * width, sizeof *m->block);
    if (!m->block)
        return ART_ERR_NOMEM;
    m->f = m->block;
    m->x = m->f + f;
    m->next = m->x + nodes * width;
    m->state = m->next + nodes * width;
    m->logit = m->state + nodes * width;
    m->both = m->logit + nodes;
    m->gate = m->both + both;
    m->vector = m->gate + 6 * width;
    return ART_OK;
}

static void plain_free(plain *m)
{
    topology_free(&m->tree);
    embedding_plan_free(&m->plan);
    free(m->block);
}

/* m_uv = ELU(LayerNorm(W [x_u ; x_v - x_u] + b)); out_u = ELU(max over neighbours v of m_uv). x
 * [nodes][used], where `in` is the number of columns in the weight: columns of taxa that are not
 * yet in the tree are zero. The four tensors of the convolution begin with `first`. */
static void convolution(plain *m, double *out, const double *x, int used, int in, int first)
{
    const int nodes = topology_nodes(m->tree.n_leaves), d = m->d;
    double *both = m->both, *y = m->vector;
    for (int u = 0; u < nodes; u++, out += d) {
        for (int i = 0; i < d; i++)
            out[i] = -HUGE_VAL;
        for (int v = 0; v < nodes; v++) {
            if (m->plan.parent[u] != v && m->plan.parent[v] != u)
                continue;
            memset(both, 0, 2 * (size_t)in * sizeof *both);
            for (int i = 0; i < used; i++) {
                both[i] = x[(ptrdiff_t)u * used + i];
                both[in + i] = x[(ptrdiff_t)v * used + i] - x[(ptrdiff_t)u * used + i];
            }
            linear_ref(y, both, params_value(m->p, first), params_value(m->p, first + 1), 2 * in,
                       d);
            norm_ref(y, params_value(m->p, first + 2), params_value(m->p, first + 3), d);
            elu_ref(y, d);
            for (int i = 0; i < d; i++)
                out[i] = fmax(out[i], y[i]);
        }
        elu_ref(out, d);
    }
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* The states of all nodes go one step on, with x as input. */
static void recurrence(plain *m)
{
    const int d = m->d;
    double *in = m->gate, *own = m->gate + 3 * d;
    for (ptrdiff_t u = 0; u < topology_nodes(m->tree.n_leaves); u++) {
        double *h = m->state + u * d;
        linear_ref(in, m->x + u * d, weight(m, ARTREE_GRU_IN_WEIGHT), weight(m, ARTREE_GRU_IN_BIAS),
                   d, 3 * d);
        linear_ref(own, h, weight(m, ARTREE_GRU_STATE_WEIGHT), weight(m, ARTREE_GRU_STATE_BIAS), d,
                   3 * d);
        for (int i = 0; i < d; i++) {
            const double r = sigmoid(in[i] + own[i]), z = sigmoid(in[d + i] + own[d + i]);
            const double g = tanh(in[2 * d + i] + r * own[2 * d + i]);
            h[i] = (1 - z) * g + z * h[i];
        }
    }
}

/* b [d] = Linear ELU Linear of [sin(c_i t)] [cos(c_i t)], c_i = (2i / d) ln 10000 */
static void time_vector(plain *m, double *b, double *scratch)
{
    const int d = m->d, t = m->tree.n_leaves;
    for (int i = 0; i < d / 2; i++) {
        const double c = 2 * i * log(10000.0) / d;
        b[i] = sin(c * t);
        b[d / 2 + i] = cos(c * t);
    }
    linear_ref(scratch, b, weight(m, ARTREE_CLOCK0_WEIGHT), weight(m, ARTREE_CLOCK0_BIAS), d, d);
    elu_ref(scratch, d);
    linear_ref(b, scratch, weight(m, ARTREE_CLOCK2_WEIGHT), weight(m, ARTREE_CLOCK2_BIAS), d, d);
}

/* y = ELU(LayerNorm(W x + b)), for the four tensors that begin with `first` */
static void layer(const plain *m, double *y, const double *x, int first)
{
    linear_ref(y, x, params_value(m->p, first), params_value(m->p, first + 1), m->d, m->d);
    norm_ref(y, params_value(m->p, first + 2), params_value(m->p, first + 3), m->d);
    elu_ref(y, m->d);
}

/* x_u = P(h_u + b);  logit(u, v) = Q(max(x_u, x_v) + b) */
static void edge_logits(plain *m, const double *b)
{
    const int n = m->tree.n_leaves, d = m->d;
    double *a = m->vector + d, *c = m->vector + 2 * d;
    for (ptrdiff_t u = 0; u < topology_nodes(n); u++) {
        for (int i = 0; i < d; i++)
            a[i] = m->state[u * d + i] + b[i];
        layer(m, c, a, ARTREE_POOL0_WEIGHT);
        layer(m, m->x + u * d, c, ARTREE_POOL3_WEIGHT);
    }
    for (int e = 0; e < topology_edges(n); e++) {
        const double *xu = m->x + (ptrdiff_t)(e + 1) * d;
        const double *xv = m->x + (ptrdiff_t)m->plan.parent[e + 1] * d;
        for (int i = 0; i < d; i++)
            a[i] = fmax(xu[i], xv[i]) + b[i];
        layer(m, c, a, ARTREE_EDGE0_WEIGHT);
        linear_ref(&m->logit[e], c, weight(m, ARTREE_EDGE3_WEIGHT), weight(m, ARTREE_EDGE3_BIAS), d,
                   1);
    }
}

int artree_ref(double *log_q, double *step, const params *p, int n_taxa, int d,
               const int32_t *decision)
{
    plain m;
    int status = plain_init(&m, p, n_taxa, d);
    if (status)
        goto out;
    *log_q = 0;
    for (int n = 3; n < n_taxa; n++) {
        const int edges = topology_edges(n);
        embedding_plan_set(&m.plan, &m.tree);
        embedding_matrix(m.f, &m.plan, EMBEDDING_TWO_PASS, 0, m.f + topology_nodes(n) * n);
        convolution(&m, m.next, m.f, n, n_taxa, ARTREE_CONV0_WEIGHT);
        convolution(&m, m.x, m.next, d, d, ARTREE_CONV1_WEIGHT);
        recurrence(&m);
        time_vector(&m, m.vector, m.vector + d);
        edge_logits(&m, m.vector);
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
