#include "tree/topology.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

int topology_init(topology *t, int32_t n_taxa)
{
    memset(t, 0, sizeof *t);
    if (n_taxa < 3)
        return ART_ERR_USAGE;
    if (n_taxa > TOPOLOGY_MAX_TAXA)
        return ART_ERR_LIMIT;
    size_t nodes = (size_t)topology_nodes(n_taxa);
    int32_t *block = mem_zeros(3 * nodes, sizeof *block);
    if (!block)
        return ART_ERR_NOMEM;
    memset(block, -1, 3 * nodes * sizeof *block);
    t->n_taxa = n_taxa;
    t->parent = block;
    t->child = (int32_t(*)[2])(block + nodes);
    topology_reset(t);
    return ART_OK;
}

void topology_free(topology *t)
{
    free(t->parent); /* the children are in the same block */
    memset(t, 0, sizeof *t);
}

void topology_copy(topology *to, const topology *from)
{
    const size_t nodes = (size_t)topology_nodes(from->n_taxa);
    to->n_leaves = from->n_leaves;
    memcpy(to->parent, from->parent, nodes * sizeof *to->parent);
    memcpy(to->child, from->child, nodes * sizeof *to->child);
}

void topology_reset(topology *t)
{
    int32_t inner = t->n_taxa;
    t->child[0][0] = inner;
    t->parent[inner] = 0;
    t->child[inner][0] = 1;
    t->child[inner][1] = 2;
    t->parent[1] = t->parent[2] = inner;
    t->n_leaves = 3;
}

void topology_attach(topology *t, int32_t edge)
{
    int32_t taxon = t->n_leaves++;
    int32_t inner = t->n_taxa + taxon - 2;
    int32_t below = edge_node(edge, t->n_taxa);
    int32_t above = t->parent[below];
    t->child[above][t->child[above][0] != below] = inner;
    t->parent[inner] = above;
    t->child[inner][0] = taxon;
    t->child[inner][1] = below;
    t->parent[below] = t->parent[taxon] = inner;
}

void topology_build(topology *t, const int32_t *decision)
{
    topology_reset(t);
    for (int32_t taxon = 3; taxon < t->n_taxa; taxon++)
        topology_attach(t, decision_edge(decision[taxon - 3]));
}

/* A new inner node on the top edge has the top edge above it. */
int32_t decisions_top_edge(const int32_t *decision, int32_t n_taxa)
{
    int32_t top = 2;
    for (int32_t taxon = 3; taxon < n_taxa; taxon++)
        if (decision[taxon - 3] == top)
            top = 2 * taxon - 2;
    return top;
}

/* Prunes the taxa N-1, .., 3. What a pruned taxon hung on is known as a node of t; the edge
 * number of an inner node is known when its own taxon is pruned, so decisions are nodes first
 * and become edges at the end. Of the children of a node only the sum is kept: the sibling of
 * x is sum - x. */
void topology_decisions(int32_t *decision, int32_t *edge_of, const topology *t, int32_t *scratch)
{
    int32_t n_taxa = t->n_taxa, nodes = topology_nodes(n_taxa);
    int32_t *parent = scratch, *sum = scratch + nodes;
    int32_t *edge = edge_of ? edge_of : scratch + 2 * nodes;
    memcpy(parent, t->parent, (size_t)nodes * sizeof *parent);
    for (int32_t i = n_taxa; i < nodes; i++)
        sum[i] = t->child[i][0] + t->child[i][1];
    sum[0] = t->child[0][0];
    edge[0] = -1;
    for (int32_t taxon = 1; taxon < n_taxa; taxon++)
        edge[taxon] = node_edge(taxon, n_taxa);
    for (int32_t taxon = n_taxa - 1; taxon >= 3; taxon--) {
        int32_t inner = parent[taxon], above = parent[inner], sibling = sum[inner] - taxon;
        sum[above] += sibling - inner;
        parent[sibling] = above;
        edge[inner] = 2 * taxon - 2;
        decision[taxon - 3] = sibling;
    }
    edge[sum[0]] = 2; /* the inner node of taxa 0, 1, 2 */
    for (int32_t i = 0; i < n_taxa - 3; i++)
        decision[i] = edge[decision[i]];
}

int32_t topology_contracted(bool *is_contracted, const topology *t, const int32_t *decision)
{
    const int32_t top = node_edge(t->child[0][0], t->n_taxa);
    int32_t count = 0;
    memset(is_contracted, 0, (size_t)topology_edges(t->n_taxa) * sizeof *is_contracted);
    for (int32_t i = 0; i < t->n_taxa - 3; i++)
        if (decision[i] < 0) {
            const int32_t edge = 2 * i + 4;
            is_contracted[edge == top ? 2 : edge] = true;
            count++;
        }
    return count;
}

static int32_t first_leaf(const topology *t, int32_t node)
{
    while (node >= t->n_taxa)
        node = t->child[node][0];
    return node;
}

bool decisions_are_trees(const int32_t *decision, size_t count, int32_t n_taxa)
{
    for (size_t i = 0; i < count; i++)
        for (int32_t n = 3; n < n_taxa; n++, decision++)
            if (*decision < 0 || *decision >= topology_edges(n))
                return false;
    return true;
}

void topology_postorder(int32_t *order, const topology *t)
{
    int32_t count = topology_edges(t->n_leaves);
    int32_t node = first_leaf(t, t->child[0][0]);
    for (int32_t i = 0; i < count; i++) {
        order[i] = node;
        int32_t above = t->parent[node];
        int first = above != 0 && t->child[above][0] == node;
        node = first ? first_leaf(t, t->child[above][1]) : above;
    }
}
