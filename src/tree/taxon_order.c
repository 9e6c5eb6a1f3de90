#include "tree/taxon_order.h"

#include "artreeformer.h"
#include "base/hash.h"
#include "base/mem.h"
#include "tree/topology.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TREES = 1000, LEAST_TREES = 50 };
static const double MOST_WORK = 2e9; /* N^3 trees, a few seconds */

/* Unrooted trees on the taxa that are left. Nodes are numbered as in tree/topology.h: taxa, then
 * inner nodes. A taxon has one neighbour, in [0]. */
typedef struct orderer {
    int32_t n_taxa;
    int32_t n_left;
    int k;
    bool *left; /* [N] */
    size_t count;
    double *weight;          /* [count] */
    int32_t (*neighbour)[3]; /* [count][2N-2] */
    uint64_t *key;           /* [count][N]: of each tree without each taxon */
    uint64_t *name;          /* [N]: a random number for every taxon */
    /* of one tree, seen from its first taxon */
    int32_t *parent;  /* [2N-2] */
    int32_t *visited; /* [2N-2]: parents before children */
    int32_t n_visited;
    uint64_t *below; /* [2N-2]: of the taxa below a node, their numbers combined */
    bool *above;     /* [2N-2]: of the taxon in question */
    /* of all trees without one taxon */
    struct tally {
        uint64_t key;
        double weight;
    } * tally; /* [count] */
} orderer;

static size_t node_count(const orderer *o)
{
    return (size_t)topology_nodes(o->n_taxa);
}

static void orderer_free(orderer *o)
{
    free(o->left);
    free(o->weight);
    free(o->neighbour);
    free(o->key);
    free(o->name);
    free(o->parent);
    free(o->visited);
    free(o->below);
    free(o->above);
    free(o->tally);
}

static int orderer_init(orderer *o, const tree_set *s, int k)
{
    const size_t n = (size_t)s->taxa.count, nodes = (size_t)topology_nodes(s->taxa.count);
    const double most = fmin(MOST_TREES, fmax(LEAST_TREES, MOST_WORK / pow((double)n, 3)));
    const size_t count = s->count < (size_t)most ? s->count : (size_t)most;
    *o = (orderer){.n_taxa = s->taxa.count, .n_left = s->taxa.count, .k = k, .count = count};
    o->left = mem_zeros(n, sizeof *o->left);
    o->weight = mem_zeros(count, sizeof *o->weight);
    o->neighbour = mem_zeros(count * nodes, sizeof *o->neighbour);
    o->key = mem_zeros(count * n, sizeof *o->key);
    o->name = mem_zeros(n, sizeof *o->name);
    o->parent = mem_zeros(nodes, sizeof *o->parent);
    o->visited = mem_zeros(nodes, sizeof *o->visited);
    o->below = mem_zeros(nodes, sizeof *o->below);
    o->above = mem_zeros(nodes, sizeof *o->above);
    o->tally = mem_zeros(count, sizeof *o->tally);
    return o->left && o->weight && o->neighbour && o->key && o->name && o->parent && o->visited &&
                   o->below && o->above && o->tally
               ? ART_OK
               : ART_ERR_NOMEM;
}

static int32_t (*tree_of(const orderer *o, size_t i))[3]
{
    return o->neighbour + i * node_count(o);
}

/* The trees of the set, weights normalised again. */
static int load_trees(orderer *o, const tree_set *s)
{
    topology t;
    double total = 0;
    int status = topology_init(&t, o->n_taxa);
    for (size_t i = 0; i < o->count; i++)
        total += s->weight[i];
    for (size_t i = 0; i < o->count && !status; i++) {
        int32_t(*of)[3] = tree_of(o, i);
        o->weight[i] = s->weight[i] / total;
        topology_build(&t, tree_set_decision(s, i));
        of[0][0] = t.child[0][0];
        for (int32_t node = 1; node < topology_nodes(o->n_taxa); node++) {
            of[node][0] = t.parent[node];
            of[node][1] = t.child[node][0];
            of[node][2] = t.child[node][1];
        }
    }
    topology_free(&t);
    for (int32_t i = 0; i < o->n_taxa; i++) {
        o->left[i] = true;
        o->name[i] = hash_mix((uint64_t)i + 1);
    }
    return status;
}

static int32_t first_left(const orderer *o)
{
    int32_t root = 0;
    while (!o->left[root])
        root++;
    return root;
}

/* Goes through a tree from its first taxon. */
static void visit(orderer *o, int32_t (*of)[3])
{
    const int32_t root = first_left(o);
    int32_t n = 0;
    o->parent[root] = -1;
    o->visited[n++] = root;
    for (int32_t i = 0; i < n; i++) {
        const int32_t node = o->visited[i], degree = node < o->n_taxa ? 1 : 3;
        o->below[node] = node < o->n_taxa ? o->name[node] : 0;
        for (int32_t j = 0; j < degree; j++)
            if (of[node][j] != o->parent[node]) {
                o->parent[of[node][j]] = node;
                o->visited[n++] = of[node][j];
            }
    }
    o->n_visited = n;
    for (int32_t i = n - 1; i > 0; i--)
        o->below[o->parent[o->visited[i]]] ^= o->below[o->visited[i]];
}

/* The key of the visited tree without a taxon: every branch is known by the smaller of the
 * numbers of its two sides. Of the branches that become one, only one counts. */
static uint64_t key_without(orderer *o, int32_t taxon)
{
    const int32_t root = o->visited[0];
    const uint64_t all = o->below[root] ^ o->name[taxon];
    /* without the root, the two branches below its neighbour are one */
    const int32_t joint = taxon == root ? o->visited[1] : o->parent[taxon];
    const int32_t twin = taxon == root ? o->visited[2] : taxon;
    uint64_t key = 0;
    for (int32_t node = taxon; node >= 0; node = o->parent[node])
        o->above[node] = true;
    for (int32_t i = 1; i < o->n_visited; i++) {
        const int32_t node = o->visited[i];
        if (node == joint || node == twin)
            continue;
        const uint64_t side = o->below[node] ^ (o->above[node] ? o->name[taxon] : 0);
        key += hash_mix(side < (all ^ side) ? side : all ^ side);
    }
    for (int32_t node = taxon; node >= 0; node = o->parent[node])
        o->above[node] = false;
    return key;
}

static int by_key(const void *a, const void *b)
{
    const uint64_t x = ((const struct tally *)a)->key, y = ((const struct tally *)b)->key;
    return (x > y) - (x < y);
}

/* How many distinct topologies of such weight k draws are expected to show. */
static double seen(double weight, int k)
{
    return -expm1(k * log1p(-fmin(weight, 1)));
}

/* How many distinct topologies k draws are expected to show without a taxon. */
static double distinct_without(orderer *o, int32_t taxon)
{
    double sum = 0;
    for (size_t i = 0; i < o->count; i++)
        o->tally[i] = (struct tally){o->key[i * (size_t)o->n_taxa + (size_t)taxon], o->weight[i]};
    qsort(o->tally, o->count, sizeof *o->tally, by_key);
    for (size_t i = 0, next; i < o->count; i = next) {
        double weight = 0;
        for (next = i; next < o->count && o->tally[next].key == o->tally[i].key; next++)
            weight += o->tally[next].weight;
        sum += seen(weight, o->k);
    }
    return sum;
}

static void prune(int32_t (*of)[3], int32_t taxon)
{
    const int32_t joint = of[taxon][0];
    int32_t end[2], n = 0;
    for (int i = 0; i < 3; i++)
        if (of[joint][i] != taxon)
            end[n++] = of[joint][i];
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < 3; i++)
            if (of[end[side]][i] == joint) {
                of[end[side]][i] = end[1 - side];
                break;
            }
}

/* Takes a taxon away from all trees; those that become equal are one from then on. */
static void take_away(orderer *o, int32_t taxon)
{
    const size_t n = (size_t)o->n_taxa, nodes = node_count(o);
    size_t kept = 0;
    for (size_t i = 0; i < o->count; i++) {
        const uint64_t key = o->key[i * n + (size_t)taxon];
        size_t same = 0;
        while (same < kept && o->tally[same].key != key)
            same++;
        if (same < kept) {
            o->tally[same].weight += o->weight[i];
            continue;
        }
        o->tally[kept] = (struct tally){key, o->weight[i]};
        memmove(tree_of(o, kept), tree_of(o, i), nodes * sizeof *o->neighbour);
        prune(tree_of(o, kept), taxon);
        kept++;
    }
    for (size_t i = 0; i < kept; i++)
        o->weight[i] = o->tally[i].weight;
    o->count = kept;
    o->left[taxon] = false;
    o->n_left--;
}

/* The taxon without which the trees agree best. */
static int32_t least_certain(orderer *o)
{
    int32_t best = 0;
    double least = INFINITY;
    for (size_t i = 0; i < o->count; i++) {
        visit(o, tree_of(o, i));
        for (int32_t taxon = 0; taxon < o->n_taxa; taxon++)
            if (o->left[taxon])
                o->key[i * (size_t)o->n_taxa + (size_t)taxon] = key_without(o, taxon);
    }
    for (int32_t taxon = o->n_taxa - 1; taxon >= 0; taxon--) {
        if (!o->left[taxon])
            continue;
        const double expected = distinct_without(o, taxon);
        if (expected < least - 1e-12) { /* sums of the same weights in another order are equal */
            least = expected;
            best = taxon;
        }
    }
    return best;
}

int taxon_order(int32_t *order, const tree_set *s, int k)
{
    orderer o;
    int status = orderer_init(&o, s, k);
    if (!status)
        status = load_trees(&o, s);
    while (!status && o.n_left > 3) {
        const int32_t last = least_certain(&o);
        order[o.n_left - 1] = last;
        take_away(&o, last);
    }
    for (int32_t i = 0, n = 0; i < o.n_taxa && !status; i++)
        if (o.left[i])
            order[n++] = i;
    orderer_free(&o);
    return status;
}

int taxon_order_work(double *share, const tree_set *s, int k)
{
    double done = 0, all = 0;
    double *weight = mem_zeros(s->count, sizeof *weight);
    int status = weight ? ART_OK : ART_ERR_NOMEM;
    for (int32_t n = 3; n < s->taxa.count && !status; n++) {
        key_table prefixes;
        key_table_init(&prefixes, (size_t)(n - 3) * sizeof *s->decision);
        memset(weight, 0, s->count * sizeof *weight);
        for (size_t i = 0; i < s->count && !status; i++) {
            size_t number = 0;
            status = key_table_add(&prefixes, tree_set_decision(s, i), &number);
            weight[number] += s->weight[i];
        }
        for (size_t i = 0; i < prefixes.count; i++)
            done += topology_edges(n) * seen(weight[i], k);
        all += topology_edges(n) * (double)k;
        key_table_free(&prefixes);
    }
    free(weight);
    *share = all > 0 ? done / all : 1;
    return status;
}
