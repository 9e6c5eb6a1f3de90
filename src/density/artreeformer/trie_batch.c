#include "density/artreeformer/trie_batch.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* For arrays whose content is not needed any more. */
static void *renew(void *block, size_t count, size_t size)
{
    free(block);
    return mem_resize(NULL, count, size);
}

int trie_batch_reserve(trie_batch *b, int n_taxa, int k)
{
    const size_t trees = (size_t)k, entries = trie_tree_entries(n_taxa) * trees;
    if (trees <= b->room)
        return ART_OK;
    b->room = 0;
    b->stream = renew(b->stream, trees, sizeof *b->stream);
    b->at = renew(b->at, trees, sizeof *b->at);
    b->list = renew(b->list, entries + 1, sizeof *b->list);
    b->offset = renew(b->offset, entries + 2, sizeof *b->offset);
    if (!b->stream || !b->at || !b->list || !b->offset)
        return ART_ERR_NOMEM;
    b->room = trees;
    return ART_OK;
}

int trie_batch_reserve_gradient(trie_batch *b, int n_taxa, int k)
{
    const size_t edges = trie_tree_edges(n_taxa) * (size_t)k + 1;
    if (edges <= b->room_weight)
        return ART_OK;
    b->room_weight = 0;
    b->weight = renew(b->weight, edges, sizeof *b->weight);
    if (!b->weight)
        return ART_ERR_NOMEM;
    b->room_weight = edges;
    return ART_OK;
}

void trie_batch_free(trie_batch *b)
{
    free(b->stream);
    free(b->at);
    free(b->list);
    free(b->offset);
    free(b->weight);
    memset(b, 0, sizeof *b);
}

void trie_batch_start(trie_batch *b, const trie *t, int k)
{
    b->n_list = 0;
    if (t->n_taxa > 3 && !trie_is_set(t, TRIE_ROOT))
        b->list[b->n_list++] = TRIE_ROOT;
    for (int i = 0; i < k; i++)
        b->at[i] = TRIE_ROOT;
}

/* Tree i takes an edge; if that leads to a new entry, it goes on the list. */
static void descend(trie_batch *b, trie *t, int i, int32_t edge)
{
    int32_t child = trie_child(t, b->at[i], edge);
    if (child == TRIE_NONE) {
        child = trie_add(t, b->at[i], edge);
        b->list[b->n_list++] = child;
    }
    b->at[i] = child;
}

void trie_batch_choose(trie_batch *b, trie *t, int32_t *decision, double *log_q, int k, int n)
{
    const int steps = t->n_taxa - 3;
    for (int i = 0; i < k; i++) {
        const int32_t edge = trie_choose(t, b->at[i], rng_uniform(&b->stream[i]));
        decision[(ptrdiff_t)i * steps + n - 3] = edge;
        log_q[i] += trie_log_prob(t, b->at[i], edge);
        if (n + 1 < t->n_taxa)
            descend(b, t, i, edge);
    }
}

void trie_batch_insert(trie_batch *b, trie *t, const int32_t *decision, int k)
{
    const int steps = t->n_taxa - 3;
    for (int n = 3; n + 1 < t->n_taxa; n++)
        for (int i = 0; i < k; i++)
            descend(b, t, i, decision[(ptrdiff_t)i * steps + n - 3]);
}

void trie_batch_log_q(trie *t, double *log_q, const int32_t *decision, int k)
{
    for (int i = 0; i < k; i++) {
        int32_t at = TRIE_ROOT;
        log_q[i] = 0;
        for (int n = 3; n < t->n_taxa; n++, decision++) {
            log_q[i] += trie_log_prob(t, at, *decision);
            at = trie_child(t, at, *decision);
        }
    }
}

void trie_batch_collect(trie_batch *b, trie *t, const int32_t *decision, const double *coefficient,
                        int k)
{
    const int steps = t->n_taxa - 3;
    b->n_list = 0;
    b->offset[0] = 0;
    for (int i = 0; i < k; i++)
        b->at[i] = TRIE_ROOT;
    for (int n = 3; n < t->n_taxa; n++) {
        const size_t edges = (size_t)topology_edges(n);
        for (int i = 0; i < k; i++) {
            const int32_t edge = decision[(ptrdiff_t)i * steps + n - 3];
            trie_entry *e = &t->entry[b->at[i]];
            if (e->mark == TRIE_NONE) {
                const size_t from = b->offset[b->n_list];
                e->mark = (int32_t)b->n_list;
                b->list[b->n_list++] = b->at[i];
                b->offset[b->n_list] = from + edges;
                memset(b->weight + from, 0, edges * sizeof *b->weight);
            }
            b->weight[b->offset[e->mark] + (size_t)edge] += coefficient[i];
            b->at[i] = trie_child(t, b->at[i], edge);
        }
    }
}

void trie_batch_unmark(const trie_batch *b, trie *t)
{
    for (size_t i = 0; i < b->n_list; i++)
        t->entry[b->list[i]].mark = TRIE_NONE;
}

bool trie_batch_has(const trie *t, const int32_t *decision, int k)
{
    for (int i = 0; i < k; i++, decision += t->n_taxa - 3) {
        int32_t at = TRIE_ROOT;
        for (int n = 3; n + 1 < t->n_taxa && at != TRIE_NONE; n++)
            at = trie_child(t, at, decision[n - 3]);
        if (at == TRIE_NONE)
            return false;
    }
    return true;
}
