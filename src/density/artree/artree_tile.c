#include "density/artree/artree_tile.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void artree_tile_init(artree_tile *t, int d)
{
    *t = (artree_tile){.d = d};
}

/* Every array of the tile: X(member, numbers per node, per edge). */
#define TILE_ARRAYS(X)       \
    X(once[0], width, 0)     \
    X(once[1], width, 0)     \
    X(x[0], width, 0)        \
    X(x[1], width, 0)        \
    X(gate, 3 * width, 0)    \
    X(c_n, width, 0)         \
    X(hat1, width, 0)        \
    X(rstd1, 1, 0)           \
    X(hat2, width, 0)        \
    X(rstd2, 1, 0)           \
    X(y, width, 0)           \
    X(xhat[0], 0, 2 * width) \
    X(xhat[1], 0, 2 * width) \
    X(rstd[0], 0, 2)         \
    X(rstd[1], 0, 2)         \
    X(sum[0], 0, 2 * width)  \
    X(sum[1], 0, 2 * width)  \
    X(other, 0, 2)           \
    X(reverse, 0, 2)         \
    X(ends, 0, 1)            \
    X(hat, 0, width)         \
    X(hat_rstd, 0, 1)        \
    X(logit, 0, 1)

void artree_tile_free(artree_tile *t)
{
#define TILE_FREE(member, per_node, per_edge) free(t->member);
    TILE_ARRAYS(TILE_FREE)
#undef TILE_FREE
    memset(t, 0, sizeof *t);
}

#define TILE_COUNT(per_node, per_edge) ((per_node)*nodes + (per_edge)*edges)

size_t artree_tile_bytes(int d, size_t nodes, size_t edges)
{
    const size_t width = (size_t)d;
    size_t bytes = 0;
    artree_tile *t = NULL; /* for the sizes only */
#define TILE_BYTES(member, per_node, per_edge) \
    bytes += TILE_COUNT(per_node, per_edge) * sizeof *t->member;
    TILE_ARRAYS(TILE_BYTES)
#undef TILE_BYTES
    return bytes;
}

int artree_tile_reserve(artree_tile *t, size_t nodes, size_t edges)
{
    const size_t width = (size_t)t->d;
    if (nodes <= t->room_nodes && edges <= t->room_edges)
        return ART_OK;
    nodes = nodes > t->room_nodes ? nodes : t->room_nodes;
    edges = edges > t->room_edges ? edges : t->room_edges;
    t->room_nodes = t->room_edges = 0;
#define TILE_GROW(member, per_node, per_edge)                                                   \
    {                                                                                           \
        void *grown = mem_resize(t->member, TILE_COUNT(per_node, per_edge), sizeof *t->member); \
        if (!grown)                                                                             \
            return ART_ERR_NOMEM;                                                               \
        t->member = grown;                                                                      \
    }
    TILE_ARRAYS(TILE_GROW)
#undef TILE_GROW
    t->room_nodes = nodes;
    t->room_edges = edges;
    return ART_OK;
}

edge_conv_rows artree_tile_conv(const artree_tile *t, int conv, size_t node, size_t edge)
{
    const size_t d = (size_t)t->d;
    return (edge_conv_rows){.xhat = t->xhat[conv] + 2 * edge * d,
                            .rstd = t->rstd[conv] + 2 * edge,
                            .y = t->sum[conv] + 2 * edge * d,
                            .once = t->once[conv] + node * d,
                            .h = t->x[conv] + node * d};
}
