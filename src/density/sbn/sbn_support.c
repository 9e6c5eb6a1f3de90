/* The tables: which root splits and pairs there are, and which of them a tree has. */
#include "density/sbn/sbn.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int sbn_scratch_init(sbn_scratch *s, int32_t n_taxa)
{
    size_t n = (size_t)n_taxa;
    memset(s, 0, sizeof *s);
    s->n_taxa = n_taxa;
    s->log_floor = -INFINITY;
    int status = topology_init(&s->tree, n_taxa);
    if (status)
        return status;
    s->integers = mem_zeros((20 + 2 * SBN_ENTRIES) * n, sizeof *s->integers);
    s->key = mem_zeros(2 * n, sizeof *s->key);
    s->numbers = mem_zeros(10 * n, sizeof *s->numbers);
    if (!s->integers || !s->key || !s->numbers) {
        sbn_scratch_free(s);
        return ART_ERR_NOMEM;
    }
    s->order = s->integers;
    s->decisions = s->order + 2 * n;
    s->down = s->decisions + 6 * n;
    s->up = s->down + 2 * n;
    s->stack = s->up + 2 * n;
    s->entry = s->stack + 8 * n;
    s->u_down = s->numbers;
    s->u_up = s->u_down + 2 * n;
    s->root = s->u_up + 2 * n;
    s->behind_down = s->root + 2 * n;
    s->behind_up = s->behind_down + 2 * n;
    return ART_OK;
}

void sbn_scratch_free(sbn_scratch *s)
{
    topology_free(&s->tree);
    free(s->integers);
    free(s->key);
    free(s->numbers);
    memset(s, 0, sizeof *s);
}

int sbn_reserve_clades(sbn *b, size_t more)
{
    int status = key_table_reserve(&b->clade_keys, more);
    if (status || b->clade_room >= b->clade_keys.room)
        return status;
    int32_t *size = mem_resize(b->clade_size, b->clade_keys.room, sizeof *size);
    if (size)
        b->clade_size = size;
    int32_t(*part)[2] = mem_resize(b->clade_part, b->clade_keys.room, sizeof *part);
    if (part)
        b->clade_part = part;
    if (!size || !part)
        return ART_ERR_NOMEM;
    b->clade_room = b->clade_keys.room;
    return ART_OK;
}

int32_t sbn_put_clade(sbn *b, clade_key key, int32_t x, int32_t y)
{
    size_t known = b->clade_keys.count, c = key_table_put(&b->clade_keys, &key);
    if (c == known) {
        b->clade_size[c] = x < 0 ? 1 : b->clade_size[x] + b->clade_size[y];
        b->clade_part[c][0] = x;
        b->clade_part[c][1] = y;
    }
    return (int32_t)c;
}

int sbn_create(sbn **out, int32_t n_taxa)
{
    *out = NULL;
    if (n_taxa < 3 || n_taxa > TOPOLOGY_MAX_TAXA)
        return ART_ERR_USAGE;
    sbn *b = mem_zeros(1, sizeof *b);
    if (!b)
        return ART_ERR_NOMEM;
    b->n_taxa = n_taxa;
    key_table_init(&b->clade_keys, sizeof(clade_key));
    key_table_init(&b->root_keys, 2 * sizeof(int32_t));
    key_table_init(&b->parent_keys, 2 * sizeof(int32_t));
    key_table_init(&b->pair_keys, 3 * sizeof(int32_t));
    int status = sbn_reserve_clades(b, (size_t)n_taxa);
    if (status) {
        sbn_free(b);
        return status;
    }
    for (int32_t i = 0; i < n_taxa; i++)
        sbn_put_clade(b, clade_key_of_taxon(i), -1, -1);
    *out = b;
    return ART_OK;
}

void sbn_free(sbn *b)
{
    if (!b)
        return;
    key_table_free(&b->clade_keys);
    key_table_free(&b->root_keys);
    key_table_free(&b->parent_keys);
    key_table_free(&b->pair_keys);
    free(b->clade_size);
    free(b->clade_part);
    free(b->root_parent);
    free(b->pair_parent);
    free(b->begin);
    free(b->list);
    free(b->log_p);
    free(b);
}

/* The clades of all directed edges of s->tree; put is b if new ones are to be added, or NULL. Those
 * below v come first, tips first, then those above, root first: so parts come before clades. */
static void find_clades(const sbn *b, sbn *put, sbn_scratch *s)
{
    int32_t n = b->n_taxa, count = topology_edges(n);
    clade_key all = {{0, 0}};
    for (int32_t i = 0; i < n; i++)
        all = key_xor(all, *(const clade_key *)key_table_at(&b->clade_keys, (size_t)i));
    topology_postorder(s->order, &s->tree);
    for (int32_t i = 0; i < count; i++) {
        int32_t v = s->order[i], x = s->tree.child[v][0], y = s->tree.child[v][1];
        s->down[v] = v;
        if (v < n) {
            s->key[v] = *(const clade_key *)key_table_at(&b->clade_keys, (size_t)v);
            continue;
        }
        s->key[v] = key_xor(s->key[x], s->key[y]);
        int64_t c = put ? sbn_put_clade(put, s->key[v], s->down[x], s->down[y])
                        : key_table_find(&b->clade_keys, &s->key[v]);
        s->down[v] = c < 0 ? SBN_MISSING : (int32_t)c;
    }
    for (int32_t i = count - 1; i >= 0; i--) {
        int32_t v = s->order[i], u = s->tree.parent[v];
        if (u == 0) {
            s->up[v] = 0;
            continue;
        }
        int32_t w = s->tree.child[u][s->tree.child[u][0] == v];
        clade_key key = key_xor(all, s->key[v]);
        int64_t c = put ? sbn_put_clade(put, key, s->down[w], s->up[u])
                        : key_table_find(&b->clade_keys, &key);
        s->up[v] = c < 0 ? SBN_MISSING : (int32_t)c;
    }
}

typedef struct subsplit {
    int32_t sister, clade; /* clade SBN_NONE: there is none here */
    int32_t part[2];
} subsplit;

/* Those of the edge above v, in the order of sbn_resolve without the root split. */
static void subsplits_at(subsplit out[SBN_ENTRIES - 1], const sbn_scratch *s, int32_t v)
{
    int32_t u = s->tree.parent[v];
    const int32_t *child = s->tree.child[v];
    for (int i = 0; i < SBN_ENTRIES - 1; i++)
        out[i].clade = SBN_NONE;
    int32_t w = u == 0 ? -1 : s->tree.child[u][s->tree.child[u][0] == v];
    if (v >= s->n_taxa) {
        subsplit below = {s->up[v], s->down[v], {s->down[child[0]], s->down[child[1]]}};
        out[0] = below;
        if (u != 0) {
            out[1] = out[2] = below;
            out[1].sister = s->down[w];
            out[2].sister = s->up[u];
        }
    }
    if (u != 0) {
        subsplit above = {s->down[v], s->up[v], {s->down[w], s->up[u]}};
        out[3] = above;
        if (v >= s->n_taxa) {
            out[4] = out[5] = above;
            out[4].sister = s->down[child[0]];
            out[5].sister = s->down[child[1]];
        }
    }
}

static void sort_two(int32_t *key, int32_t a, int32_t b)
{
    key[0] = a < b ? a : b;
    key[1] = a < b ? b : a;
}

int sbn_add(sbn *b, const int32_t *decision)
{
    if (b->is_finished)
        return ART_ERR_USAGE;
    size_t n = (size_t)b->n_taxa;
    sbn_scratch s;
    int status = sbn_scratch_init(&s, b->n_taxa);
    if (!status)
        status = sbn_reserve_clades(b, 4 * n);
    if (!status)
        status = key_table_reserve(&b->root_keys, 2 * n);
    if (!status)
        status = key_table_reserve(&b->parent_keys, 7 * n);
    if (!status)
        status = key_table_reserve(&b->pair_keys, 7 * n);
    if (status)
        goto out;
    topology_build(&s.tree, decision);
    find_clades(b, b, &s);
    for (int32_t e = 0; e < topology_edges(b->n_taxa); e++) {
        int32_t v = edge_node(e, b->n_taxa), key[3];
        subsplit at[SBN_ENTRIES - 1];
        sort_two(key, s.down[v], s.up[v]);
        key_table_put(&b->root_keys, key);
        subsplits_at(at, &s, v);
        for (int i = 0; i < SBN_ENTRIES - 1; i++) {
            if (at[i].clade == SBN_NONE)
                continue;
            int32_t parent[2] = {at[i].sister, at[i].clade};
            key[0] = (int32_t)key_table_put(&b->parent_keys, parent);
            sort_two(key + 1, at[i].part[0], at[i].part[1]);
            key_table_put(&b->pair_keys, key);
        }
    }
out:
    sbn_scratch_free(&s);
    return status;
}

/* The parent of a clade beside its sister; -1 of a taxon or where there is none. */
static int32_t parent_of(const sbn *b, int32_t sister, int32_t clade)
{
    int32_t key[2] = {sister, clade};
    return clade < b->n_taxa ? -1 : (int32_t)key_table_find(&b->parent_keys, key);
}

int sbn_finish(sbn *b)
{
    size_t roots = sbn_roots(b), parents = sbn_parents(b), pairs = sbn_pairs(b);
    if (b->is_finished || roots == 0)
        return ART_ERR_USAGE;
    b->root_parent = mem_zeros(2 * roots, sizeof *b->root_parent);
    b->pair_parent = mem_zeros(2 * pairs, sizeof *b->pair_parent);
    b->begin = mem_zeros(parents + 2, sizeof *b->begin);
    b->list = mem_zeros(pairs, sizeof *b->list);
    b->log_p = mem_zeros(roots + pairs, sizeof *b->log_p);
    if (!b->root_parent || !b->pair_parent || !b->begin || !b->list || !b->log_p)
        return ART_ERR_NOMEM;
    for (size_t i = 0; i < roots; i++) {
        const int32_t *key = key_table_at(&b->root_keys, i);
        b->root_parent[2 * i] = parent_of(b, key[1], key[0]);
        b->root_parent[2 * i + 1] = parent_of(b, key[0], key[1]);
    }
    for (size_t i = 0; i < pairs; i++) {
        const int32_t *key = key_table_at(&b->pair_keys, i);
        b->pair_parent[2 * i] = parent_of(b, key[2], key[1]);
        b->pair_parent[2 * i + 1] = parent_of(b, key[1], key[2]);
        b->begin[key[0] + 2]++;
    }
    for (size_t p = 0; p < parents; p++)
        b->begin[p + 2] += b->begin[p + 1];
    for (size_t i = 0; i < pairs; i++)
        b->list[b->begin[*(const int32_t *)key_table_at(&b->pair_keys, i) + 1]++] = (int32_t)i;
    for (size_t i = 0; i < roots + pairs; i++)
        b->log_p[i] = -INFINITY;
    b->is_finished = true;
    return ART_OK;
}

static int32_t pair_entry(const sbn *b, const subsplit *at)
{
    if (at->clade == SBN_NONE)
        return SBN_NONE;
    if (at->clade < 0 || at->sister < 0 || at->part[0] < 0 || at->part[1] < 0)
        return SBN_MISSING;
    int32_t parent[2] = {at->sister, at->clade}, key[3];
    int64_t p = key_table_find(&b->parent_keys, parent);
    if (p < 0)
        return SBN_MISSING;
    key[0] = (int32_t)p;
    sort_two(key + 1, at->part[0], at->part[1]);
    int64_t i = key_table_find(&b->pair_keys, key);
    return i < 0 ? SBN_MISSING : (int32_t)(sbn_roots(b) + (size_t)i);
}

void sbn_resolve(int32_t *entry, const sbn *b, const int32_t *decision, sbn_scratch *s)
{
    topology_build(&s->tree, decision);
    find_clades(b, NULL, s);
    for (int32_t e = 0; e < topology_edges(b->n_taxa); e++, entry += SBN_ENTRIES) {
        int32_t v = edge_node(e, b->n_taxa), key[2];
        subsplit at[SBN_ENTRIES - 1];
        sort_two(key, s->down[v], s->up[v]);
        int64_t root = key[0] < 0 ? KEY_NONE : key_table_find(&b->root_keys, key);
        entry[0] = root < 0 ? SBN_MISSING : (int32_t)root;
        subsplits_at(at, s, v);
        for (int i = 0; i < SBN_ENTRIES - 1; i++)
            entry[1 + i] = pair_entry(b, &at[i]);
    }
}
