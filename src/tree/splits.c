#include "tree/splits.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int32_t split_size(const uint64_t *split, int32_t n_taxa)
{
    int32_t size = 0;
    for (size_t w = 0; w < split_words(n_taxa); w++)
        size += __builtin_popcountll(split[w]);
    return size;
}

bool split_is_trivial(const uint64_t *split, int32_t n_taxa)
{
    int32_t size = split_size(split, n_taxa);
    return size <= 1 || size >= n_taxa - 1;
}

bool split_compatible(const uint64_t *a, const uint64_t *b, int32_t n_taxa)
{
    bool both = false, only_a = false, only_b = false;
    for (size_t w = 0; w < split_words(n_taxa); w++) {
        both |= (a[w] & b[w]) != 0;
        only_a |= (a[w] & ~b[w]) != 0;
        only_b |= (b[w] & ~a[w]) != 0;
    }
    return !(both && only_a && only_b);
}

void splits_of(uint64_t *split, const topology *t, int32_t *order)
{
    int32_t n_taxa = t->n_taxa, edges = topology_edges(n_taxa);
    size_t words = split_words(n_taxa);
    topology_postorder(order, t);
    for (int32_t i = 0; i < edges; i++) {
        int32_t v = order[i];
        uint64_t *own = split + (size_t)node_edge(v, n_taxa) * words;
        if (v < n_taxa) {
            memset(own, 0, words * sizeof *own);
            own[v / 64] = (uint64_t)1 << (v % 64);
            continue;
        }
        const uint64_t *left = split + (size_t)node_edge(t->child[v][0], n_taxa) * words;
        const uint64_t *right = split + (size_t)node_edge(t->child[v][1], n_taxa) * words;
        for (size_t w = 0; w < words; w++)
            own[w] = left[w] | right[w];
    }
}

int rf_init(rf *r, int32_t n_taxa)
{
    memset(r, 0, sizeof *r);
    if (n_taxa < 3)
        return ART_ERR_USAGE;
    size_t n = 2 * (size_t)n_taxa;
    r->block = mem_zeros(7 * n, sizeof *r->block);
    if (!r->block)
        return ART_ERR_NOMEM;
    r->n_taxa = n_taxa;
    r->rank = r->block;
    r->upto = r->rank + n;
    r->from = r->upto + n;
    r->order = r->from + n;
    r->low = r->order + n;
    r->high = r->low + n;
    r->size = r->high + n;
    return ART_OK;
}

void rf_free(rf *r)
{
    free(r->block);
    memset(r, 0, sizeof *r);
}

/* low, high and size of every node, by the ranks of the reference. */
static void measure(rf *r, const topology *t)
{
    topology_postorder(r->order, t);
    for (int32_t i = 0; i < topology_edges(r->n_taxa); i++) {
        int32_t v = r->order[i];
        if (v < r->n_taxa) {
            r->low[v] = r->high[v] = r->rank[v];
            r->size[v] = 1;
            continue;
        }
        int32_t a = t->child[v][0], b = t->child[v][1];
        r->low[v] = r->low[a] < r->low[b] ? r->low[a] : r->low[b];
        r->high[v] = r->high[a] > r->high[b] ? r->high[a] : r->high[b];
        r->size[v] = r->size[a] + r->size[b];
    }
}

/* In the order of the reference its clusters are intervals. A first child is the only one of
 * the first children to end where it ends, a second child the only one of the second children
 * to begin where it begins: so one entry per rank and kind is enough. */
void rf_set_contracted(rf *r, const topology *reference, const bool *is_contracted)
{
    int32_t next = 0;
    r->inner = 0;
    topology_postorder(r->order, reference);
    for (int32_t i = 0; i < topology_edges(r->n_taxa); i++)
        if (r->order[i] < r->n_taxa)
            r->rank[r->order[i]] = next++;
    measure(r, reference);
    for (int32_t i = 0; i < r->n_taxa; i++)
        r->upto[i] = r->from[i] = -1;
    for (int32_t v = r->n_taxa; v < topology_nodes(r->n_taxa); v++) {
        int32_t above = reference->parent[v];
        if (above == 0)
            continue; /* all the taxa but 0: in every tree */
        if (is_contracted && is_contracted[node_edge(v, r->n_taxa)])
            continue;
        r->inner++;
        if (reference->child[above][0] == v)
            r->from[r->high[v]] = r->low[v];
        else
            r->upto[r->low[v]] = r->high[v];
    }
}

void rf_set(rf *r, const topology *reference)
{
    rf_set_contracted(r, reference, NULL);
}

int32_t rf_distance_contracted(rf *r, const topology *t, const bool *is_contracted)
{
    int32_t common = 0, inner = 0;
    measure(r, t);
    for (int32_t v = r->n_taxa; v < topology_nodes(r->n_taxa); v++) {
        int32_t low = r->low[v], high = r->high[v];
        if (t->parent[v] == 0 || (is_contracted && is_contracted[node_edge(v, r->n_taxa)]))
            continue;
        inner++;
        if (r->size[v] == high - low + 1)
            common += r->from[high] == low || r->upto[low] == high;
    }
    return r->inner + inner - 2 * common;
}

int32_t rf_distance(rf *r, const topology *t)
{
    return rf_distance_contracted(r, t, NULL);
}

int split_table_init(split_table *s, int32_t n_taxa)
{
    memset(s, 0, sizeof *s);
    int status = topology_init(&s->tree, n_taxa);
    if (status)
        return status;
    s->n_taxa = n_taxa;
    s->words = split_words(n_taxa);
    key_table_init(&s->keys, s->words * sizeof(uint64_t));
    size_t edges = (size_t)topology_edges(n_taxa);
    s->tree_bits = mem_zeros(edges, s->words * sizeof *s->tree_bits);
    s->order = mem_zeros(edges, sizeof *s->order);
    s->is_contracted = mem_zeros(edges, sizeof *s->is_contracted);
    if (s->tree_bits && s->order && s->is_contracted)
        return ART_OK;
    split_table_free(s);
    return ART_ERR_NOMEM;
}

void split_table_free(split_table *s)
{
    key_table_free(&s->keys);
    free(s->weight);
    free(s->variance);
    free(s->known);
    free(s->mean);
    free(s->squares);
    free(s->common);
    free(s->tree_bits);
    free(s->order);
    free(s->is_contracted);
    topology_free(&s->tree);
    memset(s, 0, sizeof *s);
}

/* Makes room for this many more splits. */
static int make_room(split_table *s, size_t more)
{
    int status = key_table_reserve(&s->keys, more);
    if (status || s->room == s->keys.room)
        return status;
    double **column[] = {&s->weight, &s->variance, &s->known, &s->mean, &s->squares, &s->common};
    for (size_t i = 0; i < sizeof column / sizeof *column; i++) {
        double *grown = mem_resize(*column[i], s->keys.room, sizeof *grown);
        if (!grown)
            return ART_ERR_NOMEM;
        *column[i] = grown;
    }
    s->room = s->keys.room;
    return ART_OK;
}

/* West's update of a weighted mean and sum of squares. */
static void add_length(split_table *s, size_t i, double length, double weight)
{
    s->known[i] += weight;
    double step = (length - s->mean[i]) * (weight / s->known[i]);
    s->squares[i] += weight * (length - s->mean[i]) * (length - s->mean[i] - step);
    s->mean[i] += step;
}

/* The number of a split, for which there is room; a new one has no weight. */
static size_t put_split(split_table *s, const uint64_t *split)
{
    const size_t i = key_table_put(&s->keys, split);
    if (i == s->count) {
        s->count++;
        s->weight[i] = s->variance[i] = s->known[i] = s->mean[i] = s->squares[i] = 0;
        s->common[i] = 0;
    }
    return i;
}

int split_table_add(split_table *s, const int32_t *decision, const double *length, double weight)
{
    return split_table_add_uncertain(s, decision, length, weight, weight * weight);
}

/* keeps [2N-3]: the branches whose splits are added; NULL: all. */
static int add_tree(split_table *s, const int32_t *decision, const bool *keeps,
                    const double *length, double weight, double variance)
{
    if (weight == 0)
        return ART_OK;
    int status = make_room(s, (size_t)topology_edges(s->n_taxa));
    if (status)
        return status;
    topology_build(&s->tree, decision);
    splits_of(s->tree_bits, &s->tree, s->order);
    topology_contracted(s->is_contracted, &s->tree, decision);
    s->total += weight;
    s->doubt += variance;
    for (int32_t e = 0; e < topology_edges(s->n_taxa); e++) {
        if (s->is_contracted[e] || (keeps && !keeps[e]))
            continue;
        const size_t i = put_split(s, s->tree_bits + (size_t)e * s->words);
        s->weight[i] += weight;
        s->variance[i] += variance;
        if (length && !isnan(length[e]))
            add_length(s, i, length[e], weight);
    }
    return ART_OK;
}

int split_table_add_uncertain(split_table *s, const int32_t *decision, const double *length,
                              double weight, double variance)
{
    return add_tree(s, decision, NULL, length, weight, variance);
}

int split_table_add_collapsed(split_table *s, const int32_t *decision, const bool *keeps,
                              double weight)
{
    return add_tree(s, decision, keeps, NULL, weight, weight * weight);
}

int split_table_merge(split_table *s, const split_table *other, double weight)
{
    const double scale = weight / other->total;
    int status = make_room(s, other->count);
    if (status)
        return status;
    s->total += weight;
    for (size_t k = 0; k < other->count; k++) {
        const size_t i = put_split(s, split_table_bits(other, k));
        s->weight[i] += scale * other->weight[k];
        const double known = scale * other->known[k], all = s->known[i] + known;
        if (!(known > 0))
            continue;
        const double apart = other->mean[k] - s->mean[i];
        s->squares[i] += scale * other->squares[k] + apart * apart * s->known[i] * known / all;
        s->mean[i] += apart * known / all;
        s->known[i] = all;
    }
    return ART_OK;
}

/* Whether all splits are of taxa that there are, some and not taxon 0. */
static bool bits_are_right(const split_table *t)
{
    for (size_t i = 0; i < t->count; i++) {
        const uint64_t *split = split_table_bits(t, i);
        const int32_t rest = t->n_taxa % 64;
        const uint64_t beyond = rest ? ~(uint64_t)0 << rest : 0; /* bits of the last word */
        if (split_has(split, 0) || split[t->words - 1] & beyond || split_size(split, t->n_taxa) < 1)
            return false;
    }
    return true;
}

int split_table_fields(split_table *t, saved_state *s)
{
    state_keys(s, "splits.bits", &t->keys, TENSOR_I64);
    if (state_loaded(s))
        state_fail(s, make_room(t, 0));
    t->count = t->keys.count;
    state_f64(s, "splits.total", &t->total);
    state_f64(s, "splits.doubt", &t->doubt);
    state_f64_array(s, "splits.weight", t->weight, t->count, 1);
    state_f64_array(s, "splits.variance", t->variance, t->count, 1);
    state_f64_array(s, "splits.known", t->known, t->count, 1);
    state_f64_array(s, "splits.mean", t->mean, t->count, 1);
    state_f64_array(s, "splits.squares", t->squares, t->count, 1);
    for (size_t i = 0; i < t->count && s->is_loading; i++)
        t->common[i] = 0;
    if (state_loaded(s) && !bits_are_right(t))
        state_refuse(s, "splits.bits are not splits of the taxa");
    if (s->is_loading && s->status) {
        key_table_clear(&t->keys);
        t->count = 0;
    }
    return s->status;
}

void split_table_reset(split_table *s)
{
    s->total = s->doubt = 0;
    for (size_t i = 0; i < s->count; i++)
        s->weight[i] = s->variance[i] = s->common[i] = 0;
}

int64_t split_table_find(const split_table *s, const uint64_t *split)
{
    return key_table_find(&s->keys, split);
}

double split_frequency(const split_table *s, size_t i)
{
    return s->weight[i] / s->total;
}

double split_frequency_error(const split_table *s, size_t i)
{
    const double p = split_frequency(s, i);
    const double sum = s->variance[i] * (1 - 2 * p) + s->doubt * p * p;
    return sqrt(fmax(sum, 0) / (s->total * s->total) + s->common[i]);
}

double split_sd(const split_table *s, size_t i)
{
    return s->known[i] > 0 ? sqrt(s->squares[i] / s->known[i]) : 0;
}

typedef struct ranked {
    const split_table *table;
    size_t index;
} ranked;

static int by_frequency(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    const split_table *s = x->table;
    double wx = s->weight[x->index], wy = s->weight[y->index];
    if (wx != wy)
        return wx > wy ? -1 : 1;
    const uint64_t *p = split_table_bits(s, x->index), *q = split_table_bits(s, y->index);
    int32_t nx = split_size(p, s->n_taxa), ny = split_size(q, s->n_taxa);
    if (nx != ny)
        return nx > ny ? -1 : 1;
    for (size_t w = 0; w < s->words; w++)
        if (p[w] != q[w])
            return p[w] < q[w] ? -1 : 1;
    return 0;
}

int split_table_order(size_t *order, const split_table *s)
{
    ranked *r = mem_zeros(s->count, sizeof *r);
    if (!r)
        return ART_ERR_NOMEM;
    for (size_t i = 0; i < s->count; i++)
        r[i] = (ranked){s, i};
    qsort(r, s->count, sizeof *r, by_frequency);
    for (size_t i = 0; i < s->count; i++)
        order[i] = r[i].index;
    free(r);
    return ART_OK;
}

double split_deviation(double *largest, const split_table *const *sample, size_t n,
                       double min_frequency)
{
    double sum = 0, most = 0;
    size_t splits = 0;
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < sample[k]->count; i++) {
            const uint64_t *split = split_table_bits(sample[k], i);
            if (split_is_trivial(split, sample[k]->n_taxa))
                continue;
            /* Every split is counted where it is met first. */
            double mean = 0, highest = 0, squares = 0;
            bool before = false;
            for (size_t j = 0; j < n && !before; j++) {
                int64_t at = split_table_find(sample[j], split);
                double f = at < 0 ? 0 : split_frequency(sample[j], (size_t)at);
                before = j < k && at >= 0;
                double step = (f - mean) / (double)(j + 1);
                squares += (f - mean) * (f - mean - step);
                mean += step;
                highest = fmax(highest, f);
            }
            if (before || highest < min_frequency)
                continue;
            double deviation = sqrt(squares / (double)(n - 1));
            sum += deviation;
            most = fmax(most, deviation);
            splits++;
        }
    if (largest)
        *largest = most;
    return splits ? sum / (double)splits : 0;
}
