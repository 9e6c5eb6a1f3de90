/* Passes over the graph of the core. Its nodes are clades (CCD2: clades beside sisters), and a
 * node's splits lead to two nodes each. With CCD2 every split of a clade is possible beside every
 * sister, because counts beside a sister are blended with those of the clade; the passes stay
 * linear because the blend is the same for all splits that have no counts there. For a node x of
 * clade C
 *
 *     p(s | x) = own(s; x) + g(x) p(s)
 *
 * with p(s) that of the density, own 0 for most splits, and g(x) normalising the core. A sum over
 * the splits of C is done once for the clade; a node corrects it at the splits that are its own. */
#include "density/clade/clade_parts.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "tree/splits.h"

#include <stdlib.h>

/* A node: a clade, beside a sister or not. */
typedef struct node {
    int64_t clade, context;
    double g;
    double own_scale; /* of pair_p */
    size_t from, to;  /* its own splits, in pair_list */
} node;

static node node_at(const clade_density *d, int64_t c, int64_t context)
{
    node x = {.clade = c, .context = context, .g = 1 / core_mass(d, c)};
    if (context >= 0) {
        x.own_scale = 1 / core_mass_beside(d, context, c);
        x.g = d->backoff[context] * x.own_scale;
        x.from = d->pair_begin[context];
        x.to = d->pair_begin[context + 1];
    }
    return x;
}

/* The split of a node's own at a place, and its probability there. */
static uint32_t own_split(double *p, double *own, const clade_density *d, const node *x,
                          size_t place)
{
    uint32_t at = d->pair_list[place];
    uint32_t s = ((const clade_pair *)key_table_at(&d->pair_keys, at))->split;
    *own = d->pair_p[at] * x->own_scale;
    *p = *own + x->g * d->p[s];
    return s;
}

static double xlogx(double x)
{
    return x > 0 ? x * log(x) : 0;
}

/* below [splits]: H(A) + H(B); sum [clades]: of p (below - log p) over the splits of the clade. */
static double node_entropy(const clade_density *d, const node *x, const double *below,
                           const double *sum)
{
    if (d->clade[x->clade].size < 3)
        return 0;
    double entropy = x->g * sum[x->clade] - core_mass(d, x->clade) * xlogx(x->g);
    for (size_t k = x->from; k < x->to; k++) {
        double p, own;
        uint32_t s = own_split(&p, &own, d, x, k);
        entropy += own * below[s] - xlogx(p) + xlogx(x->g * d->p[s]);
    }
    return entropy;
}

int clade_density_entropy(double *entropy, const clade_density *d)
{
    size_t clades = d->clade_keys.count, splits = d->split_keys.count;
    double *below = mem_zeros(splits + clades, sizeof *below), *sum = below + splits;
    if (!below)
        return ART_ERR_NOMEM;
    for (size_t i = 0; i < clades; i++) {
        uint32_t c = d->by_size[i];
        for (size_t k = d->split_begin[c]; k < d->split_begin[c + 1]; k++) {
            uint32_t s = d->split_list[k];
            for (int side = 0; side < 2; side++) {
                uint32_t part = d->split[s].part[side];
                node x = node_at(d, part, context_of(d, s, part));
                below[s] += node_entropy(d, &x, below, sum);
            }
            sum[c] += d->p[s] * below[s] - xlogx(d->p[s]);
        }
    }
    node root = node_at(d, d->n_taxa, KEY_NONE);
    *entropy = node_entropy(d, &root, below, sum);
    free(below);
    return ART_OK;
}

/* Trees below a node: those of its clade if it is blended with it, else those of its own splits. */
static double node_trees(const clade_density *d, const node *x, const double *below,
                         const double *sum)
{
    if (x->g > 0)
        return sum[x->clade];
    double log_trees = -INFINITY;
    for (size_t k = x->from; k < x->to; k++) {
        double p, own;
        uint32_t s = own_split(&p, &own, d, x, k);
        if (p > 0)
            log_trees = log_add(log_trees, below[s]);
    }
    return log_trees;
}

int clade_density_log_trees(double *log_trees, const clade_density *d)
{
    size_t clades = d->clade_keys.count, splits = d->split_keys.count;
    double *below = mem_zeros(splits + clades, sizeof *below), *sum = below + splits;
    if (!below)
        return ART_ERR_NOMEM;
    for (size_t i = 0; i < clades; i++) {
        uint32_t c = d->by_size[i];
        sum[c] = d->clade[c].size == 1 ? 0 : -HUGE_VAL;
        for (size_t k = d->split_begin[c]; k < d->split_begin[c + 1]; k++) {
            uint32_t s = d->split_list[k];
            for (int side = 0; side < 2; side++) {
                uint32_t part = d->split[s].part[side];
                node x = node_at(d, part, context_of(d, s, part));
                below[s] += node_trees(d, &x, below, sum);
            }
            if (d->p[s] > 0)
                sum[c] = log_add(sum[c], below[s]);
        }
    }
    *log_trees = sum[d->n_taxa];
    free(below);
    return ART_OK;
}

/* The best choices: best [clades] by p alone, and at nodes found again when they are needed. */
typedef struct choices {
    double *below;     /* [splits] log of the best below a split */
    double *value;     /* [clades] largest log p + below .. */
    uint32_t *best;    /* [clades] .. and the split that has it */
    int32_t *taxa;     /* [N] to tell equals apart */
    uint64_t *bits[2]; /* [words] each */
} choices;

static void fill_bits(uint64_t *bits, const clade_density *d, uint32_t c, int32_t *taxa)
{
    for (size_t i = 0; i < split_words(d->n_taxa); i++)
        bits[i] = 0;
    clade_taxa(taxa, d, c);
    for (int32_t i = 0; i < d->clade[c].size; i++)
        bits[taxa[i] / 64] |= (uint64_t)1 << (taxa[i] % 64);
}

/* Does the first set have the first taxon in which the two differ? */
static bool comes_first(const uint64_t *a, const uint64_t *b, size_t words)
{
    for (size_t i = 0; i < words; i++)
        if (a[i] != b[i]) {
            uint64_t first = (a[i] ^ b[i]) & (0 - (a[i] ^ b[i]));
            return a[i] & first;
        }
    return false;
}

/* The smaller part of a split; of equal ones the one that has the clade's first taxon. */
static uint32_t smaller_part(const clade_density *d, uint32_t s)
{
    const uint32_t *part = d->split[s].part;
    int32_t size[2] = {d->clade[part[0]].size, d->clade[part[1]].size};
    if (size[0] == size[1])
        return part[d->clade[part[0]].low > d->clade[part[1]].low];
    return part[size[0] > size[1]];
}

/* Is split s, with the value, to be preferred to another one of the same clade? */
static bool preferred(const clade_density *d, choices *w, double value, uint32_t s, double other,
                      uint32_t than)
{
    const double rounding = 1e-13 * (1 + fabs(other)); /* equal but for the order of sums */
    if (isinf(other) || value > other + rounding)
        return value > other;
    if (value < other - rounding || s == than)
        return false;
    uint32_t a = smaller_part(d, s), b = smaller_part(d, than);
    if (d->clade[a].size != d->clade[b].size)
        return d->clade[a].size > d->clade[b].size;
    fill_bits(w->bits[0], d, a, w->taxa);
    fill_bits(w->bits[1], d, b, w->taxa);
    return comes_first(w->bits[0], w->bits[1], split_words(d->n_taxa));
}

static double node_best(uint32_t *split, const clade_density *d, const node *x, choices *w)
{
    double most = w->value[x->clade] + log(x->g);
    uint32_t best = w->best[x->clade];
    for (size_t k = x->from; k < x->to; k++) {
        double p, own;
        uint32_t s = own_split(&p, &own, d, x, k);
        double value = log(p) + w->below[s];
        if (s == best && value > most) {
            most = value;
        } else if (preferred(d, w, value, s, most, best)) {
            most = value;
            best = s;
        }
    }
    if (split)
        *split = best;
    return d->clade[x->clade].size < 3 ? 0 : most;
}

static void fill_choices(choices *w, const clade_density *d)
{
    for (size_t i = 0; i < d->clade_keys.count; i++) {
        uint32_t c = d->by_size[i];
        w->value[c] = -INFINITY;
        for (size_t k = d->split_begin[c]; k < d->split_begin[c + 1]; k++) {
            uint32_t s = d->split_list[k];
            for (int side = 0; side < 2; side++) {
                uint32_t part = d->split[s].part[side];
                node x = node_at(d, part, context_of(d, s, part));
                w->below[s] += node_best(NULL, d, &x, w);
            }
            double value = log(d->p[s]) + w->below[s];
            if (preferred(d, w, value, s, w->value[c], w->best[c])) {
                w->value[c] = value;
                w->best[c] = s;
            }
        }
    }
}

static int choices_init(choices *w, const clade_density *d)
{
    size_t clades = d->clade_keys.count, splits = d->split_keys.count;
    size_t words = split_words(d->n_taxa);
    *w = (choices){.below = mem_zeros(splits + clades, sizeof *w->below),
                   .best = mem_zeros(clades, sizeof *w->best),
                   .taxa = mem_zeros((size_t)d->n_taxa, sizeof *w->taxa)};
    w->bits[0] = mem_zeros(2 * words, sizeof **w->bits);
    if (!w->below || !w->best || !w->taxa || !w->bits[0])
        return ART_ERR_NOMEM;
    w->value = w->below + splits;
    w->bits[1] = w->bits[0] + words;
    return ART_OK;
}

static void choices_free(choices *w)
{
    free(w->below);
    free(w->best);
    free(w->taxa);
    free(w->bits[0]);
}

/* Reads the tree off the choices: those of nodes, or those of clades alone. */
static void read_off(int32_t *decision, double *log_p, const clade_density *d, choices *w,
                     bool by_nodes, clade_scratch *s)
{
    int32_t n_items = 0, next = d->n_taxa;
    s->item[n_items++] = (clade_item){.clade = d->n_taxa, .context = KEY_NONE};
    while (n_items) {
        clade_item at = s->item[--n_items];
        int32_t v = at.clade < d->n_taxa ? (int32_t)at.clade : next++;
        s->tree.child[at.parent][at.side] = v;
        s->tree.parent[v] = at.parent;
        if (v < d->n_taxa)
            continue;
        uint32_t best = w->best[at.clade];
        double value = w->value[at.clade];
        if (by_nodes) {
            node x = node_at(d, at.clade, at.context);
            value = node_best(&best, d, &x, w);
        }
        if (at.parent == 0 && log_p)
            *log_p = value;
        for (int side = 0; side < 2; side++) {
            uint32_t part = d->split[best].part[side];
            s->item[n_items++] = (clade_item){
                .clade = part, .context = context_of(d, best, part), .parent = v, .side = side};
        }
    }
    topology_decisions(decision, NULL, &s->tree, s->decisions);
}

int clade_density_best(int32_t *decision, double *log_p, const clade_density *d)
{
    choices w;
    clade_scratch s = {0};
    int status = choices_init(&w, d);
    if (!status)
        status = clade_scratch_init(&s, d);
    if (!status) {
        fill_choices(&w, d);
        read_off(decision, log_p, d, &w, true, &s);
    }
    clade_scratch_free(&s);
    choices_free(&w);
    return status;
}

/* score(C) = log f(C) + the largest score(A) + score(B) of its splits. A majority clade is worth
 * more than all others together. */
static void fill_hipstr(choices *w, const clade_density *d, double majority)
{
    for (size_t i = 0; i < d->clade_keys.count; i++) {
        uint32_t c = d->by_size[i];
        double f = d->clade[c].weight / d->total;
        w->value[c] = d->clade[c].size == 1 ? 0 : -HUGE_VAL;
        for (size_t k = d->split_begin[c]; k < d->split_begin[c + 1]; k++) {
            uint32_t s = d->split_list[k];
            if (d->split[s].weight == 0)
                continue;
            double value = w->value[d->split[s].part[0]] + w->value[d->split[s].part[1]];
            if (preferred(d, w, value, s, w->value[c], w->best[c])) {
                w->value[c] = value;
                w->best[c] = s;
            }
        }
        if (d->clade[c].size > 1)
            w->value[c] += log(f) + (f > 0.5 ? majority : 0);
    }
}

int clade_density_hipstr(int32_t *decision, double *log_credibility, const clade_density *d,
                         bool majority)
{
    choices w;
    clade_scratch s = {0};
    int status = choices_init(&w, d);
    if (!status)
        status = clade_scratch_init(&s, d);
    if (status)
        goto out;
    /* 1e10 in the original: with 1e5 the sums keep ten digits after the point */
    fill_hipstr(&w, d, majority ? 1e5 : 0);
    read_off(decision, NULL, d, &w, false, &s);
    if (log_credibility) {
        *log_credibility = 0;
        int32_t count = 0;
        s.order[count++] = d->n_taxa;
        for (int32_t i = 0; i < count; i++) { /* the clades of the tree, as they are found */
            const int32_t c = s.order[i];
            *log_credibility += log(d->clade[c].weight / d->total);
            for (int side = 0; side < 2; side++) {
                uint32_t part = d->split[w.best[c]].part[side];
                if (part >= (uint32_t)d->n_taxa)
                    s.order[count++] = (int32_t)part;
            }
        }
    }
out:
    clade_scratch_free(&s);
    choices_free(&w);
    return status;
}

int clade_density_probabilities(double *probability, const clade_density *d)
{
    size_t clades = d->clade_keys.count, splits = d->split_keys.count;
    /* of splits: by own counts of nodes, while their clade waits; of clades: sum of P(x) g(x) */
    double *chosen = mem_zeros(splits + clades, sizeof *chosen), *blended = chosen + splits;
    if (!chosen)
        return ART_ERR_NOMEM;
    for (size_t c = 0; c < clades; c++)
        probability[c] = 0;
    probability[d->n_taxa] = 1;
    blended[d->n_taxa] = node_at(d, d->n_taxa, KEY_NONE).g;
    for (size_t i = clades; i-- > 0;) {
        uint32_t c = d->by_size[i];
        for (size_t k = d->split_begin[c]; k < d->split_begin[c + 1]; k++) {
            uint32_t s = d->split_list[k];
            chosen[s] += d->p[s] * blended[c];
            for (int side = 0; side < 2; side++) {
                uint32_t part = d->split[s].part[side];
                node x = node_at(d, part, context_of(d, s, part));
                probability[part] += chosen[s];
                blended[part] += chosen[s] * x.g;
                for (size_t place = x.from; place < x.to; place++) {
                    double p, own;
                    uint32_t t = own_split(&p, &own, d, &x, place);
                    chosen[t] += chosen[s] * own;
                }
            }
        }
    }
    free(chosen);
    return ART_OK;
}
