/* The entropy without a taxon. In CCD1 the probability of a clade is its frequency, so
 *
 *     H = sum over clades of f(C) log f(C) - sum over splits of f(A, B) log f(A, B)
 *
 * and the same with inner nodes for splits and internal edges for clades. Without taxon x the inner
 * node with the three parts A, B and the rest is the one with x taken out, unless x is a part by
 * itself: then the node is gone. Nodes that become equal add their frequencies. A node is the split
 * of a clade that hangs from another taxon, r: the part with r is what is above it. */
#include "density/clade/clade_parts.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "tree/splits.h"

#include <stdlib.h>
#include <string.h>

typedef struct restricted {
    key_table node_keys;  /* clade_key [2]: the clade, and the lesser of its parts */
    key_table clade_keys; /* clade_key */
    double *node, *clade; /* [splits] their weights */
} restricted;

static double xlogx(double x)
{
    return x > 0 ? x * log(x) : 0;
}

static double entropy_of(const restricted *w)
{
    double h = 0;
    for (size_t i = 0; i < w->clade_keys.count; i++)
        h += xlogx(w->clade[i]);
    for (size_t i = 0; i < w->node_keys.count; i++)
        h -= xlogx(w->node[i]);
    return h;
}

static void add(key_table *keys, double *sum, const void *key, double value)
{
    const size_t known = keys->count, at = key_table_put(keys, key);
    sum[at] = (at == known ? 0 : sum[at]) + value;
}

/* All splits of the density as nodes without taxon x; bits [clades][words]. */
static double without(restricted *w, const clade_density *d, int32_t x, const uint64_t *bits)
{
    const size_t words = split_words(d->n_taxa);
    const int32_t r = x == 0;
    key_table_clear(&w->node_keys);
    key_table_clear(&w->clade_keys);
    clade_key all = {{0, 0}};
    for (int32_t i = 0; i < d->n_taxa; i++)
        all = key_xor(all, d->taxon_key[i]);
    for (size_t s = 0; s < d->split_keys.count; s++) {
        const clade_split *is = &d->split[s];
        const uint32_t inside = is->clade;
        clade_key part[3] = {clade_key_at(d, is->part[0]), clade_key_at(d, is->part[1]),
                             key_xor(all, clade_key_at(d, inside))};
        bool is_gone = is->weight == 0;
        int above = 2; /* the part that has r */
        for (int i = 0; i < 3; i++) {
            const uint64_t *of = bits + (i < 2 ? is->part[i] : inside) * words;
            is_gone = is_gone || memcmp(&part[i], &d->taxon_key[x], sizeof part[i]) == 0;
            if (split_has(of, x) == (i < 2))
                part[i] = key_xor(part[i], d->taxon_key[x]);
            if (split_has(of, r) == (i < 2))
                above = i;
        }
        if (is_gone)
            continue;
        const double f = is->weight / d->total;
        const clade_key a = part[(above + 1) % 3], b = part[(above + 2) % 3], c = key_xor(a, b);
        const clade_key key[2] = {c, memcmp(&a, &b, sizeof a) < 0 ? a : b};
        add(&w->node_keys, w->node, key, f);
        add(&w->clade_keys, w->clade, &c, f);
    }
    return entropy_of(w);
}

int clade_density_without(double *entropy, const clade_density *d)
{
    const size_t clades = d->clade_keys.count, splits = d->split_keys.count,
                 words = split_words(d->n_taxa);
    restricted w = {.node = mem_zeros(splits, sizeof *w.node),
                    .clade = mem_zeros(splits, sizeof *w.clade)};
    uint64_t *bits = mem_zeros(clades * words, sizeof *bits);
    clade_scratch s = {0};
    key_table_init(&w.node_keys, 2 * sizeof(clade_key));
    key_table_init(&w.clade_keys, sizeof(clade_key));
    int status = w.node && w.clade && bits ? clade_scratch_init(&s, d) : ART_ERR_NOMEM;
    if (!status)
        status = key_table_reserve(&w.node_keys, splits);
    if (!status)
        status = key_table_reserve(&w.clade_keys, splits);
    for (size_t c = 0; c < clades && !status; c++)
        clade_density_bits(bits + c * words, d, c, &s);
    for (int32_t x = 0; x < d->n_taxa && !status; x++)
        entropy[x] = d->n_taxa < 5 ? 0 : without(&w, d, x, bits);
    key_table_free(&w.node_keys);
    key_table_free(&w.clade_keys);
    free(w.node);
    free(w.clade);
    free(bits);
    clade_scratch_free(&s);
    return status;
}
