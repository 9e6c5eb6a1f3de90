#include "density/artreeformer/trie.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void trie_init(trie *t, int n_taxa, int width)
{
    *t = (trie){.n_taxa = n_taxa, .power = 1, .width = width};
}

void trie_free(trie *t)
{
    free(t->entry);
    free(t->child);
    free(t->logit);
    free(t->sum);
    free(t->state);
    memset(t, 0, sizeof *t);
}

size_t trie_bytes(size_t entries, size_t edges, int width)
{
    const trie *t = NULL; /* for the sizes only */
    return entries * sizeof *t->entry +
           edges * (sizeof *t->child + sizeof *t->logit + sizeof *t->sum) +
           (entries + edges) * (size_t)width * sizeof *t->state;
}

/* Grows *array to count members of the given size; what is not touched costs no memory. */
static int grow(void **array, size_t count, size_t size)
{
    void *grown = mem_resize(*array, count, size);
    if (!grown)
        return ART_ERR_NOMEM;
    *array = grown;
    return ART_OK;
}

static int reserve_states(trie *t, size_t entries, size_t edges)
{
    const size_t rows = (entries > t->room_entries ? entries : t->room_entries) +
                        (edges > t->room_edges ? edges : t->room_edges);
    void *state = t->state;
    if (t->width == 0 || rows <= t->room_entries + t->room_edges)
        return ART_OK;
    int status = grow(&state, rows, (size_t)t->width * sizeof *t->state);
    t->state = state;
    return status;
}

int trie_reserve(trie *t, size_t entries, size_t edges)
{
    int status = reserve_states(t, entries, edges);
    if (status)
        return status;
    if (entries > t->room_entries) {
        void *entry = t->entry;
        status = grow(&entry, entries, sizeof *t->entry);
        t->entry = entry;
        if (status)
            return status;
        t->room_entries = entries;
    }
    if (edges > t->room_edges) {
        void *child = t->child, *logit = t->logit, *sum = t->sum;
        status = grow(&child, edges, sizeof *t->child);
        if (!status)
            status = grow(&logit, edges, sizeof *t->logit);
        if (!status)
            status = grow(&sum, edges, sizeof *t->sum);
        t->child = child;
        t->logit = logit;
        t->sum = sum;
        if (status)
            return status;
        t->room_edges = edges;
    }
    return ART_OK;
}

static int32_t append(trie *t, int32_t parent, int32_t decision, int32_t leaves)
{
    const int32_t number = (int32_t)t->n_entries++;
    const size_t edges = (size_t)topology_edges(leaves);
    t->entry[number] = (trie_entry){.parent = parent,
                                    .decision = decision,
                                    .leaves = leaves,
                                    .slot = TRIE_NONE,
                                    .mark = TRIE_NONE,
                                    .first = t->n_edges,
                                    .log_total = NAN};
    memset(t->child + t->n_edges, -1, edges * sizeof *t->child); /* TRIE_NONE */
    t->n_edges += edges;
    return number;
}

void trie_clear(trie *t)
{
    t->n_entries = 0;
    t->n_edges = 0;
    append(t, TRIE_NONE, TRIE_NONE, 3);
}

int32_t trie_add(trie *t, int32_t entry, int32_t edge)
{
    const int32_t child = append(t, entry, edge, t->entry[entry].leaves + 1);
    t->child[t->entry[entry].first + (size_t)edge] = child;
    return child;
}

void trie_set(trie *t, int32_t entry, const real *logit)
{
    trie_entry *e = &t->entry[entry];
    const int edges = topology_edges(e->leaves);
    real *kept = t->logit + e->first;
    double *sum = t->sum + e->first, top = -HUGE_VAL, total = 0;
    for (int i = 0; i < edges; i++) {
        kept[i] = t->power * logit[i];
        top = fmax(top, (double)kept[i]);
    }
    for (int i = 0; i < edges; i++) {
        total += exp((double)kept[i] - top);
        sum[i] = total;
    }
    e->log_total = top + log(total);
}

void trie_gradient(real *dlogit, const trie *t, int32_t entry, const double *weight)
{
    const trie_entry *e = &t->entry[entry];
    const int edges = topology_edges(e->leaves);
    const real *logit = t->logit + e->first;
    double total = 0;
    for (int i = 0; i < edges; i++)
        total += weight[i];
    for (int i = 0; i < edges; i++)
        dlogit[i] = (real)(weight[i] - total * exp((double)logit[i] - e->log_total));
}

int32_t trie_choose(trie *t, int32_t entry, double u)
{
    trie_entry *e = &t->entry[entry];
    const double *sum = t->sum + e->first;
    int32_t low = 0, high = topology_edges(e->leaves) - 1;
    const double total = sum[high], target = u * total;
    e->hits += e->hits < UINT32_MAX;
    /* u total may round up to total: then the last edge that adds to the sum */
    while (low < high) {
        const int32_t middle = (low + high) / 2;
        if (sum[middle] > target || sum[middle] == total)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void trie_tree(topology *tree, const trie *t, int32_t entry, int32_t *path)
{
    int depth = 0;
    for (int32_t i = entry; i != TRIE_ROOT; i = t->entry[i].parent)
        path[depth++] = t->entry[i].decision;
    topology_reset(tree);
    while (depth > 0)
        topology_attach(tree, path[--depth]);
}

void trie_insert(trie *t, const int32_t *decision)
{
    int32_t at = TRIE_ROOT;
    for (int n = 3; n < t->n_taxa - 1; n++) {
        const int32_t child = trie_child(t, at, decision[n - 3]);
        at = child == TRIE_NONE ? trie_add(t, at, decision[n - 3]) : child;
    }
}

/* The least number of hits such that the entries with so many fit; counts beyond the table are
 * treated alike. */
static uint32_t least_hits(const trie *t, size_t entries, size_t edges)
{
    enum { TABLE = 1024 };
    size_t n_entries[TABLE] = {0}, n_edges[TABLE] = {0};
    for (size_t i = 0; i < t->n_entries; i++) {
        const uint32_t hits = t->entry[i].hits < TABLE - 1 ? t->entry[i].hits : TABLE - 1;
        n_entries[hits]++;
        n_edges[hits] += (size_t)topology_edges(t->entry[i].leaves);
    }
    size_t kept_entries = 0, kept_edges = 0;
    uint32_t hits = TABLE;
    while (hits > 0 && kept_entries + n_entries[hits - 1] <= entries &&
           kept_edges + n_edges[hits - 1] <= edges) {
        hits--;
        kept_entries += n_entries[hits];
        kept_edges += n_edges[hits];
    }
    return hits == TABLE ? UINT32_MAX : hits;
}

/* Everything moves down within its array. First the new numbers, in mark; then the links; then
 * the entries themselves. */
void trie_evict(trie *t, size_t entries, size_t edges)
{
    const uint32_t least = least_hits(t, entries, edges);
    if (least > t->entry[TRIE_ROOT].hits) {
        trie_clear(t);
        return;
    }
    const size_t width = (size_t)t->width;
    int32_t number = 0;
    for (size_t i = 0; i < t->n_entries; i++)
        t->entry[i].mark = t->entry[i].hits >= least ? number++ : TRIE_NONE;
    size_t to = 0;
    for (size_t i = 0; i < t->n_entries; i++) {
        trie_entry *e = &t->entry[i];
        const size_t count = (size_t)topology_edges(e->leaves), from = e->first;
        if (e->mark == TRIE_NONE)
            continue;
        if (e->parent != TRIE_NONE)
            e->parent = t->entry[e->parent].mark;
        for (size_t j = 0; j < count; j++) {
            const int32_t child = t->child[from + j];
            t->child[to + j] = child == TRIE_NONE ? TRIE_NONE : t->entry[child].mark;
        }
        memmove(t->logit + to, t->logit + from, count * sizeof *t->logit);
        memmove(t->sum + to, t->sum + from, count * sizeof *t->sum);
        if (t->width > 0)
            memmove(t->state + (to + (size_t)e->mark) * width, t->state + (from + i) * width,
                    (count + 1) * width * sizeof *t->state);
        e->first = to;
        e->hits /= 2;
        to += count;
    }
    for (size_t i = 0; i < t->n_entries; i++) {
        const int32_t at = t->entry[i].mark;
        if (at == TRIE_NONE)
            continue;
        t->entry[at] = t->entry[i];
        t->entry[at].mark = t->entry[at].slot = TRIE_NONE;
    }
    t->n_entries = (size_t)number;
    t->n_edges = to;
}
