/* log q of a tree, and trees drawn. Both follow the same steps from the root down
 * (clade_density.h); log q adds up all the ways in which they can end in the given tree, from the
 * tips up. */
#include "density/clade/clade_parts.h"

#include <string.h>

static int64_t join(const clade_density *d, int64_t a, int64_t b)
{
    clade_key key = key_xor(clade_key_at(d, a), clade_key_at(d, b));
    return key_table_find(&d->clade_keys, &key);
}

/* One of the two ways: c is {joined, out}, joined is {x, y}; out and y are taken together. */
static double interchange_from(const clade_density *d, int64_t c, int64_t x, int64_t y, int64_t out)
{
    int64_t joined = join(d, x, y);
    int64_t above = split_find(d, c, joined, out), below = split_find(d, joined, x, y);
    if (above < 0 || below < 0)
        return 0;
    return d->p[above] / core_mass(d, c) * d->p[below] / core_mass(d, joined) *
           part_chance(d->clade[joined].size, d->clade[out].size) / 2;
}

double interchange_probability(const clade_density *d, int64_t c, int64_t x, int64_t y1, int64_t y2)
{
    if (x < 0 || y1 < 0 || y2 < 0)
        return 0;
    return interchange_from(d, c, x, y1, y2) + interchange_from(d, c, x, y2, y1);
}

/* Clades, splits and sizes of the tree, by node. */
static void find_clades(const clade_density *d, clade_scratch *w)
{
    int32_t n = d->n_taxa, count = topology_edges(n);
    topology_postorder(w->order, &w->tree);
    for (int32_t i = 0; i < count; i++) {
        int32_t v = w->order[i], a = w->tree.child[v][0], b = w->tree.child[v][1];
        w->clade[v] = v;
        w->split[v] = KEY_NONE;
        if (v < n) {
            w->key[v] = d->taxon_key[v];
            w->size[v] = 1;
            continue;
        }
        w->key[v] = key_xor(w->key[a], w->key[b]);
        w->size[v] = w->size[a] + w->size[b];
        w->clade[v] = key_table_find(&d->clade_keys, &w->key[v]);
        w->split[v] = split_find(d, w->clade[v], w->clade[a], w->clade[b]);
    }
}

/* The probability that the split s of clade c, into parts of a and b taxa, is made as such. */
static double split_probability(const clade_density *d, int64_t c, int64_t s, int64_t context,
                                int32_t a, int32_t b)
{
    if (c < 0)
        return exp(log_any(d, a, b));
    double own = 0, backoff = context < 0 ? 1 : d->backoff[context];
    if (context >= 0 && s >= 0 && a + b > 2) {
        clade_pair key = {(uint32_t)context, (uint32_t)s};
        int64_t at = key_table_find(&d->pair_keys, &key);
        own = at < 0 ? 0 : d->pair_p[at];
    }
    double any = d->beyond[c] * d->used.share[2];
    return own + backoff * ((s < 0 ? 0 : d->p[s]) + (any > 0 ? any * exp(log_any(d, a, b)) : 0));
}

/* log_q of what is below node v, which has two children. exp(log_any) is as small as
 * 1 / (2m-3)!!, which a double has no room for: beyond that the clade's logarithm is taken. */
static double log_q_below(const clade_density *d, int32_t v, const clade_scratch *w)
{
    int32_t n = d->n_taxa, up = w->tree.parent[v];
    const int32_t *child = w->tree.child[v];
    int64_t c = w->clade[v];
    int64_t context = up == 0 ? KEY_NONE : context_of(d, w->split[up], c);
    double below = w->log_q[child[0]] + w->log_q[child[1]];
    int32_t a = w->size[child[0]], b = w->size[child[1]];
    double p = split_probability(d, c, w->split[v], context, a, b);
    double weight =
        c < 0 ? 1 : d->beyond[c] * d->used.share[2] * (context < 0 ? 1 : d->backoff[context]);
    double sum = below + (p > 1e-290 ? log(p) : log(weight) + log_any(d, a, b));
    double chance = c < 0 ? 0 : d->beyond[c] * d->used.share[1];
    if (context >= 0)
        chance *= d->backoff[context];
    for (int i = 0; i < 2 && chance > 0; i++) { /* child i is what the interchange has joined */
        int32_t y = child[i], x = child[!i];
        if (y < n)
            continue;
        int32_t y1 = w->tree.child[y][0], y2 = w->tree.child[y][1];
        double way = interchange_probability(d, c, w->clade[x], w->clade[y1], w->clade[y2]);
        if (way > 0)
            sum = log_add(sum, log(chance * way) + w->log_q[x] + w->log_q[y1] + w->log_q[y2]);
    }
    return sum;
}

/* log q of what is below every node of the tree. */
static void find_log_q(const clade_density *d, clade_scratch *w)
{
    int32_t n = d->n_taxa, count = topology_edges(n);
    find_clades(d, w);
    for (int32_t i = 0; i < count; i++) {
        int32_t v = w->order[i];
        w->log_q[v] = v < n ? 0 : log_q_below(d, v, w);
    }
}

double clade_density_log_q(const clade_density *d, const int32_t *decision, clade_scratch *w)
{
    topology_build(&w->tree, decision);
    find_log_q(d, w);
    return w->log_q[w->tree.child[0][0]];
}

/* The place in sum[from .. to-1], running sums, at which u would fall; never an empty entry. */
static size_t place_of(const double *sum, size_t from, size_t to, double u)
{
    size_t low = from, high = to - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sum[middle] > u)
            high = middle;
        else
            low = middle + 1;
    }
    while (low > from && sum[low] == sum[low - 1]) /* u beyond the sum, by rounding */
        low--;
    return low;
}

/* A split of clade c from the core, without looking at its sister. */
static uint32_t draw_split(const clade_density *d, int64_t c, rng *r)
{
    size_t from = d->split_begin[c], to = d->split_begin[c + 1];
    double u = rng_uniform(r) * d->split_sum[to - 1];
    return d->split_list[place_of(d->split_sum, from, to, u)];
}

/* The work of drawing: a stack of clades to be split, and the tree as it grows. */
typedef struct drawing {
    const clade_density *d;
    clade_scratch *w;
    rng *r;
    int32_t n_items, n_nodes;
    const int32_t *node; /* numbers for inner nodes, in the order in which they are made; NULL: from
                            N on */
} drawing;

/* Hangs a clade of which the taxa have places from first on. */
static void hang(drawing *w, int64_t c, int64_t context, int32_t first, int32_t size,
                 int32_t parent, int32_t side)
{
    w->w->item[w->n_items++] = (clade_item){c, context, first, size, parent, side};
}

static int32_t new_node(drawing *w, int32_t parent, int32_t side)
{
    int32_t made = w->n_nodes++, v = w->node ? w->node[made] : w->d->n_taxa + made;
    w->w->tree.child[parent][side] = v;
    w->w->tree.parent[v] = parent;
    return v;
}

/* Splits the item by split s of its clade. */
static void apply_split(drawing *w, const clade_item *at, uint32_t s)
{
    const clade_density *d = w->d;
    int32_t v = new_node(w, at->parent, at->side), first = at->first;
    for (int side = 0; side < 2; side++) {
        uint32_t part = d->split[s].part[side];
        hang(w, part, context_of(d, s, part), first, d->clade[part].size, v, side);
        first += d->clade[part].size;
    }
}

/* {{joined: keep, other}, out} becomes {keep, {other, out}}. */
static void apply_interchange(drawing *w, const clade_item *at)
{
    const clade_density *d = w->d;
    const clade_split *s = &d->split[draw_split(d, at->clade, w->r)];
    int side =
        rng_uniform(w->r) >= part_chance(d->clade[s->part[0]].size, d->clade[s->part[1]].size);
    int64_t joined = s->part[side], out = s->part[!side];
    const clade_split *below = &d->split[draw_split(d, joined, w->r)];
    int kept = rng_uniform(w->r) >= 0.5;
    int64_t keep = below->part[kept], other = below->part[!kept];
    int64_t fresh = join(d, other, out);
    int64_t top = split_find(d, at->clade, keep, fresh);
    int64_t low = split_find(d, fresh, other, out);
    int32_t size = d->clade[keep].size, first = at->first;
    int32_t v = new_node(w, at->parent, at->side), u = new_node(w, v, 1);
    hang(w, keep, context_of(d, top, keep), first, size, v, 0);
    first += size;
    size = d->clade[other].size;
    hang(w, other, context_of(d, low, other), first, size, u, 0);
    hang(w, out, context_of(d, low, out), first + size, d->clade[out].size, u, 1);
}

/* Divides the taxa of a list as the root of a uniformly drawn tree does, and returns how many are
 * in the first part, which come first then. The tree grows by one taxon at a time on any of its
 * 2k - 1 edges, the one above the root among them; only which side of the root a taxon is on
 * matters. A taxon above the root is on one side, and all before it are on the other. */
static int32_t divide(int32_t *taxa, int32_t size, int32_t *second, rng *r)
{
    int32_t top = 0, first = 0; /* the last taxon above the root; how many are on its side */
    for (int32_t i = 1; i < size; i++) {
        int32_t edge = (int32_t)rng_below(r, 2 * (uint32_t)i - 1);
        if (edge == 0) {
            top = i;
            first = 0;
        }
        second[i] = edge > 2 * first - 1 && edge != 0;
        first += !second[i];
    }
    for (int32_t i = 0; i < top; i++)
        second[i] = 1;
    for (int32_t i = 0, to = 0; i < size; i++)
        if (!second[i]) {
            int32_t taxon = taxa[i];
            taxa[i] = taxa[to];
            second[i] = second[to];
            taxa[to++] = taxon;
        }
    return first;
}

static void apply_any(drawing *w, const clade_item *at)
{
    const clade_density *d = w->d;
    int32_t *taxa = w->w->taxa + at->first;
    if (at->clade >= 0)
        clade_taxa(taxa, d, (size_t)at->clade);
    int32_t size[2], v = new_node(w, at->parent, at->side);
    size[0] = divide(taxa, at->size, w->w->other + at->first, w->r);
    size[1] = at->size - size[0];
    int64_t part[2];
    for (int side = 0, i = 0; side < 2; side++) {
        clade_key key = {{0, 0}};
        for (int32_t k = 0; k < size[side]; k++)
            key = key_xor(key, d->taxon_key[taxa[i++]]);
        part[side] = key_table_find(&d->clade_keys, &key);
    }
    int64_t s = split_find(d, at->clade, part[0], part[1]);
    for (int side = 0; side < 2; side++)
        hang(w, part[side], context_of(d, s, part[side]), at->first + side * size[0], size[side], v,
             side);
}

/* One step: by the counts beside the sister, by the core of the clade, or beyond it. */
static void draw_step(drawing *w, const clade_item *at)
{
    const clade_density *d = w->d;
    int64_t c = at->clade;
    if (c < 0) {
        apply_any(w, at);
        return;
    }
    if (at->context >= 0 && d->backoff[at->context] < 1) {
        size_t from = d->pair_begin[at->context], to = d->pair_begin[at->context + 1];
        double u = rng_uniform(w->r), own = 1 - d->backoff[at->context];
        if (u < own) {
            size_t place = place_of(d->pair_sum, from, to, u / own * d->pair_sum[to - 1]);
            const clade_pair *pair = key_table_at(&d->pair_keys, d->pair_list[place]);
            apply_split(w, at, pair->split);
            return;
        }
    }
    double u = rng_uniform(w->r), core = core_mass(d, c);
    if (u < core)
        apply_split(w, at, draw_split(d, c, w->r));
    else if (u < core + d->beyond[c] * d->used.share[1])
        apply_interchange(w, at);
    else
        apply_any(w, at);
}

/* Splits clades until all are single taxa. */
static void draw_all(drawing *w)
{
    clade_scratch *s = w->w;
    while (w->n_items) {
        clade_item at = s->item[--w->n_items];
        if (at.size > 1) {
            draw_step(w, &at);
        } else {
            s->tree.child[at.parent][at.side] = (int32_t)at.clade;
            s->tree.parent[at.clade] = at.parent;
        }
    }
}

double clade_density_sample(int32_t *decision, const clade_density *d, rng *r, clade_scratch *s)
{
    int32_t n = d->n_taxa;
    drawing w = {.d = d, .w = s, .r = r};
    hang(&w, n, KEY_NONE, 0, n - 1, 0, 0);
    draw_all(&w);
    topology_decisions(decision, NULL, &s->tree, s->decisions);
    return clade_density_log_q(d, decision, s);
}

/* The inner nodes at v and below it, v first, into node; their number is returned. Taxa go to
 * s->taxa. */
static int32_t list_below(int32_t *node, int32_t v, clade_scratch *s)
{
    int32_t count = 1, taxa = 0;
    node[0] = v;
    for (int32_t i = 0; i < count; i++)
        for (int side = 0; side < 2; side++) {
            int32_t u = s->tree.child[node[i]][side];
            if (u < s->tree.n_taxa)
                s->taxa[taxa++] = u;
            else
                node[count++] = u;
        }
    return count;
}

/* The clade at v with what is below it is drawn into s->tree, with the same numbers of nodes in
 * another order. */
static void draw_below(int32_t v, const int32_t *node, const clade_density *d, rng *r,
                       clade_scratch *s)
{
    int32_t up = s->tree.parent[v], side = s->tree.child[up][0] != v;
    int64_t context = up == 0 ? KEY_NONE : context_of(d, s->split[up], s->clade[v]);
    drawing w = {.d = d, .w = s, .r = r, .node = node};
    hang(&w, s->clade[v], context, 0, s->size[v], up, side);
    draw_all(&w);
}

/* name [2N] by node of s->tree: its number in the tree before, if its clade was there, else one
 * that no other has. Returns how many clades were not there. */
static int32_t name_nodes(int32_t *name, const int32_t *node, int32_t count, clade_scratch *s)
{
    int32_t fresh = 0, next = 0;
    for (int32_t i = 0; i < count; i++)
        name[node[i]] = -1;
    int32_t *unused = s->other; /* there is room: nodes below v are fewer than taxa */
    for (int32_t k = 0; k < count; k++) {
        int32_t i = 0;
        while (i < count && memcmp(&s->key[node[i]], &s->old[node[k]], sizeof *s->key) != 0)
            i++;
        if (i < count)
            name[node[i]] = node[k];
        else
            unused[fresh++] = node[k];
    }
    for (int32_t i = 0; i < count; i++)
        if (name[node[i]] < 0)
            name[node[i]] = unused[next++];
    return fresh;
}

bool clade_density_redraw(topology *t, int32_t v, double *log_ratio, const clade_density *d, rng *r,
                          clade_scratch *s)
{
    int32_t n = d->n_taxa, *node = s->decisions, *name = node + n;
    if (t->child[v][0] < n && t->child[v][1] < n)
        return false; /* two taxa */
    topology_copy(&s->tree, t);
    find_log_q(d, s);
    int32_t count = list_below(node, v, s);
    double before = s->log_q[v];
    memcpy(s->old, s->key, 2 * (size_t)n * sizeof *s->key);
    draw_below(v, node, d, r, s);
    find_log_q(d, s);
    if (!name_nodes(name, node, count, s))
        return false;
    *log_ratio = before - s->log_q[v];
    for (int32_t i = 0; i < count; i++)
        for (int side = 0; side < 2; side++) {
            int32_t u = s->tree.child[node[i]][side], child = u < n ? u : name[u];
            t->child[name[node[i]]][side] = child;
            t->parent[child] = name[node[i]];
        }
    return true;
}

void clade_density_log_q_many(double *log_q, const clade_density *d, const int32_t *decision,
                              size_t count, clade_scratch *s)
{
    for (size_t i = 0; i < count; i++)
        log_q[i] = clade_density_log_q(d, decision + i * (size_t)(d->n_taxa - 3), s);
}

void clade_density_sample_many(int32_t *decision, double *log_q, const clade_density *d,
                               size_t count, uint64_t seed, uint32_t purpose, uint32_t step,
                               uint32_t first, clade_scratch *s)
{
    for (size_t i = 0; i < count; i++) {
        rng r = rng_at(seed, purpose, step, first + (uint32_t)i);
        log_q[i] = clade_density_sample(decision + i * (size_t)(d->n_taxa - 3), d, &r, s);
    }
}
