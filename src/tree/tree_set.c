#include "tree/tree_set.h"

#include "artreeformer.h"
#include "base/hash.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int tree_set_init(tree_set *s, const taxa *names)
{
    memset(s, 0, sizeof *s);
    return names->count < 3 ? ART_ERR_USAGE : taxa_copy(&s->taxa, names);
}

void tree_set_free(tree_set *s)
{
    taxa_free(&s->taxa);
    free(s->decision);
    free(s->weight);
    free(s->slot);
    memset(s, 0, sizeof *s);
}

static size_t key_size(const tree_set *s)
{
    return (size_t)(s->taxa.count - 3) * sizeof *s->decision;
}

/* The slot of the topology, or the empty one where it would go. */
static size_t slot_of(const tree_set *s, const int32_t *decision)
{
    size_t size = key_size(s), at = (size_t)hash_bytes(decision, size) & (s->slots - 1);
    while (s->slot[at] && memcmp(tree_set_decision(s, s->slot[at] - 1), decision, size) != 0)
        at = (at + 1) & (s->slots - 1);
    return at;
}

static void fill_slots(tree_set *s)
{
    memset(s->slot, 0, s->slots * sizeof *s->slot);
    for (size_t i = 0; i < s->count; i++)
        s->slot[slot_of(s, tree_set_decision(s, i))] = (uint32_t)(i + 1);
}

static int make_room(tree_set *s)
{
    if (s->count < s->room)
        return ART_OK;
    size_t room = s->room ? 2 * s->room : 256;
    if (room > (size_t)1 << 31)
        return ART_ERR_LIMIT;
    int32_t *decision = mem_resize(s->decision, room, key_size(s));
    if (!decision)
        return ART_ERR_NOMEM;
    s->decision = decision;
    double *weight = mem_resize(s->weight, room, sizeof *weight);
    if (!weight)
        return ART_ERR_NOMEM;
    s->weight = weight;
    uint32_t *slot = mem_resize(s->slot, 2 * room, sizeof *slot);
    if (!slot)
        return ART_ERR_NOMEM;
    s->slot = slot;
    s->slots = 2 * room;
    s->room = room;
    fill_slots(s);
    return ART_OK;
}

int tree_set_add(tree_set *s, const int32_t *decision, double weight)
{
    int status = make_room(s);
    if (status)
        return status;
    size_t at = slot_of(s, decision);
    if (s->slot[at] == 0) {
        memcpy(s->decision + s->count * (size_t)(s->taxa.count - 3), decision, key_size(s));
        s->weight[s->count++] = 0;
        s->slot[at] = (uint32_t)s->count;
    }
    s->weight[s->slot[at] - 1] += weight;
    s->total += weight;
    s->n_trees++;
    return ART_OK;
}

int64_t tree_set_find(const tree_set *s, const int32_t *decision)
{
    return s->slots ? (int64_t)s->slot[slot_of(s, decision)] - 1 : TREE_NONE;
}

typedef struct ranked {
    double weight;
    const int32_t *decision;
    size_t n;
} ranked;

static int by_weight(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    for (size_t i = 0; i < x->n; i++)
        if (x->decision[i] != y->decision[i])
            return x->decision[i] < y->decision[i] ? -1 : 1;
    return 0;
}

int tree_set_normalise(tree_set *s)
{
    if (!(s->total > 0))
        return ART_ERR_USAGE;
    int status = ART_ERR_NOMEM;
    ranked *r = mem_zeros(s->count, sizeof *r);
    int32_t *decision = mem_zeros(s->room, key_size(s));
    if (!r || !decision)
        goto out;
    for (size_t i = 0; i < s->count; i++)
        r[i] = (ranked){s->weight[i], tree_set_decision(s, i), (size_t)(s->taxa.count - 3)};
    qsort(r, s->count, sizeof *r, by_weight);
    for (size_t i = 0; i < s->count; i++) {
        s->weight[i] = r[i].weight / s->total;
        memcpy(decision + i * r[i].n, r[i].decision, key_size(s));
    }
    free(s->decision);
    s->decision = decision;
    decision = NULL;
    s->total = 1;
    fill_slots(s);
    status = ART_OK;
out:
    free(r);
    free(decision);
    return status;
}

/* Adds the trees of an open file, each with its share of 1/n_files. */
static int add_file(tree_set *s, split_table *splits, tree_file *f, size_t n_files, diag *d)
{
    int status = ART_OK;
    while (!status && tree_file_more(f)) {
        if ((status = tree_file_next(f, d)) != ART_OK)
            break;
        double weight = f->tree.weight / f->total / (double)n_files;
        if (weight == 0)
            continue;
        status = tree_set_add(s, f->tree.decision, weight);
        const double *length = f->use == TREE_LENGTHS ? f->tree.length : NULL;
        if (!status && splits)
            status = split_table_add(splits, f->tree.decision, length, weight);
    }
    return status;
}

int tree_set_read(tree_set *s, split_table *splits, const char *const *path, size_t n_paths,
                  const tree_options *options, diag *d)
{
    tree_options o = options ? *options : (tree_options){0};
    memset(s, 0, sizeof *s);
    if (splits)
        memset(splits, 0, sizeof *splits);
    int status = n_paths ? ART_OK : ART_ERR_USAGE;
    for (size_t i = 0; i < n_paths && !status; i++) {
        tree_file f;
        status = tree_file_open(&f, path[i], &o, d);
        if (!status && i == 0) {
            status = tree_set_init(s, f.taxa);
            if (!status && splits)
                status = split_table_init(splits, f.taxa->count);
            if (!o.taxa) {
                o.taxa = &s->taxa;
                o.taxa_from = path[0];
            }
        }
        if (!status)
            status = add_file(s, splits, &f, n_paths, d);
        tree_file_free(&f);
    }
    return status ? status : tree_set_normalise(s);
}

size_t tree_set_credible(const tree_set *s, double share)
{
    double sum = 0;
    size_t i = 0;
    while (i < s->count && sum < share - 1e-12) /* the sum of all may miss 1 by rounding */
        sum += s->weight[i++];
    return i;
}

double tree_set_distance(const tree_set *p, const tree_set *q)
{
    double sum = 0;
    for (size_t i = 0; i < p->count; i++) {
        int64_t at = tree_set_find(q, tree_set_decision(p, i));
        sum += fabs(p->weight[i] - (at < 0 ? 0 : q->weight[at]));
    }
    for (size_t i = 0; i < q->count; i++)
        if (tree_set_find(p, tree_set_decision(q, i)) < 0)
            sum += q->weight[i];
    return sum / 2;
}
