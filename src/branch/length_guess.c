#include "branch/length_guess.h"

#include "artreeformer.h"
#include "base/hash.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* A split is known by the sum of random numbers of its taxa on the side without taxon 0. If two
 * splits had the same, a fit would begin with a wrong length: no harm. */
typedef struct slot {
    uint64_t key; /* 0: empty */
    double length;
} slot;

struct length_guess {
    int32_t n_taxa;
    topology tree;
    int32_t *order; /* [2N] */
    uint64_t *key;  /* [nodes] */
    slot *slot;     /* [n_slots], a power of 2 */
    size_t n_slots;
    double inner; /* typical length of an inner branch */
};

static size_t slots_for(int32_t n_taxa)
{
    size_t n = 16;
    while (n < 4 * (size_t)n_taxa)
        n *= 2;
    return n;
}

size_t length_guess_memory(int32_t n_taxa)
{
    const size_t nodes = (size_t)topology_nodes(n_taxa);
    return nodes * (sizeof(uint64_t) + 5 * sizeof(int32_t)) + slots_for(n_taxa) * sizeof(slot);
}

int length_guess_create(length_guess **out, int32_t n_taxa)
{
    *out = NULL;
    length_guess *g = mem_zeros(1, sizeof *g);
    if (!g)
        return ART_ERR_NOMEM;
    const size_t nodes = (size_t)topology_nodes(n_taxa);
    g->n_taxa = n_taxa;
    g->n_slots = slots_for(n_taxa);
    g->order = mem_zeros(nodes, sizeof *g->order);
    g->key = mem_zeros(nodes, sizeof *g->key);
    g->slot = mem_zeros(g->n_slots, sizeof *g->slot);
    int status = g->order && g->key && g->slot ? topology_init(&g->tree, n_taxa) : ART_ERR_NOMEM;
    if (status) {
        length_guess_free(g);
        return status;
    }
    for (int32_t i = 0; i < n_taxa; i++)
        g->key[i] = hash_mix((uint64_t)i + 0x9e3779b97f4a7c15u);
    *out = g;
    return ART_OK;
}

void length_guess_free(length_guess *g)
{
    if (!g)
        return;
    topology_free(&g->tree);
    free(g->order);
    free(g->key);
    free(g->slot);
    free(g);
}

/* The keys of all nodes of a tree. */
static void find_keys(length_guess *g, const int32_t *decision)
{
    topology_build(&g->tree, decision);
    topology_postorder(g->order, &g->tree);
    for (int32_t i = 0; i < topology_edges(g->n_taxa); i++) {
        const int32_t v = g->order[i];
        if (v >= g->n_taxa)
            g->key[v] = g->key[g->tree.child[v][0]] + g->key[g->tree.child[v][1]];
    }
}

static slot *find(length_guess *g, uint64_t key)
{
    size_t at = (size_t)hash_mix(key) & (g->n_slots - 1);
    while (g->slot[at].key && g->slot[at].key != key)
        at = (at + 1) & (g->n_slots - 1);
    return &g->slot[at];
}

void length_guess_set(length_guess *g, const int32_t *decision, const double *length)
{
    double sum = 0;
    int32_t inner = 0;
    find_keys(g, decision);
    for (size_t i = 0; i < g->n_slots; i++)
        g->slot[i].key = 0;
    for (int32_t e = 0; e < topology_edges(g->n_taxa); e++) {
        const int32_t v = edge_node(e, g->n_taxa);
        *find(g, g->key[v]) = (slot){g->key[v], length[e]};
        if (v < g->n_taxa)
            continue;
        sum += cbrt(length[e]); /* the scale on which lengths are fitted */
        inner++;
    }
    g->inner = inner ? pow(sum / inner, 3) : length[0];
}

void length_guess_fill(double *length, length_guess *g, const int32_t *decision)
{
    find_keys(g, decision);
    for (int32_t e = 0; e < topology_edges(g->n_taxa); e++) {
        const slot *s = find(g, g->key[edge_node(e, g->n_taxa)]);
        length[e] = s->key ? s->length : g->inner;
    }
}
