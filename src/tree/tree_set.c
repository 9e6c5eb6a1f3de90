#include "tree/tree_set.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "tree/saved_trees.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int tree_set_init(tree_set *s, const taxa *names)
{
    memset(s, 0, sizeof *s);
    if (names->count < 3)
        return ART_ERR_USAGE;
    s->share = 1;
    key_table_init(&s->keys, (size_t)(names->count - 3) * sizeof *s->decision);
    return taxa_copy(&s->taxa, names);
}

void tree_set_free(tree_set *s)
{
    taxa_free(&s->taxa);
    key_table_free(&s->keys);
    free(s->weight);
    memset(s, 0, sizeof *s);
}

static const int32_t *keys_of(const tree_set *s)
{
    return (const int32_t *)key_table_at(&s->keys, 0);
}

/* Makes room for this many more trees. */
static int make_room(tree_set *s, size_t more)
{
    int status = key_table_reserve(&s->keys, more);
    if (status || s->room == s->keys.room)
        return status;
    double *grown = mem_resize(s->weight, s->keys.room, sizeof *grown);
    if (!grown)
        return ART_ERR_NOMEM;
    s->weight = grown;
    s->room = s->keys.room;
    s->decision = keys_of(s);
    return ART_OK;
}

int tree_set_add(tree_set *s, const int32_t *decision, double weight)
{
    int status = make_room(s, 1);
    if (status)
        return status;
    const size_t i = key_table_put(&s->keys, decision);
    if (i == s->count) {
        s->count++;
        s->weight[i] = 0;
    }
    s->weight[i] += weight;
    s->total += weight;
    s->n_trees++;
    return ART_OK;
}

int64_t tree_set_find(const tree_set *s, const int32_t *decision)
{
    return key_table_find(&s->keys, decision);
}

typedef struct ranked {
    double weight;
    const tree_set *set;
    size_t index;
} ranked;

static int by_weight(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    const int32_t *p = tree_set_decision(x->set, x->index);
    const int32_t *q = tree_set_decision(y->set, y->index);
    for (int32_t i = 0; i < x->set->taxa.count - 3; i++)
        if (p[i] != q[i])
            return p[i] < q[i] ? -1 : 1;
    return 0;
}

int tree_set_normalise(tree_set *s)
{
    if (!(s->total > 0))
        return ART_ERR_USAGE;
    int status = ART_ERR_NOMEM;
    ranked *r = mem_zeros(s->count, sizeof *r);
    size_t *order = mem_zeros(s->count, sizeof *order);
    if (!r || !order)
        goto out;
    for (size_t i = 0; i < s->count; i++)
        r[i] = (ranked){s->weight[i], s, i};
    qsort(r, s->count, sizeof *r, by_weight);
    for (size_t i = 0; i < s->count; i++)
        order[i] = r[i].index;
    if ((status = key_table_reorder(&s->keys, order)) != ART_OK)
        goto out;
    s->decision = keys_of(s);
    for (size_t i = 0; i < s->count; i++)
        s->weight[i] = r[i].weight / s->total;
    s->total = 1;
out:
    free(r);
    free(order);
    return status;
}

/* Adds the trees of an open file, each with its share of 1/n_files. */
static int add_file(tree_set *s, split_table *splits, tree_sample *sample, tree_file *f,
                    size_t n_files, diag *d)
{
    int status = ART_OK;
    while (!status && tree_file_more(f)) {
        if ((status = tree_file_next(f, d)) != ART_OK)
            break;
        double weight = f->tree.weight / f->total / (double)n_files;
        if (weight == 0)
            continue;
        status = tree_set_add(s, f->tree.decision, weight);
        const double *length = f->rules.use != TREE_TOPOLOGY ? f->tree.length : NULL;
        if (!status && splits)
            status = split_table_add(splits, f->tree.decision, length, weight);
        if (!status && sample && length)
            status = tree_sample_add(sample, f->tree.decision, length, weight);
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
            if (!status && o.sample)
                tree_sample_init(o.sample, f.taxa->count);
            if (!o.taxa) {
                o.taxa = &s->taxa;
                o.taxa_from = path[0];
            }
        }
        if (!status)
            status = add_file(s, splits, o.sample, &f, n_paths, d);
        s->n_skipped += f.skipped;
        tree_file_free(&f);
    }
    return status ? status : tree_set_normalise(s);
}

int tree_set_fields(tree_set *set, saved_state *s)
{
    int64_t n_trees = (int64_t)set->n_trees;
    state_tree_keys(s, "trees.decision", &set->keys, set->taxa.count);
    if (state_loaded(s))
        state_fail(s, make_room(set, 0));
    set->count = set->keys.count;
    state_f64_array(s, "trees.weight", set->weight, set->count, 1);
    state_f64(s, "trees.total", &set->total);
    state_i64_in(s, "trees.added", &n_trees, 0, INT64_MAX);
    set->n_trees = (size_t)n_trees;
    if (state_loaded(s) && !(set->total >= 0))
        state_refuse(s, "trees with a total weight of %g", set->total);
    if (s->is_loading && s->status) {
        key_table_clear(&set->keys);
        set->count = 0;
    }
    return s->status;
}

size_t tree_set_credible(const tree_set *s, double share)
{
    double sum = 0;
    size_t i = 0;
    while (i < s->count && sum < share - 1e-12) /* the sum of all may miss 1 by rounding */
        sum += tree_set_probability(s, i++);
    return sum < share - 1e-12 ? 0 : i;
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
