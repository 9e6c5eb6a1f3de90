/* A density of clades in a model file: the counts, from which fit finds the same probabilities
 * again. */
#include "density/clade/clade_parts.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "tree/splits.h"

#include <stdlib.h>
#include <string.h>

static const char CLADE_WEIGHTS[] = "tree.clade_weights", SPLITS[] = "tree.splits",
                  SPLIT_WEIGHTS[] = "tree.split_weights", PAIRS[] = "tree.pairs",
                  PAIR_WEIGHTS[] = "tree.pair_weights";

void clade_saved_free(clade_saved *c)
{
    free(c->clade_weight);
    free(c->split);
    free(c->split_weight);
    memset(c, 0, sizeof *c);
}

int clade_density_store(const clade_density *d, clade_saved *c, safetensors *s)
{
    const size_t clades = d->clade_keys.count, splits = d->split_keys.count,
                 pairs = d->pair_keys.count;
    clade_saved_free(c);
    c->clade_weight = mem_zeros(clades, sizeof *c->clade_weight);
    c->split = mem_zeros(3 * splits, sizeof *c->split);
    c->split_weight = mem_zeros(splits, sizeof *c->split_weight);
    if (!c->clade_weight || !c->split || !c->split_weight)
        return ART_ERR_NOMEM;
    for (size_t i = 0; i < clades; i++)
        c->clade_weight[i] = d->clade[i].weight;
    for (size_t i = 0; i < splits; i++) {
        c->split[3 * i] = (int32_t)d->split[i].clade;
        c->split[3 * i + 1] = (int32_t)d->split[i].part[0];
        c->split[3 * i + 2] = (int32_t)d->split[i].part[1];
        c->split_weight[i] = d->split[i].weight;
    }
    int status = safetensors_add(s, CLADE_WEIGHTS, TENSOR_F64, 1, &clades, c->clade_weight);
    if (!status)
        status = safetensors_add(s, SPLITS, TENSOR_I32, 2, (size_t[]){splits, 3}, c->split);
    if (!status)
        status = safetensors_add(s, SPLIT_WEIGHTS, TENSOR_F64, 1, &splits, c->split_weight);
    if (!status && pairs)
        status = safetensors_add(s, PAIRS, TENSOR_I32, 2, (size_t[]){pairs, 2}, d->pair_keys.key);
    if (!status && pairs)
        status = safetensors_add(s, PAIR_WEIGHTS, TENSOR_F64, 1, &pairs, d->pair_weight);
    return status;
}

typedef struct loading {
    clade_density *d;
    safetensors *s;
    diag_place place;
    diag *notes;
    uint64_t *bits; /* [clades][words] taxa of the clades so far */
    size_t words;
} loading;

/* The tensor with so many columns (0: a vector) of the type. */
static int find(const tensor **out, const loading *w, const char *name, tensor_dtype dtype,
                size_t columns)
{
    const tensor *t = *out = safetensors_use(w->s, name);
    if (!t)
        return diag_error(w->notes, ART_ERR_MISMATCH, w->place, "tensor '%s' is missing", name);
    if (t->dtype != dtype || t->rank != (columns ? 2 : 1) || (columns && t->shape[1] != columns) ||
        t->shape[0] > (size_t)INT32_MAX / 4)
        return diag_error(w->notes, ART_ERR_MISMATCH, w->place,
                          "tensor '%s' does not have the shape or type of this kind of model",
                          name);
    return ART_OK;
}

static int refuse_row(const loading *w, const char *name, size_t row, const char *what)
{
    return diag_error(w->notes, ART_ERR_MISMATCH, w->place, "tensor '%s', row %zu: %s", name,
                      row + 1, what);
}

/* Two tensors with a row for the same things. */
static int check_rows(const loading *w, const tensor *a, const tensor *b)
{
    return a->shape[0] == b->shape[0]
               ? ART_OK
               : diag_error(w->notes, ART_ERR_MISMATCH, w->place,
                            "tensors '%s' and '%s' have different numbers of rows", a->name,
                            b->name);
}

/* Adds the split of a row. A clade is new where the first of its splits is; its parts came before.
 * Of clade N, which is there from the start, and of those that are known the parts must have the
 * same taxa together. */
static int load_split(const loading *w, const int32_t *row, double weight, size_t i)
{
    clade_density *d = w->d;
    const size_t known = d->clade_keys.count, words = w->words;
    const int64_t c = row[0], a = row[1], b = row[2];
    if (c < d->n_taxa || c > (int64_t)known || a < 0 || a >= b || b >= (int64_t)known)
        return refuse_row(w, SPLITS, i, "not a clade and two clades that came before");
    if (!(weight >= 0))
        return refuse_row(w, SPLIT_WEIGHTS, i, "a weight is negative");
    const uint64_t *x = w->bits + (size_t)a * words, *y = w->bits + (size_t)b * words;
    uint64_t *z = w->bits + (size_t)c * words, common = 0, differ = 0;
    for (size_t k = 0; k < words; k++) {
        common |= x[k] & y[k];
        differ |= c < (int64_t)known ? z[k] ^ (x[k] | y[k]) : 0;
    }
    if (common || differ || split_has(x, 0) || split_has(y, 0))
        return refuse_row(w, SPLITS, i, "the parts do not make the clade");
    if (c == (int64_t)known) {
        for (size_t k = 0; k < words; k++)
            z[k] = x[k] | y[k];
        const clade *part[2] = {&d->clade[a], &d->clade[b]};
        if (clade_put(d, key_xor(clade_key_at(d, a), clade_key_at(d, b)),
                      part[0]->size + part[1]->size,
                      part[0]->low < part[1]->low ? part[0]->low : part[1]->low) != known)
            return refuse_row(w, SPLITS, i, "the clade is there twice");
    }
    if (clade_split_put(d, (size_t)c, (size_t)a, (size_t)b) != i)
        return refuse_row(w, SPLITS, i, "the split is there twice");
    if (d->clade[c].weight == 0)
        d->clade[c].split = (uint32_t)i;
    d->split[i].weight = weight;
    d->clade[c].weight += weight;
    return ART_OK;
}

/* The weights of clades are those of their splits, but for rounding. */
static int load_weights(const loading *w, const tensor *t)
{
    clade_density *d = w->d;
    const double *weight = t->data;
    if (t->count != d->clade_keys.count)
        return diag_error(w->notes, ART_ERR_MISMATCH, w->place,
                          "tensor '%s' has %zu numbers, but there are %zu clades", CLADE_WEIGHTS,
                          t->count, d->clade_keys.count);
    for (size_t c = 0; c < t->count; c++) {
        double sum = c < (size_t)d->n_taxa ? weight[c] : d->clade[c].weight;
        bool is_there = weight[c] > 0 || c == 0; /* taxon 0 is in no clade */
        if (!is_there || fabs(weight[c] - sum) > 1e-9 * sum)
            return refuse_row(w, CLADE_WEIGHTS, c, "not the sum of the weights of its splits");
        d->clade[c].weight = weight[c];
    }
    d->total = d->clade[d->n_taxa].weight;
    d->squares = d->total * d->total;
    return ART_OK;
}

static int load_pairs(const loading *w)
{
    clade_density *d = w->d;
    const tensor *pair, *weight;
    int status = find(&pair, w, PAIRS, TENSOR_I32, 2);
    if (!status)
        status = find(&weight, w, PAIR_WEIGHTS, TENSOR_F64, 0);
    if (!status)
        status = check_rows(w, pair, weight);
    if (!status)
        status = clade_density_reserve(d, 0, 0, pair->shape[0]);
    for (size_t i = 0; !status && i < pair->shape[0]; i++) {
        const int32_t *row = (const int32_t *)pair->data + 2 * i;
        const double value = ((const double *)weight->data)[i];
        const int64_t splits = (int64_t)d->split_keys.count;
        if (row[0] < 0 || row[0] >= 2 * splits || row[1] < 0 || row[1] >= splits ||
            d->split[row[0] / 2].part[row[0] % 2] != d->split[row[1]].clade ||
            d->clade[d->split[row[1]].clade].size < 3 || !(value > 0))
            return refuse_row(w, PAIRS, i, "not a split of a clade beside its sister");
        const clade_pair key = {(uint32_t)row[0], (uint32_t)row[1]};
        if (key_table_put(&d->pair_keys, &key) != i)
            return refuse_row(w, PAIRS, i, "it is there twice");
        d->pair_weight[i] = value;
    }
    return status;
}

int clade_density_load(clade_density *d, safetensors *s, diag_place place, diag *notes)
{
    loading w = {.d = d, .s = s, .place = place, .notes = notes, .words = split_words(d->n_taxa)};
    const tensor *split, *weight, *clades;
    const size_t n = (size_t)d->n_taxa;
    if (d->split_keys.count)
        return ART_ERR_USAGE;
    int status = find(&split, &w, SPLITS, TENSOR_I32, 3);
    if (!status)
        status = find(&weight, &w, SPLIT_WEIGHTS, TENSOR_F64, 0);
    if (!status)
        status = find(&clades, &w, CLADE_WEIGHTS, TENSOR_F64, 0);
    if (!status)
        status = check_rows(&w, split, weight);
    if (status)
        return status;
    const size_t rows = split->shape[0]; /* every clade beyond N has one of them */
    w.bits = mem_zeros((n + 1 + rows) * w.words, sizeof *w.bits);
    status = w.bits ? clade_density_reserve(d, rows, rows, 0) : ART_ERR_NOMEM;
    for (size_t i = 0; i < n && !status; i++) {
        w.bits[i * w.words + i / 64] |= (uint64_t)1 << (i % 64);
        if (i > 0)
            w.bits[n * w.words + i / 64] |= (uint64_t)1 << (i % 64);
    }
    for (size_t i = 0; i < rows && !status; i++)
        status = load_split(&w, (const int32_t *)split->data + 3 * i,
                            ((const double *)weight->data)[i], i);
    if (!status)
        status = load_weights(&w, clades);
    if (!status && d->kind == CLADE_CCD2 && d->n_taxa > 4)
        status = load_pairs(&w);
    free(w.bits);
    return status;
}
