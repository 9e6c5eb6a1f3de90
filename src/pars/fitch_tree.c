#include "pars/fitch_tree.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "tree/rearrange.h"

#include <stdlib.h>
#include <string.h>

static size_t set_words(const fitch_tree *t)
{
    return (size_t)t->data->n_planes * (size_t)t->data->chunk;
}

static uint64_t *set_at(const fitch_tree *t, uint64_t *sets, int32_t node)
{
    return sets + (size_t)node * set_words(t);
}

int fitch_tree_init(fitch_tree *t, const site_bits *data)
{
    memset(t, 0, sizeof *t);
    if (data->n_chunks > 1)
        return ART_ERR_USAGE;
    const size_t taxa = (size_t)data->n_taxa, nodes = 2 * taxa;
    t->n_taxa = data->n_taxa;
    t->data = data;
    t->kernel = fitch_kernels_of(cpu_best());
    int status = topology_init(&t->tree, t->n_taxa);
    if (!status)
        status = topology_init(&t->named, t->n_taxa);
    if (status)
        return status;
    t->tip = mem_aligned(taxa * set_words(t), sizeof *t->tip);
    t->down = mem_aligned(nodes * set_words(t), sizeof *t->down);
    t->up = mem_aligned(nodes * set_words(t), sizeof *t->up);
    t->mid = mem_aligned(nodes * set_words(t), sizeof *t->mid);
    t->list = mem_zeros(2 * nodes, sizeof *t->list);
    t->cut = mem_zeros(nodes, sizeof *t->cut);
    t->stack = mem_zeros(nodes, sizeof *t->stack);
    t->scratch = mem_zeros(6 * taxa, sizeof *t->scratch);
    if (!t->tip || !t->down || !t->up || !t->mid || !t->list || !t->cut || !t->stack || !t->scratch)
        return ART_ERR_NOMEM;
    fitch_tree_drop(t, 0, NULL);
    return ART_OK;
}

void fitch_tree_free(fitch_tree *t)
{
    topology_free(&t->tree);
    topology_free(&t->named);
    free(t->tip);
    free(t->down);
    free(t->up);
    free(t->mid);
    free(t->list);
    free(t->cut);
    free(t->stack);
    free(t->scratch);
    memset(t, 0, sizeof *t);
}

void fitch_tree_drop(fitch_tree *t, double probability, rng *r)
{
    const size_t words = (size_t)t->data->chunk,
                 rows = (size_t)t->n_taxa * (size_t)t->data->n_planes;
    if (words)
        memcpy(t->tip, t->data->tip, rows * words * sizeof *t->tip);
    if (probability <= 0)
        return;
    for (size_t word = 0; word < words; word++) {
        uint64_t dropped = 0;
        for (int bit = 0; bit < 64; bit++)
            dropped |= (uint64_t)(rng_uniform(r) < probability) << bit;
        for (size_t row = 0; row < rows; row++) /* a column with every state in every taxon */
            t->tip[row * words + word] |= dropped;
    }
}

static void merge(const fitch_tree *t, uint64_t *out, const uint64_t *a, const uint64_t *b)
{
    t->kernel->merge(out, a, b, t->data->n_planes, t->data->chunk);
}

static int64_t join(const fitch_tree *t, const uint64_t *a, const uint64_t *b, int64_t limit)
{
    return t->kernel->join(a, b, t->data->power, limit, t->data->n_planes, t->data->chunk);
}

static void merge_children(fitch_tree *t, int32_t v)
{
    const int32_t *child = t->tree.child[v];
    merge(t, set_at(t, t->down, v), set_at(t, t->down, child[0]), set_at(t, t->down, child[1]));
}

/* The sets below v's ancestors, v included if it is an inner node. */
static void refresh_path(fitch_tree *t, int32_t v)
{
    for (; v != 0; v = t->tree.parent[v])
        if (v >= t->n_taxa)
            merge_children(t, v);
}

/* The nodes below top and itself, parents before children. Returns how many. */
static int32_t list_below(fitch_tree *t, int32_t *list, int32_t top)
{
    int32_t count = 0, waiting = 0;
    t->stack[waiting++] = top;
    while (waiting) {
        const int32_t v = t->stack[--waiting];
        list[count++] = v;
        if (v >= t->n_taxa) {
            t->stack[waiting++] = t->tree.child[v][0];
            t->stack[waiting++] = t->tree.child[v][1];
        }
    }
    return count;
}

/* The sets below all nodes, and the score. */
static void refresh(fitch_tree *t)
{
    const int32_t top = t->tree.child[0][0];
    const int32_t count = list_below(t, t->list, top);
    t->score = 0;
    for (int32_t i = count - 1; i >= 0; i--) {
        const int32_t v = t->list[i], *child = t->tree.child[v];
        if (v < t->n_taxa)
            continue;
        t->score += join(t, set_at(t, t->down, child[0]), set_at(t, t->down, child[1]), INT64_MAX);
        merge_children(t, v);
    }
    t->score += join(t, set_at(t, t->down, top), set_at(t, t->down, 0), INT64_MAX);
}

static void set_tips(fitch_tree *t, const int32_t *taxon)
{
    const size_t bytes = set_words(t) * sizeof *t->tip;
    for (int32_t i = 0; i < t->n_taxa; i++)
        memcpy(set_at(t, t->down, i), set_at(t, t->tip, taxon ? taxon[i] : i), bytes);
}

void fitch_tree_set(fitch_tree *t, const int32_t *decision)
{
    topology_build(&t->tree, decision);
    set_tips(t, NULL);
    refresh(t);
}

void fitch_tree_decisions(fitch_tree *t, int32_t *decision)
{
    topology_decisions(decision, NULL, &t->tree, t->scratch);
}

/* What is above the branch of v in a tree that hangs from taxon 0. */
static const uint64_t *outside_of(const fitch_tree *t, int32_t v)
{
    return t->tree.parent[v] == 0 ? set_at(t, t->down, 0) : set_at(t, t->up, v);
}

/* The sets above and on the branches of the tree that hangs from taxon 0; list is set to the
 * branches. Returns how many. */
static int32_t sweep(fitch_tree *t, int32_t *list)
{
    const int32_t count = list_below(t, list, t->tree.child[0][0]);
    for (int32_t i = 0; i < count; i++) {
        const int32_t v = list[i];
        if (i > 0)
            merge(t, set_at(t, t->up, v), outside_of(t, t->tree.parent[v]),
                  set_at(t, t->down, topology_sibling(&t->tree, v)));
        merge(t, set_at(t, t->mid, v), set_at(t, t->down, v), outside_of(t, v));
    }
    return count;
}

void fitch_tree_grow(fitch_tree *t, rng *r)
{
    int32_t *order = t->cut;
    for (int32_t i = 0; i < t->n_taxa; i++) {
        const int32_t j = (int32_t)rng_below(r, (uint32_t)i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    set_tips(t, order);
    topology_reset(&t->tree);
    refresh_path(t, t->tree.child[0][0]);
    for (int32_t next = 3; next < t->n_taxa; next++) {
        const int32_t count = sweep(t, t->list);
        int64_t least = INT64_MAX - 1;
        int32_t best = -1;
        uint32_t equal = 0;
        for (int32_t i = 0; i < count; i++) {
            const int32_t v = t->list[i];
            const int64_t cost = join(t, set_at(t, t->mid, v), set_at(t, t->down, next), least);
            if (cost < least)
                equal = 0;
            if (cost <= least && rng_below(r, ++equal) == 0)
                best = v;
            least = cost < least ? cost : least;
        }
        topology_attach(&t->tree, node_edge(best, t->n_taxa));
        refresh_path(t, t->tree.parent[next]);
    }
    topology_relabel(&t->named, &t->tree, order);
    topology_decisions(t->list, NULL, &t->named, t->scratch);
    memcpy(t->cut, t->list, (size_t)(t->n_taxa - 3) * sizeof *t->cut);
    fitch_tree_set(t, t->cut);
}

/* ---- a branch is cut ---- */

/* The two trees of a cut above v, and where they were joined. The list of each begins with the
 * branch on which the cut branch ended. */
typedef struct halves {
    int32_t v;       /* the top of the one */
    int32_t inner;   /* the inner node that the cut leaves without use; 0 if the other tree is
                        taxon 0 alone */
    int32_t sibling; /* the branch of the other where it was */
    int32_t *own;    /* [n_own] branches of the tree below v; v itself if that is a taxon */
    int32_t *rest;   /* [n_rest] branches of the other; 0 if that is taxon 0 */
    int32_t n_own, n_rest;
    int64_t cost; /* of the branch that is cut */
} halves;

static void replace_child(topology *t, int32_t parent, int32_t before, int32_t now)
{
    t->child[parent][parent != 0 && t->child[parent][1] == before] = now;
    t->parent[now] = parent;
}

/* Puts the inner node with v below it on the branch above f. */
static void insert(topology *t, int32_t inner, int32_t v, int32_t f)
{
    replace_child(t, t->parent[f], f, inner);
    t->child[inner][0] = v;
    t->child[inner][1] = f;
    t->parent[v] = t->parent[f] = inner;
}

/* The branches below v and their sets. The two below v itself are one branch. */
static int32_t sweep_below(fitch_tree *t, int32_t *list, int32_t v)
{
    const size_t bytes = set_words(t) * sizeof *t->down;
    if (v < t->n_taxa) {
        memcpy(set_at(t, t->mid, v), set_at(t, t->down, v), bytes);
        list[0] = v;
        return 1;
    }
    const int32_t *child = t->tree.child[v];
    int32_t count = list_below(t, list, child[0]);
    const int32_t second = count;
    count += list_below(t, list + count, child[1]);
    for (int32_t i = 0; i < count; i++) {
        const int32_t x = list[i];
        if (i == 0 || i == second) {
            memcpy(set_at(t, t->up, x), set_at(t, t->down, child[i == 0]), bytes);
            memcpy(set_at(t, t->mid, x), set_at(t, t->down, v), bytes);
            continue;
        }
        merge(t, set_at(t, t->up, x), set_at(t, t->up, t->tree.parent[x]),
              set_at(t, t->down, topology_sibling(&t->tree, x)));
        merge(t, set_at(t, t->mid, x), set_at(t, t->down, x), set_at(t, t->up, x));
    }
    list[second] = list[--count];
    return count;
}

static halves cut_above(fitch_tree *t, int32_t v)
{
    topology *tree = &t->tree;
    halves h = {.v = v, .inner = tree->parent[v], .own = t->list, .rest = t->list + 2 * t->n_taxa};
    h.n_own = sweep_below(t, h.own, v);
    if (h.inner == 0) {
        memcpy(set_at(t, t->mid, 0), set_at(t, t->down, 0), set_words(t) * sizeof *t->mid);
        h.rest[0] = 0;
        h.n_rest = 1;
    } else {
        h.sibling = topology_sibling(tree, v);
        const int32_t above = tree->parent[h.inner];
        replace_child(tree, above, h.inner, h.sibling);
        refresh_path(t, above);
        h.n_rest = sweep(t, h.rest);
        for (int32_t i = 1; i < h.n_rest; i++)
            if (h.rest[i] == h.sibling) {
                h.rest[i] = h.rest[0];
                h.rest[0] = h.sibling;
            }
    }
    h.cost = join(t, set_at(t, t->mid, h.own[0]), set_at(t, t->mid, h.rest[0]), INT64_MAX);
    return h;
}

/* The tree as it was before the cut. */
static void undo_cut(fitch_tree *t, const halves *h)
{
    if (h->inner == 0)
        return;
    insert(&t->tree, h->inner, h->v, h->sibling);
    refresh_path(t, h->inner);
}

/* v, the top of a tree, is taken out and put on the branch above e; the path from there to where it
 * was is turned over. */
static void turn(topology *t, int32_t v, int32_t e)
{
    int32_t below = e, x = t->parent[e];
    if (e == v || x == v)
        return;
    const int32_t first = x;
    while (x != v) {
        const int32_t above = t->parent[x];
        const int32_t other = t->child[v][t->child[v][0] == x]; /* used if x is a child of v */
        t->child[x][t->child[x][1] == below] = above == v ? other : above;
        if (above == v)
            t->parent[other] = x;
        t->parent[x] = below;
        below = x;
        x = above;
    }
    t->child[v][0] = e;
    t->child[v][1] = first;
    t->parent[e] = t->parent[first] = v;
}

/* The tree with the halves joined at branches e and f. The sets are not refreshed. */
static void join_halves(fitch_tree *t, const halves *h, int32_t e, int32_t f)
{
    turn(&t->tree, h->v, e);
    if (h->inner != 0)
        insert(&t->tree, h->inner, h->v, f);
}

/* The cheapest way to join, if it costs less than the cut branch. */
static int64_t best_join(fitch_tree *t, const halves *h, fitch_moves moves, int32_t best[2])
{
    int64_t least = h->cost;
    for (int32_t i = 0; i < h->n_own; i++) {
        const uint64_t *set = set_at(t, t->mid, h->own[i]);
        const int32_t n = moves == FITCH_SPR && i > 0 ? 1 : h->n_rest;
        for (int32_t j = 0; j < n; j++) {
            const int64_t cost = join(t, set, set_at(t, t->mid, h->rest[j]), least - 1);
            if (cost < least) {
                least = cost;
                best[0] = h->own[i];
                best[1] = h->rest[j];
            }
        }
    }
    return least;
}

/* Cuts above v and joins again if that is better; returns whether it was. */
static bool improve(fitch_tree *t, int32_t v, fitch_moves moves)
{
    int32_t best[2] = {v, v};
    const halves h = cut_above(t, v);
    const int64_t least = h.cost > 0 ? best_join(t, &h, moves, best) : h.cost;
    if (least == h.cost) {
        undo_cut(t, &h);
        return false;
    }
    join_halves(t, &h, best[0], best[1]);
    refresh(t);
    return true;
}

int64_t fitch_tree_climb(fitch_tree *t, fitch_moves moves, rng *r, const interrupt *stop)
{
    const int32_t edges = topology_edges(t->n_taxa);
    for (int32_t i = 0; i < edges; i++) {
        const int32_t j = (int32_t)rng_below(r, (uint32_t)i + 1);
        t->cut[i] = t->cut[j];
        t->cut[j] = i + 1; /* the nodes but taxon 0 */
    }
    int32_t since = 0; /* cuts without improvement */
    for (int32_t i = 0; since < edges && !interrupt_is_due(stop); i = (i + 1) % edges)
        since = improve(t, t->cut[i], moves) ? 0 : since + 1;
    return t->score;
}

/* Hands out the neighbour that joins the halves at e and f; the tree is whole afterwards. */
static int hand_out(fitch_tree *t, const halves *h, int32_t e, int32_t f, int64_t score,
                    fitch_visit *visit, void *context)
{
    topology *kept = &t->named;
    int32_t *decision = t->cut;
    topology_copy(kept, &t->tree);
    join_halves(t, h, e, f);
    topology_decisions(decision, NULL, &t->tree, t->scratch);
    topology_copy(&t->tree, kept);
    return visit(context, decision, score);
}

int fitch_tree_neighbours(fitch_tree *t, fitch_moves moves, int64_t limit, fitch_visit *visit,
                          void *context)
{
    int status = ART_OK;
    for (int32_t v = 1; v < topology_nodes(t->n_taxa) && !status; v++) {
        const halves h = cut_above(t, v);
        const int64_t apart = t->score - h.cost;
        for (int32_t i = 0; i < h.n_own; i++) {
            const int32_t n = moves == FITCH_SPR && i > 0 ? 1 : h.n_rest;
            for (int32_t j = i == 0; j < n && !status; j++) {
                const int64_t cost = join(t, set_at(t, t->mid, h.own[i]),
                                          set_at(t, t->mid, h.rest[j]), limit - apart);
                if (apart + cost <= limit)
                    status = hand_out(t, &h, h.own[i], h.rest[j], apart + cost, visit, context);
            }
        }
        undo_cut(t, &h);
    }
    return status;
}

void fitch_tree_lengths(fitch_tree *t, int64_t *length)
{
    const int32_t count = sweep(t, t->list);
    for (int32_t i = 0; i < count; i++) {
        const int32_t v = t->list[i];
        length[v] = join(t, set_at(t, t->down, v), outside_of(t, v), INT64_MAX);
    }
}
