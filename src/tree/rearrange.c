#include "tree/rearrange.h"

/* Puts node in the place that `old` has below `above`. */
static void replace_child(topology *t, int32_t above, int32_t old, int32_t node)
{
    t->child[above][t->child[above][0] != old] = node;
    t->parent[node] = above;
}

void topology_nni(topology *t, int32_t v, int which)
{
    int32_t sibling = topology_sibling(t, v), child = t->child[v][which];
    replace_child(t, t->parent[v], sibling, child);
    t->child[v][which] = sibling;
    t->parent[sibling] = v;
}

static int is_below(const topology *t, int32_t w, int32_t v)
{
    while (w != 0 && w != v)
        w = t->parent[w];
    return w == v;
}

int topology_has_spr(const topology *t, int32_t v, int32_t w)
{
    if (v == 0 || w == 0 || v == w || t->parent[w] == v)
        return 0;
    return is_below(t, w, v) || (w != t->parent[v] && t->parent[w] != t->parent[v]);
}

/* The subtree below v moves, with its parent as the node that joins it to w's branch. */
static void move_below(topology *t, double *length, int32_t v, int32_t w)
{
    int32_t hinge = t->parent[v], sibling = topology_sibling(t, v);
    length[sibling] += length[hinge];
    length[hinge] = length[w] /= 2;
    replace_child(t, t->parent[hinge], hinge, sibling);
    replace_child(t, t->parent[w], w, hinge);
    replace_child(t, hinge, sibling, w);
}

/* All that is above v moves, with v as the node that joins it to w's branch: on the path from
 * w to v, parents and children change places, and every length goes to its other end. */
static void move_above(topology *t, double *length, int32_t v, int32_t w)
{
    int32_t below = w, node = t->parent[w], above = v;
    double carried = length[w] /= 2;
    int32_t first = node;
    while (node != v) {
        int32_t next = t->parent[node];
        int32_t last = next == v ? topology_sibling(t, node) : next;
        double own = length[node];
        if (next == v)
            length[last] += own;
        t->child[node][t->child[node][0] != below] = last;
        if (next == v)
            t->parent[last] = node;
        t->parent[node] = above;
        length[node] = carried;
        carried = own;
        below = above = node;
        node = next;
    }
    t->child[v][0] = w;
    t->child[v][1] = first;
    t->parent[w] = v;
}

void topology_spr(topology *t, double *length, int32_t v, int32_t w)
{
    if (is_below(t, w, v))
        move_above(t, length, v, w);
    else
        move_below(t, length, v, w);
}

void topology_tour_next(const topology *t, int32_t *v, int *up)
{
    if (!*up && *v < t->n_taxa) {
        *up = 1;
    } else if (!*up) {
        const int32_t *child = t->child[*v];
        *v = child[0] < child[1] ? child[0] : child[1];
    } else if (t->parent[*v] == 0) {
        *up = 0;
    } else {
        const int32_t beside = topology_sibling(t, *v);
        *up = beside < *v;
        *v = *up ? t->parent[*v] : beside;
    }
}

void topology_relabel(topology *out, const topology *t, const int32_t *taxon)
{
    const int32_t n_taxa = t->n_taxa;
    out->n_leaves = t->n_leaves;
    for (int32_t v = 0; v < topology_nodes(n_taxa); v++) {
        const int32_t to = v < n_taxa ? taxon[v] : v, above = t->parent[v];
        out->parent[to] = above < 0 ? -1 : above < n_taxa ? taxon[above] : above;
        for (int k = 0; k < 2; k++) {
            const int32_t child = v < n_taxa && (v > 0 || k > 0) ? -1 : t->child[v][k];
            out->child[to][k] = child >= 0 && child < n_taxa ? taxon[child] : child;
        }
    }
    /* On the path from taxon 0 to the leaf that was the root, parents become children. */
    int32_t below = -1, node = taxon[0] == 0 ? -1 : 0;
    while (node >= 0) {
        const int32_t above = out->parent[node];
        const int32_t slot = node < n_taxa ? 0 : out->child[node][0] != below;
        out->child[node][slot] = above;
        out->parent[node] = below;
        below = node;
        node = above;
    }
}
