#include "collapsed/tree_table.h"

#include "artreeformer.h"
#include "base/hash.h"
#include "base/mem.h"
#include "io/tensor_parts.h"
#include "train/checkpoint.h"

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
    free(t->slot);
    memset(t, 0, sizeof *t);
}

size_t tree_table_bytes(int n_taxa)
{
    const size_t taxa = (size_t)n_taxa;
    return (taxa - 3) * sizeof(int32_t) + (2 * taxa - 3) * sizeof(float) + 2 * sizeof(double) +
           sizeof(float) + sizeof(uint8_t) + 4 * sizeof(uint32_t);
}

size_t tree_table_capacity(int n_taxa, double bytes)
{
    return (size_t)fmax(1000, fmin(bytes / (double)tree_table_bytes(n_taxa), 1e9));
}

static size_t decision_bytes(const tree_table *t)
{
    return t->n_decisions * sizeof *t->decision;
}

/* The slot of a tree, or the free one where it would be. */
static size_t slot_of(const tree_table *t, const int32_t *decision)
{
    size_t at = hash_bytes(decision, decision_bytes(t)) & (t->slots - 1);
    while (t->slot[at] &&
           memcmp(tree_table_decision(t, t->slot[at] - 1), decision, decision_bytes(t)) != 0)
        at = (at + 1) & (t->slots - 1);
    return at;
}

int64_t tree_table_find(const tree_table *t, const int32_t *decision)
{
    return t->slots ? (int64_t)t->slot[slot_of(t, decision)] - 1 : -1;
}

static void fill_slots(tree_table *t)
{
    memset(t->slot, 0, t->slots * sizeof *t->slot);
    for (size_t i = 0; i < t->count; i++)
        t->slot[slot_of(t, tree_table_decision(t, i))] = (uint32_t)(i + 1);
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
    size_t room = t->room ? t->room : FIRST_ROOM, slots = 16;
    while (room < least)
        room *= 2;
    room = room > t->set.capacity ? t->set.capacity : room;
    while (slots < 2 * room)
        slots *= 2;
    if (resize(&t->decision, room, decision_bytes(t)) ||
        resize(&t->length, room, t->n_edges * sizeof *t->length) ||
        resize(&t->laplace, room, sizeof *t->laplace) ||
        resize(&t->log_evidence, room, sizeof *t->log_evidence) ||
        resize(&t->error, room, sizeof *t->error) || resize(&t->mark, room, sizeof *t->mark))
        return ART_ERR_NOMEM;
    if (slots != t->slots) {
        if (resize(&t->slot, slots, sizeof *t->slot))
            return ART_ERR_NOMEM;
        t->slots = slots;
        fill_slots(t);
    }
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
    fill_slots(t);
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
    t->slot[slot_of(t, e->decision)] = (uint32_t)t->count;
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

/* What a checkpoint holds of it. */
enum { PARTS = 8 };

static void list_parts(tensor_part out[PARTS], tree_table *t, size_t count)
{
    const tensor_part list[PARTS] = {
        {"table.counts", TENSOR_I64, 1, 2, t->counts},
        {"table.levels", TENSOR_F64, 1, 2, t->levels},
        {"table.decision", TENSOR_I32, count, t->n_decisions, t->decision},
        {"table.length", TENSOR_F32, count, t->n_edges, t->length},
        {"table.laplace", TENSOR_F64, count, 1, t->laplace},
        {"table.log_evidence", TENSOR_F64, count, 1, t->log_evidence},
        {"table.error", TENSOR_F32, count, 1, t->error},
        {"table.mark", TENSOR_U8, count, 1, t->mark},
    };
    memcpy(out, list, sizeof list);
}

int tree_table_save(tree_table *t, safetensors *s)
{
    tensor_part list[PARTS];
    t->counts[0] = t->evicted;
    t->counts[1] = t->refused;
    t->levels[0] = t->evicted ? t->floor : 0; /* no infinity in a file */
    t->levels[1] = t->offset;
    list_parts(list, t, t->count);
    return tensor_parts_save(s, list, PARTS);
}

int tree_table_load(tree_table *t, safetensors *s, const char *file, diag *d)
{
    const size_t count = tensor_rows(s, "table.decision");
    tensor_part list[PARTS];
    int status = ART_OK;
    t->count = 0;
    if (count > t->set.capacity)
        status = tensor_parts_error(d, file, "%zu topologies, more than there is room for", count);
    else if (count > t->room)
        status = grow(t, count);
    list_parts(list, t, count);
    if (!status)
        status = tensor_parts_load(list, PARTS, s, file, d);
    if (!status)
        status = checkpoint_trees(t->decision, count, t->n_taxa, file, d);
    if (!status) {
        t->evicted = t->counts[0];
        t->refused = t->counts[1];
        t->floor = t->evicted ? t->levels[0] : -HUGE_VAL;
        t->offset = t->levels[1];
        t->count = count;
    }
    if (t->slots)
        fill_slots(t);
    return status;
}
