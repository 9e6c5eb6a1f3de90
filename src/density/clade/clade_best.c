/* The k best trees, by lazy enumeration. A node (a clade; with CCD2, beside a sister) has a list of
 * its best ways so far, and a heap of candidates for the next one. A way is a split and the ranks
 * of the ways below it. The candidates after (s; i, j) are (s; i+1, j) and, if i is 0, (s; 0, j+1):
 * so each comes once. */
#include "density/clade/clade_parts.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <stdlib.h>

typedef struct way {
    double value; /* log of its probability */
    uint32_t split;
    uint32_t rank[2];
} way;

typedef struct ways {
    bool is_begun;
    way *list; /* [count] best first */
    size_t count, list_room;
    way *heap; /* [waiting] */
    size_t waiting, heap_room;
} ways;

typedef struct search {
    const clade_density *d;
    ways *node; /* [clades], then with CCD2 [2 splits] by context */
    int status;
} search;

/* The node of a clade in a context; NULL of a single taxon. */
static ways *node_of(const search *w, int64_t c, int64_t context)
{
    const clade_density *d = w->d;
    if (c < d->n_taxa)
        return NULL;
    bool own = context >= 0 && d->pair_begin[context] < d->pair_begin[context + 1];
    return &w->node[own ? (int64_t)d->clade_keys.count + context : c];
}

static bool is_before(const way *a, const way *b)
{
    if (a->value != b->value)
        return a->value > b->value;
    if (a->split != b->split)
        return a->split < b->split;
    return a->rank[0] != b->rank[0] ? a->rank[0] < b->rank[0] : a->rank[1] < b->rank[1];
}

static void heap_push(search *w, ways *x, way item)
{
    way *grown = mem_grow(x->heap, &x->heap_room, x->waiting, sizeof *grown);
    if (!grown) {
        w->status = ART_ERR_NOMEM;
        return;
    }
    x->heap = grown;
    size_t i = x->waiting++;
    for (; i > 0 && is_before(&item, &x->heap[(i - 1) / 2]); i = (i - 1) / 2)
        x->heap[i] = x->heap[(i - 1) / 2];
    x->heap[i] = item;
}

static way heap_pop(ways *x)
{
    const way first = x->heap[0], last = x->heap[--x->waiting];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= x->waiting)
            break;
        child += child + 1 < x->waiting && is_before(&x->heap[child + 1], &x->heap[child]);
        if (!is_before(&x->heap[child], &last))
            break;
        x->heap[i] = x->heap[child];
        i = child;
    }
    x->heap[i] = last;
    return first;
}

static const way *way_at(search *w, int64_t c, int64_t context, size_t rank);

/* The value of what is below a split with the ranks; false if there is none. */
static bool value_below(double *value, search *w, uint32_t s, const uint32_t rank[2])
{
    const clade_density *d = w->d;
    *value = 0;
    for (int side = 0; side < 2; side++) {
        const uint32_t part = d->split[s].part[side];
        if (part < (uint32_t)d->n_taxa) {
            if (rank[side] > 0)
                return false;
            continue;
        }
        const way *below = way_at(w, part, context_of(d, s, part), rank[side]);
        if (!below)
            return false;
        *value += below->value;
    }
    return true;
}

static void push_split(search *w, ways *x, uint32_t s, double log_p, uint32_t i, uint32_t j)
{
    way item = {.split = s, .rank = {i, j}};
    double below;
    if (!w->status && isfinite(log_p) && value_below(&below, w, s, item.rank)) {
        item.value = log_p + below;
        heap_push(w, x, item);
    }
}

/* log p of a split at a node. */
static double log_p_of(const search *w, int64_t context, uint32_t s)
{
    const clade_density *d = w->d;
    if (context < 0 || d->pair_begin[context] == d->pair_begin[context + 1])
        return log(d->p[s]);
    const clade_pair key = {(uint32_t)context, s};
    const int64_t at = key_table_find(&d->pair_keys, &key);
    return at < 0 ? -HUGE_VAL : log(d->pair_p[at]);
}

/* Way number `rank` of a node; NULL if there are not so many, or memory is short. */
static const way *way_at(search *w, int64_t c, int64_t context, size_t rank)
{
    const clade_density *d = w->d;
    ways *x = node_of(w, c, context);
    if (!x->is_begun) {
        x->is_begun = true;
        for (size_t k = d->split_begin[c]; k < d->split_begin[c + 1]; k++)
            push_split(w, x, d->split_list[k], log_p_of(w, context, d->split_list[k]), 0, 0);
    }
    while (x->count <= rank && x->waiting && !w->status) {
        const way next = heap_pop(x);
        const double log_p = log_p_of(w, context, next.split);
        way *grown = mem_grow(x->list, &x->list_room, x->count, sizeof *grown);
        if (!grown) {
            w->status = ART_ERR_NOMEM;
            return NULL;
        }
        x->list = grown;
        x->list[x->count++] = next;
        push_split(w, x, next.split, log_p, next.rank[0] + 1, next.rank[1]);
        if (next.rank[0] == 0)
            push_split(w, x, next.split, log_p, 0, next.rank[1] + 1);
    }
    return rank < x->count && !w->status ? &x->list[rank] : NULL;
}

/* The tree of way number `rank` of the root; parents of items carry the node, first the rank. */
static void read_off(int32_t *decision, const search *w, size_t rank, clade_scratch *s)
{
    const clade_density *d = w->d;
    int32_t n_items = 0, next = d->n_taxa;
    s->item[n_items++] =
        (clade_item){.clade = d->n_taxa, .context = KEY_NONE, .first = (int32_t)rank};
    while (n_items) {
        const clade_item at = s->item[--n_items];
        const int32_t v = at.clade < d->n_taxa ? (int32_t)at.clade : next++;
        s->tree.child[at.parent][at.side] = v;
        s->tree.parent[v] = at.parent;
        if (v < d->n_taxa)
            continue;
        const way *is = &node_of(w, at.clade, at.context)->list[at.first];
        for (int side = 0; side < 2; side++) {
            const uint32_t part = d->split[is->split].part[side];
            s->item[n_items++] = (clade_item){.clade = part,
                                              .context = context_of(d, is->split, part),
                                              .first = (int32_t)is->rank[side],
                                              .parent = v,
                                              .side = side};
        }
    }
    topology_decisions(decision, NULL, &s->tree, s->decisions);
}

int clade_density_best_trees(int32_t *decision, double *log_p, size_t *found,
                             const clade_density *d, size_t k)
{
    *found = 0;
    if (!d->fitted || d->used.observations > 0 || k > (size_t)INT32_MAX)
        return ART_ERR_USAGE;
    const size_t nodes =
        d->clade_keys.count + (d->kind == CLADE_CCD2 ? 2 * d->split_keys.count : 0);
    search w = {.d = d, .node = mem_zeros(nodes, sizeof *w.node)};
    clade_scratch s = {0};
    int status = w.node ? clade_scratch_init(&s, d) : ART_ERR_NOMEM;
    while (!status && *found < k) {
        const way *at = way_at(&w, d->n_taxa, KEY_NONE, *found);
        status = w.status;
        if (!at)
            break;
        log_p[*found] = at->value;
        read_off(decision + *found * (size_t)(d->n_taxa - 3), &w, *found, &s);
        ++*found;
    }
    for (size_t i = 0; i < nodes && w.node; i++) {
        free(w.node[i].list);
        free(w.node[i].heap);
    }
    free(w.node);
    clade_scratch_free(&s);
    return status;
}
