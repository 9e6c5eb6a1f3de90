#include "beagle_tree.h"

#include "base/mem.h"
#include "tree/topology.h"

#include <stdlib.h>
#include <string.h>

struct beagle_tree {
    int instance;
    char implementation[128];
    int n_categories;
    topology tree;
    int32_t *order;             /* [2N-3] */
    BeagleOperation *operation; /* [3N] */
    int *matrix;                /* [2N-3] 0, 1, .. */
    int *derivative;            /* [2N-3] 2N-3, 2N-2, .. */
};

void beagle_tree_free(beagle_tree *b)
{
    if (!b)
        return;
    if (b->instance >= 0)
        beagleFinalizeInstance(b->instance);
    topology_free(&b->tree);
    free(b->order);
    free(b->operation);
    free(b->matrix);
    free(b->derivative);
    free(b);
}

/* Invariant sites are a category of rate 0. */
static int set_model(const beagle_tree *b, const subst_model *m)
{
    double rate[SUBST_CATEGORIES + 1] = {0}, weight[SUBST_CATEGORIES + 1] = {m->p_invariant};
    int invariant = m->p_invariant > 0;
    for (int c = 0; c < m->n_categories; c++) {
        rate[invariant + c] = m->category_rate[c];
        weight[invariant + c] = m->category_weight;
    }
    double right[16], left[16];
    memcpy(right, m->right, sizeof right);
    memcpy(left, m->left, sizeof left);
    int status = beagleSetEigenDecomposition(b->instance, 0, right, left, m->eigenvalue);
    if (!status)
        status = beagleSetStateFrequencies(b->instance, 0, m->frequency);
    if (!status)
        status = beagleSetCategoryWeights(b->instance, 0, weight);
    return status ? status : beagleSetCategoryRates(b->instance, rate);
}

/* One base or none known: BEAGLE's compact states; otherwise a partial likelihood. */
static int set_tip(const beagle_tree *b, int tip, const uint8_t *state, size_t n)
{
    double *partial = mem_zeros(4 * n, sizeof *partial);
    int *compact = mem_zeros(n, sizeof *compact), is_compact = 1, status;
    if (!partial || !compact) {
        status = BEAGLE_ERROR_OUT_OF_MEMORY;
        goto out;
    }
    for (size_t k = 0; k < n; k++) {
        int set = state[k] & STATE_GAP ? STATE_ANY : state[k];
        is_compact &= set == STATE_ANY || !(set & (set - 1));
        compact[k] = 4;
        for (int s = 0; s < 4; s++) {
            partial[4 * k + (size_t)s] = set >> s & 1;
            if (set == 1 << s)
                compact[k] = s;
        }
    }
    status = is_compact ? beagleSetTipStates(b->instance, tip, compact)
                        : beagleSetTipPartials(b->instance, tip, partial);
out:
    free(partial);
    free(compact);
    return status;
}

static int set_data(const beagle_tree *b, const alignment *a, const int *taxon)
{
    double *weight = mem_zeros(a->n_patterns, sizeof *weight);
    int status = weight ? 0 : BEAGLE_ERROR_OUT_OF_MEMORY;
    for (size_t k = 0; !status && k < a->n_patterns; k++)
        weight[k] = a->weight[k];
    if (!status)
        status = beagleSetPatternWeights(b->instance, weight);
    for (int i = 0; !status && i < a->n_taxa; i++)
        status =
            set_tip(b, i, a->state + (size_t)(taxon ? taxon[i] : i) * a->n_patterns, a->n_patterns);
    free(weight);
    return status;
}

int beagle_tree_create(beagle_tree **out, const alignment *a, const int *taxon,
                       const subst_model *m)
{
    int n_taxa = a->n_taxa, n_nodes = topology_nodes(n_taxa), n_edges = topology_edges(n_taxa);
    int status = BEAGLE_ERROR_OUT_OF_MEMORY;
    *out = NULL;
    beagle_tree *b = mem_zeros(1, sizeof *b);
    if (!b)
        return status;
    b->instance = -1;
    b->n_categories = m->n_categories + (m->p_invariant > 0);
    b->order = mem_zeros((size_t)n_edges, sizeof *b->order);
    b->operation = mem_zeros(3 * (size_t)n_taxa, sizeof *b->operation);
    b->matrix = mem_zeros((size_t)n_edges, sizeof *b->matrix);
    b->derivative = mem_zeros((size_t)n_edges, sizeof *b->derivative);
    if (topology_init(&b->tree, n_taxa) || !b->order || !b->operation || !b->matrix ||
        !b->derivative)
        goto out;
    for (int e = 0; e < n_edges; e++) {
        b->matrix[e] = e;
        b->derivative[e] = n_edges + e;
    }
    BeagleInstanceDetails details;
    b->instance = beagleCreateInstance(
        n_taxa, 2 * n_nodes, n_taxa, 4, (int)a->n_patterns, 1, 2 * n_edges, b->n_categories, 0,
        NULL, 0, BEAGLE_FLAG_VECTOR_AVX | BEAGLE_FLAG_VECTOR_SSE,
        BEAGLE_FLAG_PROCESSOR_CPU | BEAGLE_FLAG_PRECISION_DOUBLE | BEAGLE_FLAG_THREADING_NONE,
        &details);
    status = b->instance < 0 ? b->instance : 0;
    if (status || (status = set_model(b, m)) || (status = set_data(b, a, taxon)))
        goto out;
    size_t length = strlen(details.implName);
    length = length < sizeof b->implementation ? length : sizeof b->implementation - 1;
    memcpy(b->implementation, details.implName, length);
    *out = b;
    return 0;
out:
    beagle_tree_free(b);
    return status;
}

const char *beagle_tree_implementation(const beagle_tree *b)
{
    return b->implementation;
}

static BeagleOperation operation(int out, int a, int edge_a, int b, int edge_b)
{
    return (BeagleOperation){out, BEAGLE_OP_NONE, BEAGLE_OP_NONE, a, edge_a, b, edge_b};
}

/* Buffers: below a node, its own number; everything else, its number + n_nodes. */
static int list_operations(beagle_tree *b, int with_gradient)
{
    const topology *t = &b->tree;
    int n_taxa = t->n_taxa, n_nodes = topology_nodes(n_taxa), n_edges = topology_edges(n_taxa);
    int n = 0;
#define EDGE(v) node_edge((v), n_taxa)
    for (int k = 0; k < n_edges; k++) {
        int v = b->order[k], *child = t->child[v];
        if (v >= n_taxa)
            b->operation[n++] = operation(v, child[0], EDGE(child[0]), child[1], EDGE(child[1]));
    }
    for (int k = n_edges - 2; with_gradient && k >= 0; k--) { /* all but the topmost edge */
        int v = b->order[k], above = t->parent[v];
        int sibling = t->child[above][t->child[above][0] == v];
        int beyond = t->parent[above] == 0 ? 0 : above + n_nodes;
        b->operation[n++] = operation(v + n_nodes, beyond, EDGE(above), sibling, EDGE(sibling));
    }
#undef EDGE
    return n;
}

int beagle_tree_evaluate(beagle_tree *b, double *value, double *gradient, const int32_t *decision,
                         const double *length)
{
    const topology *t = &b->tree;
    int n_taxa = t->n_taxa, n_nodes = topology_nodes(n_taxa), n_edges = topology_edges(n_taxa);
    topology_build(&b->tree, decision);
    topology_postorder(b->order, t);
    int status = beagleUpdateTransitionMatrices(
        b->instance, 0, b->matrix, gradient ? b->derivative : NULL, NULL, length, n_edges);
    if (!status)
        status = beagleUpdatePartials(b->instance, b->operation,
                                      list_operations(b, gradient != NULL), BEAGLE_OP_NONE);
    int zero = 0, none = BEAGLE_OP_NONE;
    for (int e = n_edges - 1; !status && e >= 0; e--) {
        int v = edge_node(e, n_taxa), top = t->parent[v] == 0;
        int upper = top ? v : v + n_nodes, lower = top ? 0 : v;
        if (!gradient && !top)
            continue;
        status = beagleCalculateEdgeLogLikelihoods(
            b->instance, &upper, &lower, &b->matrix[e], gradient ? &b->derivative[e] : NULL, NULL,
            &zero, &zero, &none, 1, value, gradient ? &gradient[e] : NULL, NULL);
    }
    return status;
}
