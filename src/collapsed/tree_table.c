#include "collapsed/tree_table.h"

#include "artreeformer.h"
#include "base/hash.h"
#include "base/mem.h"
#include "tree/saved_trees.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 1024 };

int tree_table_init(tree_table *t, int n_taxa, size_t capacity)
{
    memset(t, 0, sizeof *t);
    if (n_taxa < 3 || capacity < 8 || capacity >= (size_t)1 << 31)
        return ART_ERR_USAGE;
    t->n_taxa = n_taxa;
    t->n_decisions = (size_t)n_taxa - 3;
    t->n_edges = 2 * (size_t)n_taxa - 3;
    t->set = collapsed_defaults(0).table;
    t->set.capacity = capacity;
    t->floor = -HUGE_VAL;
    return ART_OK;
}

void tree_table_free(tree_table *t)
{
    free(t->decision);
    free(t->length);
    free(t->laplace);
    free(t->log_evidence);
    free(t->error);
    free(t->mark);
    hash_index_free(&t->index);
    memset(t, 0, sizeof *t);
}

void tree_table_clear(tree_table *t)
{
    const table_settings set = t->set;
    const int n_taxa = t->n_taxa;
    tree_table_free(t);
    tree_table_init(t, n_taxa, set.capacity); /* nothing that could fail: it was one before */
    t->set = set;
}

size_t tree_table_bytes(int n_taxa)
{
    const size_t taxa = (size_t)n_taxa;
    return (taxa - 3) * sizeof(int32_t) + (2 * taxa - 3) * sizeof(float) + 2 * sizeof(double) +
           sizeof(float) + sizeof(uint8_t) + 2 * sizeof(hash_slot); /* 4/3 to 8/3 slots each */
}

size_t tree_table_capacity(int n_taxa, double bytes)
{
    return (size_t)fmax(1000, fmin(bytes / (double)tree_table_bytes(n_taxa), 1e9));
}

static size_t decision_bytes(const tree_table *t)
{
    return t->n_decisions * sizeof *t->decision;
}

static uint64_t hash_of(const tree_table *t, const int32_t *decision)
{
    return hash_bytes(decision, decision_bytes(t));
}

static bool is_tree(const void *items, uint32_t item, const void *key)
{
    const tree_table *t = items;
    return memcmp(tree_table_decision(t, item), key, decision_bytes(t)) == 0;
}

int64_t tree_table_find(const tree_table *t, const int32_t *decision)
{
    return hash_index_find(&t->index, hash_of(t, decision), is_tree, t, decision);
}

static void fill_index(tree_table *t)
{
    hash_index_clear(&t->index);
    for (size_t i = 0; i < t->count; i++)
        hash_index_insert(&t->index, (uint32_t)i, hash_of(t, tree_table_decision(t, i)));
}

/* The array at *array, `width` bytes per tree, with room for more. */
static int resize(void *array, size_t room, size_t width)
{
    void *old, *new;
    memcpy(&old, array, sizeof old);
    new = mem_resize(old, room, width);
    if (!new)
        return ART_ERR_NOMEM;
    memcpy(array, &new, sizeof new);
    return ART_OK;
}

static int grow(tree_table *t, size_t least)
{
    size_t room = t->room ? t->room : FIRST_ROOM;
    while (room < least)
        room *= 2;
    room = room > t->set.capacity ? t->set.capacity : room;
    if (resize(&t->decision, room, decision_bytes(t)) ||
        resize(&t->length, room, t->n_edges * sizeof *t->length) ||
        resize(&t->laplace, room, sizeof *t->laplace) ||
        resize(&t->log_evidence, room, sizeof *t->log_evidence) ||
        resize(&t->error, room, sizeof *t->error) || resize(&t->mark, room, sizeof *t->mark) ||
        hash_index_reserve(&t->index, room))
        return ART_ERR_NOMEM;
    t->room = room;
    return ART_OK;
}

static void copy_entry(tree_table *t, size_t to, size_t from)
{
    memmove(t->decision + to * t->n_decisions, t->decision + from * t->n_decisions,
            decision_bytes(t));
    memmove(t->length + to * t->n_edges, t->length + from * t->n_edges,
            t->n_edges * sizeof *t->length);
    t->laplace[to] = t->laplace[from];
    t->log_evidence[to] = t->log_evidence[from];
    t->error[to] = t->error[from];
    t->mark[to] = t->mark[from];
}

static int falling(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* A part of the trees, those with the least laplace, goes. */
static int evict(tree_table *t)
{
    double *sorted = mem_zeros(t->count, sizeof *sorted);
    if (!sorted)
        return ART_ERR_NOMEM;
    memcpy(sorted, t->laplace, t->count * sizeof *sorted);
    qsort(sorted, t->count, sizeof *sorted, falling);
    const size_t part = t->count / (size_t)t->set.evicted_part;
    t->floor = sorted[t->count - (part ? part : 1)];
    free(sorted);
    size_t kept = 0;
    for (size_t i = 0; i < t->count; i++)
        if (t->laplace[i] > t->floor)
            copy_entry(t, kept++, i);
    t->evicted += (int64_t)(t->count - kept);
    t->count = kept;
    fill_index(t);
    return ART_OK;
}

int tree_table_add(tree_table *t, int64_t *at, const tree_entry *e)
{
    int status;
    *at = -1;
    if (e->laplace <= t->floor) {
        t->refused++;
        return ART_OK;
    }
    if (t->count == t->set.capacity && (status = evict(t)))
        return status;
    if (t->count == t->room && (status = grow(t, t->count + 1)))
        return status;
    if (e->laplace <= t->floor) {
        t->refused++;
        return ART_OK;
    }
    const size_t i = t->count++;
    memcpy(t->decision + i * t->n_decisions, e->decision, decision_bytes(t));
    t->error[i] = -1;
    t->mark[i] = e->mark;
    tree_table_update(t, i, e->length, e->laplace);
    hash_index_insert(&t->index, (uint32_t)i, hash_of(t, e->decision));
    *at = (int64_t)i;
    return ART_OK;
}

void tree_table_update(tree_table *t, size_t i, const double *length, double laplace)
{
    for (size_t k = 0; k < t->n_edges; k++)
        t->length[i * t->n_edges + k] = (float)length[k];
    t->laplace[i] = laplace;
    if (t->error[i] < 0)
        t->log_evidence[i] = laplace + t->offset;
}

void tree_table_set_offset(tree_table *t, double offset)
{
    t->offset = offset;
    for (size_t i = 0; i < t->count; i++)
        if (t->error[i] < 0)
            t->log_evidence[i] = t->laplace[i] + offset;
}

void tree_table_lengths(double *length, const tree_table *t, size_t i)
{
    for (size_t k = 0; k < t->n_edges; k++)
        length[k] = (double)t->length[i * t->n_edges + k];
}

void tree_table_forget_lengths(tree_table *t)
{
    free(t->length);
    t->length = NULL;
}

double tree_table_log_sum(const tree_table *t, uint8_t with, uint8_t without)
{
    double top = -HUGE_VAL, sum = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < t->count; i++) {
            if ((t->mark[i] & with) != with || t->mark[i] & without)
                continue;
            if (pass == 0)
                top = fmax(top, t->log_evidence[i]);
            else
                sum += exp(t->log_evidence[i] - top);
        }
    return sum > 0 ? top + log(sum) : -HUGE_VAL;
}

int64_t tree_table_best(const tree_table *t)
{
    int64_t best = -1;
    for (size_t i = 0; i < t->count; i++)
        if (best < 0 || t->log_evidence[i] > t->log_evidence[best])
            best = (int64_t)i;
    return best;
}

int tree_table_fields(tree_table *t, saved_state *s)
{
    const size_t count = state_rows(s, "table.decision", t->count, t->n_decisions);
    if (s->is_loading)
        t->count = 0;
    if (count > t->set.capacity)
        state_refuse(s, "%zu topologies, more than there is room for", count);
    else if (count > t->room)
        state_fail(s, grow(t, count));
    state_i64_in(s, "table.evicted", &t->evicted, 0, INT64_MAX);
    state_i64_in(s, "table.refused", &t->refused, 0, INT64_MAX);
    state_f64(s, "table.floor", &t->floor);
    state_f64(s, "table.offset", &t->offset);
    state_trees(s, "table.decision", t->decision, count, t->n_taxa);
    state_f32_array(s, "table.length", t->length, count, t->n_edges);
    state_f64_array(s, "table.laplace", t->laplace, count, 1);
    state_f64_array(s, "table.log_evidence", t->log_evidence, count, 1);
    state_f32_array(s, "table.error", t->error, count, 1);
    state_u8_array(s, "table.mark", t->mark, count, 1);
    if (state_loaded(s))
        t->count = count;
    if (s->is_loading)
        fill_index(t);
    return s->status;
}
