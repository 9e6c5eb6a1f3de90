#include "density/clade/clade_parts.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "tree/splits.h"

#include <stdlib.h>
#include <string.h>

/* The numbers that stand for the taxa: blocks of Philox under a key of its own. */
clade_key clade_key_of_taxon(int32_t taxon)
{
    const uint32_t counter[4] = {(uint32_t)taxon, 0, 0, 0}, key[2] = {0x636c6164u, 0x65736574u};
    uint32_t out[4];
    rng_philox(out, counter, key);
    return (clade_key){{(uint64_t)out[0] << 32 | out[1], (uint64_t)out[2] << 32 | out[3]}};
}

int clade_scratch_init(clade_scratch *s, const clade_density *d)
{
    size_t n = (size_t)d->n_taxa;
    memset(s, 0, sizeof *s);
    int status = topology_init(&s->tree, d->n_taxa);
    if (status)
        return status;
    s->integers = mem_zeros(12 * n, sizeof *s->integers);
    s->numbers = mem_zeros(4 * n, sizeof *s->numbers);
    s->log_q = mem_zeros(2 * n, sizeof *s->log_q);
    s->key = mem_zeros(4 * n, sizeof *s->key);
    s->item = mem_zeros(2 * n, sizeof *s->item);
    if (!s->integers || !s->numbers || !s->log_q || !s->key || !s->item) {
        clade_scratch_free(s);
        return ART_ERR_NOMEM;
    }
    s->old = s->key + 2 * n;
    s->order = s->integers;
    s->size = s->order + 2 * n;
    s->decisions = s->size + 2 * n;
    s->taxa = s->decisions + 6 * n;
    s->other = s->taxa + n;
    s->clade = s->numbers;
    s->split = s->clade + 2 * n;
    return ART_OK;
}

void clade_scratch_free(clade_scratch *s)
{
    topology_free(&s->tree);
    free(s->integers);
    free(s->numbers);
    free(s->log_q);
    free(s->key);
    free(s->item);
    memset(s, 0, sizeof *s);
}

static void *columns(void *column, size_t *room, size_t size, const key_table *keys)
{
    void *grown = mem_resize(column, keys->room, size);
    if (grown)
        *room = keys->room;
    return grown;
}

int clade_density_reserve(clade_density *d, size_t clades, size_t splits, size_t pairs)
{
    int status = key_table_reserve(&d->clade_keys, clades);
    if (!status)
        status = key_table_reserve(&d->split_keys, splits);
    if (!status)
        status = key_table_reserve(&d->pair_keys, pairs);
    if (!status && d->clade_room < d->clade_keys.room) {
        clade *grown = columns(d->clade, &d->clade_room, sizeof *grown, &d->clade_keys);
        d->clade = grown ? grown : d->clade;
        status = grown ? ART_OK : ART_ERR_NOMEM;
    }
    if (!status && d->split_room < d->split_keys.room) {
        clade_split *grown = columns(d->split, &d->split_room, sizeof *grown, &d->split_keys);
        d->split = grown ? grown : d->split;
        status = grown ? ART_OK : ART_ERR_NOMEM;
    }
    if (!status && d->pair_room < d->pair_keys.room) {
        double *grown = columns(d->pair_weight, &d->pair_room, sizeof *grown, &d->pair_keys);
        d->pair_weight = grown ? grown : d->pair_weight;
        status = grown ? ART_OK : ART_ERR_NOMEM;
    }
    return status;
}

size_t clade_put(clade_density *d, clade_key key, int32_t size, int32_t low)
{
    size_t known = d->clade_keys.count, c = key_table_put(&d->clade_keys, &key);
    if (c == known)
        d->clade[c] = (clade){.size = size, .low = low};
    return c;
}

size_t clade_split_put(clade_density *d, size_t c, size_t a, size_t b)
{
    uint32_t least = (uint32_t)(a < b ? a : b), most = (uint32_t)(a < b ? b : a);
    uint32_t key[2] = {(uint32_t)c, least};
    size_t known = d->split_keys.count, s = key_table_put(&d->split_keys, key);
    if (s == known)
        d->split[s] = (clade_split){.clade = (uint32_t)c, .part = {least, most}};
    return s;
}

int clade_density_create(clade_density **out, int32_t n_taxa, clade_kind kind)
{
    *out = NULL;
    if (n_taxa < 3 || n_taxa > TOPOLOGY_MAX_TAXA || kind < CLADE_CCD0 || kind > CLADE_CCD2)
        return ART_ERR_USAGE;
    size_t n = (size_t)n_taxa;
    clade_density *d = mem_zeros(1, sizeof *d);
    if (!d)
        return ART_ERR_NOMEM;
    d->n_taxa = n_taxa;
    d->kind = kind;
    key_table_init(&d->clade_keys, sizeof(clade_key));
    key_table_init(&d->split_keys, 2 * sizeof(uint32_t));
    key_table_init(&d->pair_keys, sizeof(clade_pair));
    d->taxon_key = mem_zeros(n, sizeof *d->taxon_key);
    d->log_rooted = mem_zeros(n + 1, sizeof *d->log_rooted);
    int status = d->taxon_key && d->log_rooted ? ART_OK : ART_ERR_NOMEM;
    if (!status)
        status = clade_density_reserve(d, n + 1, 0, 0);
    if (!status)
        status = clade_scratch_init(&d->scratch, d);
    if (status) {
        clade_density_free(d);
        return status;
    }
    for (int32_t m = 2; m <= n_taxa; m++)
        d->log_rooted[m] = d->log_rooted[m - 1] + log(2 * m - 3);
    clade_key all = {{0, 0}};
    for (int32_t i = 0; i < n_taxa; i++) {
        d->taxon_key[i] = clade_key_of_taxon(i);
        clade_put(d, d->taxon_key[i], 1, i);
        if (i > 0)
            all = key_xor(all, d->taxon_key[i]);
    }
    clade_put(d, all, n_taxa - 1, 1);
    *out = d;
    return ART_OK;
}

static void forget_fit(clade_density *d)
{
    free(d->split_begin);
    free(d->split_list);
    free(d->split_sum);
    free(d->p);
    free(d->beyond);
    free(d->by_size);
    free(d->pair_begin);
    free(d->pair_list);
    free(d->pair_sum);
    free(d->pair_p);
    free(d->backoff);
}

void clade_density_free(clade_density *d)
{
    if (!d)
        return;
    forget_fit(d);
    key_table_free(&d->clade_keys);
    key_table_free(&d->split_keys);
    key_table_free(&d->pair_keys);
    free(d->clade);
    free(d->split);
    free(d->pair_weight);
    free(d->taxon_key);
    free(d->log_rooted);
    clade_scratch_free(&d->scratch);
    free(d);
}

/* Clades and splits from the tips up; then each clade beside its sister. */
int clade_density_add(clade_density *d, const int32_t *decision, double weight)
{
    if (!(weight >= 0) || !isfinite(weight))
        return ART_ERR_USAGE;
    if (weight == 0)
        return ART_OK;
    int32_t n = d->n_taxa, count = topology_edges(n);
    int status = clade_density_reserve(d, (size_t)n, (size_t)n, (size_t)n);
    if (status)
        return status;
    clade_scratch *w = &d->scratch;
    topology_build(&w->tree, decision);
    topology_postorder(w->order, &w->tree);
    for (int32_t i = 0; i < count; i++) {
        int32_t v = w->order[i], a = w->tree.child[v][0], b = w->tree.child[v][1];
        if (v < n) {
            w->key[v] = d->taxon_key[v];
            w->clade[v] = v;
        } else {
            size_t ca = (size_t)w->clade[a], cb = (size_t)w->clade[b];
            int32_t low_a = d->clade[ca].low, low_b = d->clade[cb].low;
            w->key[v] = key_xor(w->key[a], w->key[b]);
            size_t c = clade_put(d, w->key[v], d->clade[ca].size + d->clade[cb].size,
                                 low_a < low_b ? low_a : low_b);
            size_t s = clade_split_put(d, c, ca, cb);
            if (d->clade[c].weight == 0)
                d->clade[c].split = (uint32_t)s;
            d->split[s].weight += weight;
            w->clade[v] = (int64_t)c;
            w->split[v] = (int64_t)s;
        }
        d->clade[w->clade[v]].weight += weight;
    }
    for (int32_t i = 0; i < count && d->kind == CLADE_CCD2; i++) {
        int32_t v = w->order[i], up = w->tree.parent[v];
        if (up == 0 || d->clade[w->clade[v]].size < 3)
            continue;
        clade_pair key = {(uint32_t)context_of(d, w->split[up], w->clade[v]),
                          (uint32_t)w->split[v]};
        size_t known = d->pair_keys.count, at = key_table_put(&d->pair_keys, &key);
        d->pair_weight[at] = (at == known ? 0 : d->pair_weight[at]) + weight;
    }
    d->total += weight;
    d->squares += weight * weight;
    d->fitted = false;
    return ART_OK;
}

clade_smoothing clade_density_smoothing(const clade_density *d)
{
    return d->used;
}

size_t clade_density_clades(const clade_density *d)
{
    return d->clade_keys.count;
}

size_t clade_density_splits(const clade_density *d)
{
    return d->split_keys.count;
}

size_t clade_density_pairs(const clade_density *d)
{
    return d->pair_keys.count;
}

/* The clades that are still to be followed wait at the end of the list: each has at least one
 * taxon, so that the two never meet. */
void clade_taxa(int32_t *taxa, const clade_density *d, size_t c)
{
    int32_t found = 0, waiting = d->clade[c].size;
    taxa[--waiting] = (int32_t)c;
    while (waiting < d->clade[c].size) {
        int32_t at = taxa[waiting++];
        if (at < d->n_taxa) {
            taxa[found++] = at;
            continue;
        }
        const clade_split *s = &d->split[d->clade[at].split];
        taxa[--waiting] = (int32_t)s->part[1];
        taxa[--waiting] = (int32_t)s->part[0];
    }
}

void clade_density_bits(uint64_t *bits, const clade_density *d, size_t i, clade_scratch *s)
{
    memset(bits, 0, split_words(d->n_taxa) * sizeof *bits);
    clade_taxa(s->taxa, d, i);
    for (int32_t k = 0; k < d->clade[i].size; k++)
        bits[s->taxa[k] / 64] |= (uint64_t)1 << (s->taxa[k] % 64);
}

int64_t clade_density_find(const clade_density *d, const uint64_t *bits)
{
    clade_key key = {{0, 0}};
    for (int32_t i = 0; i < d->n_taxa; i++)
        if (split_has(bits, i))
            key = key_xor(key, d->taxon_key[i]);
    return key_table_find(&d->clade_keys, &key);
}

double clade_density_frequency(const clade_density *d, size_t i)
{
    return d->total > 0 ? d->clade[i].weight / d->total : 0;
}
