#include "support/golden.h"

#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A Newick text as an undirected graph: nodes 0..N-1 are the taxa. */
typedef struct graph {
    int near[256][3];
    int degree[256];
    int nodes;
    json_t *taxa;
    const char *at;
} graph;

static void join(graph *g, int a, int b)
{
    assert_true(g->degree[a] < 3 && g->degree[b] < 3);
    g->near[a][g->degree[a]++] = b;
    g->near[b][g->degree[b]++] = a;
}

static int parse_node(graph *g)
{
    if (*g->at == '(') {
        assert_true(g->nodes < 256);
        int node = g->nodes++;
        do {
            g->at++;
            join(g, node, parse_node(g));
        } while (*g->at == ',');
        assert_int_equal(*g->at++, ')');
        return node;
    }
    size_t length = strcspn(g->at, "(),;:"), i;
    json_t *name;
    json_array_foreach(g->taxa, i, name)
    {
        if (json_string_length(name) == length &&
            strncmp(json_string_value(name), g->at, length) == 0) {
            g->at += length;
            return (int)i;
        }
    }
    fail_msg("unknown taxon at %s", g->at);
    return -1;
}

static void hang(topology *t, const graph *g, int node, int above)
{
    int children = 0;
    t->parent[node] = above;
    for (int i = 0; i < g->degree[node]; i++)
        if (g->near[node][i] != above) {
            t->child[node][children++] = g->near[node][i];
            hang(t, g, g->near[node][i], node);
        }
}

static void decisions_of(int32_t *decision, const char *newick, json_t *taxa)
{
    topology t;
    int n = (int)json_array_size(taxa);
    int32_t *scratch = calloc(6 * (size_t)n, sizeof *scratch);
    graph g = {.nodes = n, .taxa = taxa, .at = newick};
    parse_node(&g);
    check_status(topology_init(&t, n));
    t.n_leaves = n;
    hang(&t, &g, 0, -1);
    topology_decisions(decision, NULL, &t, scratch);
    topology_free(&t);
    free(scratch);
}

int32_t golden_edge(const topology *t, const json_t *taxa)
{
    uint64_t below[128] = {0}, wanted = 0, all;
    int32_t order[128], n = t->n_taxa, count = topology_edges(n);
    size_t i;
    json_t *index;
    assert_true(n <= 64);
    all = n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
    json_array_foreach(taxa, i, index)
    {
        wanted |= UINT64_C(1) << json_integer_value(index);
    }
    topology_postorder(order, t);
    for (int32_t j = 0; j < count; j++) {
        int32_t node = order[j];
        below[node] =
            node < n ? UINT64_C(1) << node : below[t->child[node][0]] | below[t->child[node][1]];
        if (below[node] == wanted || below[node] == (all ^ wanted))
            return node_edge(node, n);
    }
    fail_msg("no such edge");
    return -1;
}

static json_t *field(const golden *g, const char *name)
{
    json_t *value = json_object_get(g->json, name);
    if (!value)
        fail_msg("the golden file has no %s", name);
    return value;
}

static void load_branches(golden *g)
{
    topology t;
    check_status(topology_init(&t, g->n_taxa));
    size_t edges = (size_t)topology_edges(g->n_taxa);
    g->branch_count = (int)json_array_size(field(g, "branch"));
    assert_true(g->branch_count > 0 && g->branch_count <= g->count);
    for (int i = 0; i < g->branch_count; i++) {
        json_t *list = json_array_get(field(g, "branch"), (size_t)i), *item;
        size_t j;
        assert_int_equal(json_array_size(list), edges);
        topology_build(&t, g->decision + (ptrdiff_t)i * (g->n_taxa - 3));
        json_array_foreach(list, j, item)
        {
            size_t at = (size_t)i * edges + (size_t)golden_edge(&t, json_object_get(item, "edge"));
            g->mean[at] = json_real_value(json_object_get(item, "mean"));
            g->log_std[at] = json_real_value(json_object_get(item, "log_std"));
        }
    }
    topology_free(&t);
}

void golden_load(golden *g, const char *name)
{
    char file[64];
    json_error_t error;
    memset(g, 0, sizeof *g);
    snprintf(file, sizeof file, "%s.json", name);
    g->json = json_load_file(golden_path(file), 0, &error);
    assert_non_null(g->json);
    snprintf(file, sizeof file, "%s.safetensors", name);
    check_status(safetensors_read(&g->weights, golden_path(file), NULL));
    snprintf(file, sizeof file, "%s.grad.safetensors", name);
    check_status(safetensors_read(&g->gradients, golden_path(file), NULL));
    g->n_taxa = (int)json_integer_value(field(g, "n_taxa"));
    g->hidden = (int)json_integer_value(field(g, "hidden_dim"));
    g->heads = (int)json_integer_value(json_object_get(g->json, "n_head"));
    g->branch_hidden = (int)json_integer_value(field(g, "branch_hidden_dim"));
    json_t *trees = field(g, "trees"), *tree;
    size_t i, count = json_array_size(trees), n = (size_t)g->n_taxa;
    g->count = (int)count;
    assert_true(g->count > 0 && g->n_taxa > 3);
    g->decision = calloc(count * (n - 3), sizeof *g->decision);
    g->log_q = calloc(count, sizeof *g->log_q);
    g->w = calloc(count, sizeof *g->w);
    g->mean = calloc(count * (2 * n - 3), sizeof *g->mean);
    g->log_std = calloc(count * (2 * n - 3), sizeof *g->log_std);
    json_array_foreach(trees, i, tree)
    {
        decisions_of(g->decision + i * (n - 3), json_string_value(tree), field(g, "taxa"));
        g->log_q[i] = json_real_value(json_array_get(field(g, "log_q"), i));
        g->w[i] = json_number_value(json_array_get(field(g, "w"), i));
    }
    load_branches(g);
}

void golden_free(golden *g)
{
    json_decref(g->json);
    safetensors_free(&g->weights);
    safetensors_free(&g->gradients);
    free(g->decision);
    free(g->log_q);
    free(g->w);
    free(g->mean);
    free(g->log_std);
    memset(g, 0, sizeof *g);
}

double golden_gradient_error(const golden *g, const params *p)
{
    double worst = 0;
    const char *where = "";
    for (int i = 0; i < p->count; i++) {
        const tensor *t = safetensors_find(&g->gradients, p->entry[i].name);
        assert_true(t && t->dtype == TENSOR_F64 && t->count == p->entry[i].size);
        const double *expected = t->data;
        /* what is zero by symmetry is rounding in both */
        double scale = REAL_IS_DOUBLE ? 1e-6 : 1e-2, error = 0;
        for (size_t j = 0; j < t->count; j++) {
            scale = fmax(scale, fabs(expected[j]));
            error = fmax(error, fabs((double)params_grad(p, i)[j] - expected[j]));
        }
        if (!(error / scale <= worst)) {
            worst = error / scale;
            where = p->entry[i].name;
        }
    }
    print_message("largest relative difference of a gradient: %.2g (%s)\n", worst, where);
    return worst;
}
