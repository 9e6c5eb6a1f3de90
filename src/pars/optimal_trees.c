#include "pars/optimal_trees.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static size_t key_length(int32_t n_taxa)
{
    return 2 * (size_t)n_taxa - 3;
}

/* Room in the arrays for as many trees as the tables have room for. */
static int make_room(optimal_trees *o)
{
    int32_t **array[] = {&o->collapsed_of, &o->first, &o->count, &o->starts, &o->link};
    for (size_t i = 0; i < sizeof array / sizeof array[0]; i++) {
        const size_t room = i == 0 ? o->resolved.room : o->collapsed.room;
        int32_t *grown = mem_resize(*array[i], room, sizeof *grown);
        if (!grown)
            return ART_ERR_NOMEM;
        *array[i] = grown;
    }
    return ART_OK;
}

int optimal_trees_init(optimal_trees *o, int32_t n_taxa, size_t most)
{
    memset(o, 0, sizeof *o);
    o->n_taxa = n_taxa;
    o->most = most;
    key_table_init(&o->resolved, ((size_t)n_taxa - 3) * sizeof(int32_t));
    key_table_init(&o->collapsed, key_length(n_taxa) * sizeof(int32_t));
    return ART_OK;
}

void optimal_trees_free(optimal_trees *o)
{
    key_table_free(&o->resolved);
    key_table_free(&o->collapsed);
    free(o->collapsed_of);
    free(o->first);
    free(o->count);
    free(o->starts);
    free(o->link);
    memset(o, 0, sizeof *o);
}

void optimal_trees_clear(optimal_trees *o)
{
    key_table_clear(&o->resolved);
    key_table_clear(&o->collapsed);
    o->is_full = o->is_partial = false;
}

int optimal_trees_add(optimal_trees *o, int32_t *number, const int32_t *decision,
                      const int32_t *key)
{
    const int64_t known = key_table_find(&o->collapsed, key);
    *number = known == KEY_NONE ? -1 : (int32_t)known;
    if (key_table_find(&o->resolved, decision) != KEY_NONE)
        return ART_OK;
    if (known != KEY_NONE && o->count[known] >= RESOLVED_MOST) {
        o->is_partial = true;
        return ART_OK;
    }
    if (o->resolved.count >= o->most) {
        o->is_full = true;
        return ART_OK;
    }
    int status = key_table_reserve(&o->resolved, 1);
    if (!status)
        status = key_table_reserve(&o->collapsed, 1);
    if (!status)
        status = make_room(o);
    if (status)
        return status;
    const size_t tree = key_table_put(&o->resolved, decision);
    const size_t form = key_table_put(&o->collapsed, key);
    if (known == KEY_NONE) {
        o->first[form] = (int32_t)tree;
        o->count[form] = o->starts[form] = 0;
        o->link[form] = (int32_t)form;
    }
    o->collapsed_of[tree] = *number = (int32_t)form;
    o->count[form]++;
    return ART_OK;
}

int32_t optimal_trees_island(const optimal_trees *o, int32_t number)
{
    while (o->link[number] != number)
        number = o->link[number];
    return number;
}

void optimal_trees_connect(optimal_trees *o, int32_t a, int32_t b)
{
    const int32_t x = optimal_trees_island(o, a), y = optimal_trees_island(o, b);
    const int32_t low = x < y ? x : y, high = x < y ? y : x;
    if (low != high)
        o->starts[low] += o->starts[high];
    o->link[high] = o->link[a] = o->link[b] = low;
}

void optimal_trees_end_start(optimal_trees *o, int32_t number)
{
    o->starts[optimal_trees_island(o, number)]++;
}

int32_t optimal_trees_islands(const optimal_trees *o, int32_t *rare)
{
    int32_t islands = 0;
    *rare = 0;
    for (int32_t i = 0; i < (int32_t)o->collapsed.count; i++) {
        islands += o->link[i] == i;
        *rare += o->link[i] == i && o->starts[i] < 2;
    }
    return islands;
}

/* Whether loaded numbers refer to trees that there are. */
static bool numbers_are_right(const optimal_trees *o)
{
    const int32_t trees = (int32_t)o->resolved.count, forms = (int32_t)o->collapsed.count;
    for (int32_t i = 0; i < trees; i++)
        if (o->collapsed_of[i] < 0 || o->collapsed_of[i] >= forms)
            return false;
    for (int32_t i = 0; i < forms; i++)
        if (o->first[i] < 0 || o->first[i] >= trees || o->collapsed_of[o->first[i]] != i ||
            o->count[i] < 1 || o->starts[i] < 0 || o->link[i] < 0 || o->link[i] > i)
            return false;
    return decisions_are_trees(optimal_tree(o, 0), o->resolved.count, o->n_taxa);
}

int optimal_trees_fields(optimal_trees *o, saved_state *s)
{
    state_bool(s, "optimal.is_full", &o->is_full);
    state_bool(s, "optimal.is_partial", &o->is_partial);
    state_keys(s, "optimal.resolved", &o->resolved, TENSOR_I32);
    state_keys(s, "optimal.collapsed", &o->collapsed, TENSOR_I32);
    if (state_loaded(s))
        state_fail(s, make_room(o));
    const size_t trees = o->resolved.count, forms = o->collapsed.count;
    state_i32_array(s, "optimal.collapsed_of", o->collapsed_of, trees, 1);
    state_i32_array(s, "optimal.first", o->first, forms, 1);
    state_i32_array(s, "optimal.count", o->count, forms, 1);
    state_i32_array(s, "optimal.starts", o->starts, forms, 1);
    state_i32_array(s, "optimal.link", o->link, forms, 1);
    if (state_loaded(s) && !numbers_are_right(o))
        state_refuse(s, "invalid optimal trees");
    return s->status;
}

void collapsed_key(int32_t *key, const int32_t *decision, fitch_tree *all, int64_t *length)
{
    enum { COLLAPSED = -2 };
    fitch_tree_set(all, decision);
    fitch_tree_lengths(all, length);
    const topology *t = &all->tree;
    const int32_t n_taxa = all->n_taxa, top = t->child[0][0];
    int32_t *number = all->scratch, *inner = key + n_taxa - 1, count = 0;
    for (int32_t v = 0; v < topology_nodes(n_taxa); v++)
        number[v] = -1;
    for (size_t i = 0; i < key_length(n_taxa); i++)
        key[i] = COLLAPSED;
    for (int32_t taxon = 1; taxon < n_taxa; taxon++) {
        int32_t *entry = key + taxon - 1, v = taxon;
        for (;;) {
            if (v == top) {
                *entry = -1;
                break;
            }
            v = t->parent[v];
            while (v != top && length[v] == 0)
                v = t->parent[v];
            if (number[v] >= 0) {
                *entry = number[v];
                break;
            }
            number[v] = *entry = count;
            entry = inner + count++;
        }
    }
}
