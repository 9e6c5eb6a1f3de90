#include "density/artreeformer/tile.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "nn/dense.h"
#include "tree/topology.h"

#include <stdlib.h>
#include <string.h>

void tile_init(tile *t, int d, int heads)
{
    *t = (tile){.d = d, .heads = heads};
}

/* Every array of the tile: X(member, numbers per tree, per node, per edge). Each has one
 * more, which `edge` needs. */
#define TILE_ARRAYS(X)        \
    X(leaves, 1, 0, 0)        \
    X(edge, 1, 0, 0)          \
    X(z, heads *width, 0, 0)  \
    X(s, width, 0, 0)         \
    X(r, width, 0, 0)         \
    X(shift, 2 * width, 0, 0) \
    X(hidden, 0, width, 0)    \
    X(xhat, 0, width, 0)      \
    X(rstd, 0, 1, 0)          \
    X(x, 0, width, 0)         \
    X(share, 0, heads, 0)     \
    X(owner, 0, 0, 1)         \
    X(ends, 0, 0, 1)          \
    X(hat1, 0, 0, 2 * width)  \
    X(rstd1, 0, 0, 1)         \
    X(hat2, 0, 0, 2 * width)  \
    X(rstd2, 0, 0, 1)         \
    X(logit, 0, 0, 1)

void tile_free(tile *t)
{
#define TILE_FREE(member, per_tree, per_node, per_edge) free(t->member);
    TILE_ARRAYS(TILE_FREE)
#undef TILE_FREE
    memset(t, 0, sizeof *t);
}

#define TILE_COUNT(per_tree, per_node, per_edge) \
    ((per_tree)*trees + (per_node) * (trees + edges) + (per_edge)*edges + 1)

size_t tile_bytes(int d, int n_heads, size_t trees, size_t edges)
{
    const size_t width = (size_t)d, heads = (size_t)n_heads;
    size_t bytes = 0;
    tile *t = NULL; /* for the sizes only */
#define TILE_BYTES(member, per_tree, per_node, per_edge) \
    bytes += TILE_COUNT(per_tree, per_node, per_edge) * sizeof *t->member;
    TILE_ARRAYS(TILE_BYTES)
#undef TILE_BYTES
    return bytes;
}

int tile_reserve(tile *t, size_t trees, size_t edges)
{
    const size_t width = (size_t)t->d, heads = (size_t)t->heads;
    tile_clear(t);
    if (trees <= t->room_trees && edges <= t->room_edges)
        return ART_OK;
    trees = trees > t->room_trees ? trees : t->room_trees;
    edges = edges > t->room_edges ? edges : t->room_edges;
    t->room_trees = t->room_edges = 0;
#define TILE_GROW(member, per_tree, per_node, per_edge)                                         \
    {                                                                                           \
        void *grown =                                                                           \
            mem_resize(t->member, TILE_COUNT(per_tree, per_node, per_edge), sizeof *t->member); \
        if (!grown)                                                                             \
            return ART_ERR_NOMEM;                                                               \
        t->member = grown;                                                                      \
    }
    TILE_ARRAYS(TILE_GROW)
#undef TILE_GROW
    t->room_trees = trees;
    t->room_edges = edges;
    return ART_OK;
}

int tile_place(tile *t, int n)
{
    const int i = t->n_trees++;
    const size_t edges = (size_t)topology_edges(n);
    t->leaves[i] = n;
    t->edge[i] = t->n_edges;
    for (size_t e = 0; e < edges; e++)
        t->owner[t->n_edges + e] = i;
    t->n_edges += edges;
    t->edge[i + 1] = t->n_edges;
    return i;
}
