/* log q by the definition: the tree is rooted on each of its edges in turn, and the probabilities
 * of its root split and of the splits of its clades are multiplied. Clades are sets of taxa, found
 * by their keys. For reading, and for tests of sbn_tree.c. */
#include "density/sbn/sbn.h"

#include "artreeformer.h"

#include <math.h>

typedef struct rooted {
    const sbn *b;
    const topology *t;
    double log_floor;
} rooted;

/* The two nodes beyond v, entered from `from`. */
static void beyond(int32_t out[2], const topology *t, int32_t v, int32_t from)
{
    int32_t neighbour[3] = {t->parent[v], t->child[v][0], t->child[v][1]};
    for (int i = 0, k = 0; i < 3; i++)
        if (neighbour[i] != from)
            out[k++] = neighbour[i];
}

static clade_key taxa_beyond(const rooted *w, int32_t v, int32_t from)
{
    int32_t next[2];
    if (v < w->t->n_taxa)
        return clade_key_of_taxon(v);
    beyond(next, w->t, v, from);
    return key_xor(taxa_beyond(w, next[0], v), taxa_beyond(w, next[1], v));
}

static int32_t clade_beyond(const rooted *w, int32_t v, int32_t from)
{
    clade_key key = taxa_beyond(w, v, from);
    return (int32_t)key_table_find(&w->b->clade_keys, &key);
}

/* The factor of an entry, or of one that is not there. */
static double factor(const rooted *w, size_t first, int64_t entry)
{
    return entry < 0 ? w->log_floor : fmax(w->b->log_p[first + (size_t)entry], w->log_floor);
}

/* log of the product over the clades at and below v; the sister of v's clade is given. */
static double below(const rooted *w, int32_t v, int32_t from, int32_t sister)
{
    int32_t next[2];
    if (v < w->t->n_taxa)
        return 0;
    beyond(next, w->t, v, from);
    int32_t x = clade_beyond(w, next[0], v), y = clade_beyond(w, next[1], v);
    int32_t parent[2] = {sister, clade_beyond(w, v, from)};
    int64_t p = key_table_find(&w->b->parent_keys, parent);
    int32_t key[3] = {(int32_t)p, x < y ? x : y, x < y ? y : x};
    int64_t pair = p < 0 ? KEY_NONE : key_table_find(&w->b->pair_keys, key);
    return factor(w, sbn_roots(w->b), pair) + below(w, next[0], v, y) + below(w, next[1], v, x);
}

int sbn_reference(double *log_q, const sbn *b, const int32_t *decision, double log_floor)
{
    topology t;
    int status = topology_init(&t, b->n_taxa);
    if (status)
        return status;
    topology_build(&t, decision);
    const rooted w = {b, &t, log_floor};
    double q = 0;
    for (int32_t e = 0; e < topology_edges(b->n_taxa); e++) {
        int32_t v = edge_node(e, b->n_taxa), u = t.parent[v];
        int32_t x = clade_beyond(&w, v, u), y = clade_beyond(&w, u, v);
        int32_t key[2] = {x < y ? x : y, x < y ? y : x};
        int64_t root = key_table_find(&b->root_keys, key);
        q += exp(factor(&w, 0, root) + below(&w, v, u, y) + below(&w, u, v, x));
    }
    *log_q = log(q);
    topology_free(&t);
    return ART_OK;
}
