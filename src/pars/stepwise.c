#include "pars/stepwise.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "lik/site_patterns.h"
#include "tree/rearrange.h"

#include <stdlib.h>
#include <string.h>

/* A set is 4 planes of `words` words: bit k of plane i says whether site k may have base i. */
struct stepwise {
    int32_t n_taxa;
    size_t words;
    uint64_t *tip;    /* [N] sets, by taxon */
    uint64_t *down;   /* [nodes] sets of what is below a node; leaves by place in the order */
    uint64_t *up;     /* [nodes] sets of what is not below it */
    topology tree;    /* leaf i is the i-th taxon in the order of addition */
    topology named;   /* the same with the taxa's own numbers */
    int32_t *order;   /* [N] taxa in the order of addition */
    int32_t *node;    /* [nodes] children before parents */
    int32_t *scratch; /* [6N] */
};

static size_t set_words(const stepwise *s)
{
    return 4 * s->words;
}

static uint64_t *set_at(const stepwise *s, uint64_t *sets, int32_t i)
{
    return sets + (size_t)i * set_words(s);
}

/* Whether no single base explains the pattern. The others cost nothing on any tree. */
static int is_variable(const site_patterns *p, size_t k)
{
    int common = STATE_ANY;
    for (int i = 0; i < p->n_taxa; i++)
        common &= p->state[(size_t)i * p->count + k];
    return common == 0;
}

/* Bits beyond the last site are set in every plane: they never cost a change. */
static void fill_tips(stepwise *s, const site_patterns *p)
{
    memset(s->tip, 0xff, (size_t)s->n_taxa * set_words(s) * sizeof *s->tip);
    size_t site = 0;
    for (size_t k = 0; k < p->count; k++) {
        if (!is_variable(p, k))
            continue;
        for (uint32_t copy = 0; copy < p->weight[k]; copy++, site++)
            for (int32_t i = 0; i < s->n_taxa; i++)
                for (int base = 0; base < 4; base++)
                    if (!(p->state[(size_t)i * p->count + k] >> base & 1))
                        set_at(s, s->tip, i)[(size_t)base * s->words + site / 64] &=
                            ~((uint64_t)1 << site % 64);
    }
}

int stepwise_create(stepwise **out, const alignment *a, const int *taxon)
{
    *out = NULL;
    stepwise *s = mem_zeros(1, sizeof *s);
    if (!s)
        return ART_ERR_NOMEM;
    site_patterns patterns = {0};
    size_t sites = 0;
    int status;
    if ((status = topology_init(&s->tree, a->n_taxa)) ||
        (status = topology_init(&s->named, a->n_taxa)) ||
        (status = site_patterns_build(&patterns, a, taxon, false)))
        goto out;
    for (size_t k = 0; k < patterns.count; k++)
        sites += is_variable(&patterns, k) ? patterns.weight[k] : 0;
    const size_t taxa = (size_t)a->n_taxa, nodes = (size_t)topology_nodes(a->n_taxa);
    s->n_taxa = a->n_taxa;
    s->words = (sites + 63) / 64;
    s->tip = mem_aligned(taxa * set_words(s), sizeof *s->tip);
    s->down = mem_aligned(nodes * set_words(s), sizeof *s->down);
    s->up = mem_aligned(nodes * set_words(s), sizeof *s->up);
    s->order = mem_zeros(taxa, sizeof *s->order);
    s->node = mem_zeros(nodes, sizeof *s->node);
    s->scratch = mem_zeros(6 * taxa, sizeof *s->scratch);
    status = ART_ERR_NOMEM;
    if (!s->tip || !s->down || !s->up || !s->order || !s->node || !s->scratch)
        goto out;
    fill_tips(s, &patterns);
    status = ART_OK;
    *out = s;
out:
    site_patterns_free(&patterns);
    if (status)
        stepwise_free(s);
    return status;
}

void stepwise_free(stepwise *s)
{
    if (!s)
        return;
    topology_free(&s->tree);
    topology_free(&s->named);
    free(s->tip);
    free(s->down);
    free(s->up);
    free(s->order);
    free(s->node);
    free(s->scratch);
    free(s);
}

/* Fitch's rule: what both allow, or what either allows where they have nothing in common. */
static void merge(uint64_t *restrict out, const uint64_t *x, const uint64_t *y, size_t words)
{
    for (size_t k = 0; k < words; k++) {
        uint64_t both[4], any = 0;
        for (size_t i = 0; i < 4; i++) {
            both[i] = x[i * words + k] & y[i * words + k];
            any |= both[i];
        }
        for (size_t i = 0; i < 4; i++)
            out[i * words + k] = both[i] | (~any & (x[i * words + k] | y[i * words + k]));
    }
}

/* Sites at which z has nothing in common with the merged sets of x and y. */
static int64_t cost_between(const uint64_t *x, const uint64_t *y, const uint64_t *z, size_t words)
{
    int64_t cost = 0;
    for (size_t k = 0; k < words; k++) {
        uint64_t any = 0, common = 0, either = 0;
        for (size_t i = 0; i < 4; i++) {
            const uint64_t a = x[i * words + k], b = y[i * words + k], c = z[i * words + k];
            any |= a & b;
            common |= a & b & c;
            either |= (a | b) & c;
        }
        cost += __builtin_popcountll(~(common | (~any & either)));
    }
    return cost;
}

/* Sites at which x and y have nothing in common. */
static int64_t cost_of(const uint64_t *x, const uint64_t *y, size_t words)
{
    return cost_between(x, x, y, words);
}

/* Taxon 0 of the tree stands for all that is above the top. */
static const uint64_t *outside_of(const stepwise *s, int32_t v)
{
    return s->tree.parent[v] == 0 ? set_at(s, s->down, 0) : set_at(s, s->up, v);
}

/* The sets of the tree as it is, upwards from the last taxon and then down everywhere. */
static void refresh(stepwise *s, int32_t last)
{
    const topology *t = &s->tree;
    for (int32_t v = t->parent[last]; v != 0; v = t->parent[v])
        merge(set_at(s, s->down, v), set_at(s, s->down, t->child[v][0]),
              set_at(s, s->down, t->child[v][1]), s->words);
    topology_postorder(s->node, t);
    for (int32_t i = topology_edges(t->n_leaves) - 2; i >= 0; i--) {
        const int32_t v = s->node[i];
        merge(set_at(s, s->up, v), outside_of(s, t->parent[v]),
              set_at(s, s->down, topology_sibling(t, v)), s->words);
    }
}

/* The cheapest branch for the next taxon, whose set is z: each of the best is equally likely to
 * be taken. */
static int32_t best_place(stepwise *s, const uint64_t *z, rng *r, int64_t *cost)
{
    int32_t best = -1;
    uint32_t equal = 0;
    for (int32_t e = 0; e < topology_edges(s->tree.n_leaves); e++) {
        const int32_t v = edge_node(e, s->n_taxa);
        const int64_t here = cost_between(set_at(s, s->down, v), outside_of(s, v), z, s->words);
        if (best < 0 || here < *cost) {
            *cost = here;
            equal = 0;
        }
        if (here == *cost && rng_below(r, ++equal) == 0)
            best = e;
    }
    return best;
}

int64_t stepwise_tree(stepwise *s, int32_t *decision, rng stream, const interrupt *stop)
{
    const size_t bytes = set_words(s) * sizeof *s->tip;
    for (int32_t i = 0; i < s->n_taxa; i++) {
        const int32_t j = (int32_t)rng_below(&stream, (uint32_t)i + 1);
        s->order[i] = s->order[j];
        s->order[j] = i;
    }
    for (int32_t i = 0; i < s->n_taxa; i++)
        memcpy(set_at(s, s->down, i), set_at(s, s->tip, s->order[i]), bytes);
    topology_reset(&s->tree);
    refresh(s, 1);
    int64_t score =
        cost_of(set_at(s, s->down, 1), set_at(s, s->down, 2), s->words) +
        cost_of(set_at(s, s->down, s->tree.child[0][0]), set_at(s, s->down, 0), s->words);
    for (int32_t next = 3; next < s->n_taxa; next++) {
        int64_t cost = 0;
        if (interrupt_is_due(stop))
            return ART_ERR_STOPPED;
        topology_attach(&s->tree, best_place(s, set_at(s, s->down, next), &stream, &cost));
        refresh(s, next);
        score += cost;
    }
    topology_relabel(&s->named, &s->tree, s->order);
    topology_decisions(decision, NULL, &s->named, s->scratch);
    return score;
}
