/* The root of a consensus tree: finding its branch, and turning the tree around. */
#include "artreeformer.h"
#include "base/mem.h"
#include "tree/consensus.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A point on the branch above a node. */
typedef struct root_place {
    int32_t node;  /* 0: there is none */
    double share;  /* of the branch that is between its upper end and the point */
    bool is_below; /* the outgroup is below the node */
} root_place;

/* The branch with the outgroup on one side; node 0 if there is none. block has room for 2 count. */
static root_place find_outgroup(const consensus *c, const rooting *r, int32_t *block)
{
    int32_t *members = block, *size = block + c->count;
    memset(block, 0, 2 * (size_t)c->count * sizeof *block);
    for (int32_t i = 0; i < c->count; i++)
        for (int32_t k = 0; k < r->count && c->node[i].taxon >= 0; k++)
            members[i] |= c->node[i].taxon == r->taxon[k];
    for (int32_t i = c->count - 1; i > 0; i--) {
        size[i] += c->node[i].taxon >= 0;
        members[c->node[i].parent] += members[i];
        size[c->node[i].parent] += size[i];
        if (members[i] == r->count && size[i] == r->count)
            return (root_place){i, 0.5, true};
        if (members[i] == 0 && size[i] == c->n_taxa - r->count)
            return (root_place){i, 0.5, false};
    }
    return (root_place){0};
}

static root_place find_taxon(const consensus *c, int32_t taxon)
{
    int32_t i = 1;
    while (c->node[i].taxon != taxon)
        i++;
    return (root_place){i, 0.5, true};
}

/* The middle of the longest path. far [count] is the distance of the farthest taxon below each
 * node, next [count] the child on the way there; the path turns where two such ways together are
 * longest. */
static root_place find_midpoint(const consensus *c, double *far, int32_t *next)
{
    double longest = -1, to_go = 0;
    int32_t turn = 0;
    memset(far, 0, (size_t)c->count * sizeof *far);
    memset(next, 0, (size_t)c->count * sizeof *next);
    for (int32_t i = c->count - 1; i > 0; i--) {
        const int32_t parent = c->node[i].parent;
        const double way = far[i] + c->node[i].length;
        if (isnan(c->node[i].length))
            return (root_place){0};
        if (next[parent] && way + far[parent] > longest) {
            longest = way + far[parent];
            to_go = fabs(way - far[parent]) / 2;
            turn = parent;
        }
        if (!next[parent] || way > far[parent]) {
            far[parent] = way;
            next[parent] = i;
        }
    }
    if (!next[turn])
        return (root_place){0};
    int32_t node = next[turn];
    while (to_go > c->node[node].length && next[node]) {
        to_go -= c->node[node].length;
        node = next[node];
    }
    const double length = c->node[node].length;
    return (root_place){node, length > 0 ? fmin(1, to_go / length) : 0.5, true};
}

/* A part of a branch: what is known about its length is scaled. */
static consensus_node part_of(consensus_node node, double share)
{
    node.length *= share;
    node.length_sd *= share;
    node.range.mean *= share;
    node.range.median *= share;
    node.range.low *= share;
    node.range.high *= share;
    return node;
}

/* The branch of node a, with the end of node b. */
static consensus_node branch_at(consensus_node a, const consensus_node *b)
{
    a.taxon = b->taxon;
    return a;
}

/* Turned nodes: those of the tree keep their numbers, the root has the number count. */
typedef struct turning {
    consensus_node *node; /* [count + 1], with parents in these numbers */
    int32_t *first;       /* first child of each, -1 if there is none */
    int32_t *last, *next; /* last child; next child of the same parent, -1 at the end */
    int32_t *leaf;        /* [n_taxa] */
    int32_t *place;       /* number in the order of the text */
} turning;

static void turn_around(turning *t, const consensus *c, root_place at)
{
    const int32_t root = c->count;
    const consensus_node *old = c->node;
    memcpy(t->node, old, (size_t)c->count * sizeof *old);
    t->node[root] = old[0];
    t->node[root].taxon = -1;
    t->node[root].parent = -1;
    t->node[at.node] = part_of(old[at.node], 1 - at.share);
    t->node[at.node].parent = root;
    int32_t below = root; /* the new parent */
    consensus_node branch = part_of(old[at.node], at.share);
    for (int32_t v = old[at.node].parent; v >= 0; v = old[v].parent) {
        t->node[v] = branch_at(branch, &old[v]);
        t->node[v].parent = below;
        branch = old[v];
        below = v;
    }
}

static void append_child(turning *t, int32_t parent, int32_t child)
{
    if (t->last[parent] >= 0)
        t->next[t->last[parent]] = child;
    else
        t->first[parent] = child;
    t->last[parent] = child;
}

/* Children in the order of their smallest taxon; at the root the outgroup first. */
static void list_children(turning *t, const consensus *c, root_place at, bool has_outgroup)
{
    const int32_t root = c->count;
    for (int32_t i = 0; i <= root; i++)
        t->first[i] = t->last[i] = t->next[i] = -1;
    for (int32_t i = 0; i < root; i++)
        if (t->node[i].taxon >= 0)
            t->leaf[t->node[i].taxon] = i;
    for (int32_t taxon = 0; taxon < c->n_taxa; taxon++) {
        bool is_new = true;
        for (int32_t v = t->leaf[taxon]; is_new && v != root; v = t->node[v].parent) {
            is_new = t->first[t->node[v].parent] < 0;
            append_child(t, t->node[v].parent, v);
        }
    }
    const int32_t a = t->first[root], b = t->last[root];
    if (has_outgroup && (a == at.node) != at.is_below) {
        t->first[root] = b;
        t->next[b] = a;
        t->next[a] = -1;
    }
}

/* The nodes in the order of the text. */
static void renumber(consensus_node *out, turning *t, int32_t root)
{
    int32_t count = 0;
    for (int32_t at = root; at >= 0;) {
        t->place[at] = count;
        out[count] = t->node[at];
        out[count].parent = at == root ? -1 : t->place[t->node[at].parent];
        count++;
        if (t->first[at] >= 0) {
            at = t->first[at];
            continue;
        }
        while (at >= 0 && t->next[at] < 0)
            at = t->node[at].parent;
        at = at < 0 ? -1 : t->next[at];
    }
}

int consensus_root(consensus *c, const rooting *r, bool *is_clade)
{
    if (is_clade)
        *is_clade = true;
    if (!r || r->kind == ROOT_NOWHERE)
        return ART_OK;
    const size_t n = (size_t)c->count + 1;
    int32_t *block = mem_zeros(4 * n + (size_t)c->n_taxa, sizeof *block);
    double *far = mem_zeros(n, sizeof *far);
    turning t = {.node = mem_zeros(n, sizeof *t.node), .first = block};
    consensus_node *out = mem_zeros(n, sizeof *out);
    int status = block && far && t.node && out ? ART_OK : ART_ERR_NOMEM;
    if (status)
        goto out;
    root_place at = {0};
    if (r->kind == ROOT_MIDPOINT) {
        at = find_midpoint(c, far, block);
    } else {
        at = find_outgroup(c, r, block);
        if (is_clade)
            *is_clade = at.node != 0;
        if (!at.node)
            at = find_taxon(c, r->taxon[0]);
    }
    if (!at.node)
        goto out;
    t.last = t.first + n;
    t.next = t.last + n;
    t.place = t.next + n;
    t.leaf = t.place + n;
    turn_around(&t, c, at);
    list_children(&t, c, at, r->kind == ROOT_OUTGROUP);
    renumber(out, &t, c->count);
    free(c->node);
    c->node = out;
    c->count++;
    c->is_rooted = true;
    out = NULL;
out:
    free(block);
    free(far);
    free(t.node);
    free(out);
    return status;
}
