/* The tables of a network in a model file. */
#include "density/sbn/sbn.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "tree/splits.h"

#include <stdlib.h>
#include <string.h>

static int store(safetensors *s, const char *name, size_t rows, size_t columns, const void *data)
{
    return safetensors_add(s, name, TENSOR_I32, 2, (size_t[]){rows, columns}, data);
}

int sbn_store(const sbn *b, safetensors *s)
{
    size_t n = (size_t)b->n_taxa;
    if (!b->is_finished)
        return ART_ERR_USAGE;
    int status = store(s, "tree.clades", b->clade_keys.count - n, 2, b->clade_part + n);
    if (!status)
        status = store(s, "tree.roots", sbn_roots(b), 2, b->root_keys.key);
    if (!status)
        status = store(s, "tree.parents", sbn_parents(b), 2, b->parent_keys.key);
    if (!status)
        status = store(s, "tree.pairs", sbn_pairs(b), 3, b->pair_keys.key);
    return status;
}

typedef struct loading {
    sbn *b;
    safetensors *s;
    diag_place place;
    diag *d;
} loading;

static int find_table(const int32_t **data, size_t *rows, const loading *w, const char *name,
                      size_t columns)
{
    const tensor *t = safetensors_use(w->s, name);
    if (!t)
        return diag_error(w->d, ART_ERR_MISMATCH, w->place, "tensor '%s' is missing", name);
    if (t->dtype != TENSOR_I32 || t->rank != 2 || t->shape[1] != columns || t->shape[0] == 0)
        return diag_error(w->d, ART_ERR_MISMATCH, w->place,
                          "tensor '%s' is not a table of %zu columns of type I32", name, columns);
    *data = t->data;
    *rows = t->shape[0];
    return ART_OK;
}

static int refuse_row(const loading *w, const char *name, size_t row, const char *what)
{
    return diag_error(w->d, ART_ERR_MISMATCH, w->place, "tensor '%s', row %zu: %s", name, row + 1,
                      what);
}

static clade_key key_of(const sbn *b, int32_t c)
{
    return *(const clade_key *)key_table_at(&b->clade_keys, (size_t)c);
}

static bool is_clade(const sbn *b, int32_t c)
{
    return c >= 0 && (size_t)c < b->clade_keys.count;
}

/* Whether x and y are clades without a common taxon that are c together. If the symmetric
 * difference of two sets is as large as both together, they have nothing in common. */
static bool divide(const sbn *b, int32_t x, int32_t y, clade_key c, int32_t size)
{
    if (!is_clade(b, x) || !is_clade(b, y) || b->clade_size[x] + b->clade_size[y] != size)
        return false;
    clade_key both = key_xor(key_of(b, x), key_of(b, y));
    return memcmp(&both, &c, sizeof c) == 0;
}

/* The taxa of a clade from those of its parts; false if they have one in common. */
static bool join(uint64_t *bits, int32_t c, const int32_t *part, size_t words)
{
    uint64_t common = 0, *out = bits + (size_t)c * words;
    for (size_t i = 0; i < words; i++) {
        uint64_t x = bits[(size_t)part[0] * words + i], y = bits[(size_t)part[1] * words + i];
        common |= x & y;
        out[i] = x | y;
    }
    return !common;
}

static int load_clades(const loading *w)
{
    sbn *b = w->b;
    const int32_t *part = NULL;
    size_t rows = 0, n = (size_t)b->n_taxa, words = split_words(b->n_taxa);
    int status = find_table(&part, &rows, w, "tree.clades", 2);
    if (status)
        return status;
    if (rows > (size_t)INT32_MAX / 2)
        return ART_ERR_LIMIT;
    uint64_t *bits = mem_zeros((n + rows) * words, sizeof *bits);
    status = bits ? sbn_reserve_clades(b, rows) : ART_ERR_NOMEM;
    for (size_t i = 0; i < n && !status; i++)
        bits[i * words + i / 64] |= (uint64_t)1 << (i % 64);
    for (size_t i = 0; i < rows && !status; i++, part += 2) {
        int32_t c = (int32_t)(n + i);
        if (part[0] < 0 || part[1] < 0 || part[0] >= c || part[1] >= c)
            status = refuse_row(w, "tree.clades", i, "a part does not come before its clade");
        else if (!join(bits, c, part, words))
            status = refuse_row(w, "tree.clades", i, "the parts have a taxon in common");
        else if (sbn_put_clade(b, key_xor(key_of(b, part[0]), key_of(b, part[1])), part[0],
                               part[1]) != c)
            status = refuse_row(w, "tree.clades", i, "the clade is there twice");
    }
    free(bits);
    return status;
}

/* Adds the rows of a table; `is_good` says what a row must be. */
static int load_rows(const loading *w, key_table *keys, const char *name, size_t columns,
                     bool (*is_good)(const sbn *b, const int32_t *row), const char *wrong)
{
    const int32_t *row = NULL;
    size_t rows = 0;
    int status = find_table(&row, &rows, w, name, columns);
    if (!status)
        status = rows > (size_t)INT32_MAX / 4 ? ART_ERR_LIMIT : key_table_reserve(keys, rows);
    for (size_t i = 0; i < rows && !status; i++, row += columns)
        if (!is_good(w->b, row))
            status = refuse_row(w, name, i, wrong);
        else if (key_table_put(keys, row) != i)
            status = refuse_row(w, name, i, "it is there twice");
    return status;
}

static bool is_root(const sbn *b, const int32_t *row)
{
    clade_key all = {{0, 0}};
    for (int32_t i = 0; i < b->n_taxa; i++)
        all = key_xor(all, key_of(b, i));
    return row[0] < row[1] && divide(b, row[0], row[1], all, b->n_taxa);
}

static bool is_parent(const sbn *b, const int32_t *row)
{
    return is_clade(b, row[0]) && is_clade(b, row[1]) && row[1] >= b->n_taxa;
}

static bool is_pair(const sbn *b, const int32_t *row)
{
    if (row[0] < 0 || (size_t)row[0] >= sbn_parents(b) || row[1] >= row[2])
        return false;
    int32_t c = ((const int32_t *)key_table_at(&b->parent_keys, (size_t)row[0]))[1];
    return divide(b, row[1], row[2], key_of(b, c), b->clade_size[c]);
}

/* Wherever a draw can get to there is an entry to go on with. */
static int check_ways(const loading *w)
{
    const sbn *b = w->b;
    for (size_t p = 0; p < sbn_parents(b); p++)
        if (b->begin[p] == b->begin[p + 1])
            return refuse_row(w, "tree.parents", p, "no pair has this parent");
    for (size_t i = 0; i < 2 * sbn_roots(b); i++) {
        const int32_t *key = key_table_at(&b->root_keys, i / 2);
        if (key[i % 2] >= b->n_taxa && b->root_parent[i] < 0)
            return refuse_row(w, "tree.roots", i / 2, "a side is not among the parents");
    }
    for (size_t i = 0; i < 2 * sbn_pairs(b); i++) {
        const int32_t *key = key_table_at(&b->pair_keys, i / 2);
        if (key[1 + i % 2] >= b->n_taxa && b->pair_parent[i] < 0)
            return refuse_row(w, "tree.pairs", i / 2, "a part is not among the parents");
    }
    return ART_OK;
}

int sbn_load(sbn *b, safetensors *s, diag_place place, diag *d)
{
    const loading w = {b, s, place, d};
    if (b->is_finished)
        return ART_ERR_USAGE;
    int status = load_clades(&w);
    if (!status)
        status = load_rows(&w, &b->root_keys, "tree.roots", 2, is_root,
                           "not two clades that have all taxa together");
    if (!status)
        status = load_rows(&w, &b->parent_keys, "tree.parents", 2, is_parent,
                           "not a sister and a clade of two or more taxa");
    if (!status)
        status = load_rows(&w, &b->pair_keys, "tree.pairs", 3, is_pair,
                           "not a parent and two clades that its clade is split into");
    if (!status)
        status = sbn_finish(b);
    return status ? status : check_ways(&w);
}
