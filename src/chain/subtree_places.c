#include "chain/subtree_places.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "tree/rearrange.h"

#include <stdlib.h>
#include <string.h>

/* Places within twice the radius: 4 at a distance of 1, and twice as many with every further one.
 */
static int places_within(int radius)
{
    return 1 + 4 * ((1 << 2 * radius) - 1);
}

int subtree_places_init(subtree_places *x, int radius)
{
    *x = (subtree_places){.item = mem_zeros((size_t)places_within(radius), sizeof *x->item)};
    return x->item ? ART_OK : ART_ERR_NOMEM;
}

void subtree_places_free(subtree_places *x)
{
    free(x->item);
    memset(x, 0, sizeof *x);
}

size_t subtree_places_memory(int radius)
{
    return (size_t)places_within(radius) * sizeof(subtree_place);
}

static void add_place(subtree_places *x, int32_t node, int up, int before, int side)
{
    x->item[x->count++] = (subtree_place){
        .node = node, .up = up, .depth = x->item[before].depth + 1, .before = before, .side = side};
}

/* The places that follow number i. The part below v is not there, nor is its parent: what place 0
 * is made of are the branches above the sibling of v and above the parent. */
static void add_next(subtree_places *x, const topology *t, int i)
{
    const subtree_place p = x->item[i];
    const int32_t far = p.up ? t->parent[p.node] : p.node;
    if (far < t->n_taxa)
        return;
    if (p.up) {
        add_place(x, topology_sibling(t, p.node), 0, i, p.side);
        add_place(x, far, 1, i, p.side);
    } else {
        add_place(x, t->child[far][0], 0, i, p.side);
        add_place(x, t->child[far][1], 0, i, p.side);
    }
}

void subtree_places_list(subtree_places *x, const topology *t, int32_t v, int most)
{
    const int32_t hinge = t->parent[v];
    x->item[0] = (subtree_place){.node = topology_sibling(t, v)};
    x->count = 1;
    add_next(x, t, 0);
    if (t->parent[hinge] != 0) {
        add_place(x, topology_sibling(t, hinge), 0, 0, 1);
        add_place(x, t->parent[hinge], 1, 0, 1);
    }
    for (int i = 1; i < x->count; i++)
        if (x->item[i].depth < most)
            add_next(x, t, i);
}

int subtree_places_within(const subtree_places *x, int radius)
{
    int count = 0;
    while (count < x->count && x->item[count].depth <= radius)
        count++;
    return count;
}

/* Nodes between two places. */
static int distance(const subtree_places *x, int a, int b)
{
    const subtree_place *p = x->item;
    int from = a, to = b, nodes = 0;
    if (a == b)
        return 0;
    while (p[from].depth > p[to].depth && p[from].before != to) {
        from = p[from].before;
        nodes++;
    }
    while (p[to].depth > p[from].depth && p[to].before != from) {
        to = p[to].before;
        nodes++;
    }
    if (p[from].before == to || p[to].before == from)
        if (p[from].depth != p[to].depth)
            return nodes + 1;
    while (p[from].before != p[to].before) {
        from = p[from].before;
        to = p[to].before;
        nodes += 2;
    }
    return nodes + (p[from].before == 0 && p[from].side != p[to].side ? 2 : 1);
}

void subtree_places_mark(subtree_places *x, int centre, int radius)
{
    for (int i = 0; i < x->count; i++)
        x->item[i].is_near = distance(x, i, centre) <= radius;
    for (int i = x->count - 1; i >= 0; i--) {
        subtree_place *p = &x->item[i];
        p->is_needed |= p->is_near;
        if (i)
            x->item[p->before].is_needed |= p->is_needed;
    }
}
