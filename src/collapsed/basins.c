#include "collapsed/basins.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "tree/rearrange.h"
#include "tree/saved_trees.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void peak_list_init(peak_list *p, int32_t n_taxa)
{
    memset(p, 0, sizeof *p);
    key_table_init(&p->trees, ((size_t)n_taxa - 3) * sizeof(int32_t));
}

void peak_list_free(peak_list *p)
{
    key_table_free(&p->trees);
    free(p->hits);
    free(p->laplace);
    memset(p, 0, sizeof *p);
}

int peak_list_add(peak_list *p, const int32_t *decision, double laplace, int32_t climbs)
{
    size_t at;
    const size_t before = p->trees.count;
    int32_t *hits = mem_grow(p->hits, &p->room, before, sizeof *hits);
    if (hits)
        p->hits = hits;
    double *grown = mem_grow(p->laplace, &p->laplace_room, before, sizeof *grown);
    if (grown)
        p->laplace = grown;
    if (!hits || !grown)
        return ART_ERR_NOMEM;
    int status = key_table_add(&p->trees, decision, &at);
    if (!status) {
        p->hits[at] = at == before ? climbs : p->hits[at] + climbs;
        p->laplace[at] = at == before ? laplace : fmax(p->laplace[at], laplace);
    }
    return status;
}

int64_t peak_list_climbs(const peak_list *p)
{
    int64_t sum = 0;
    for (size_t i = 0; i < p->trees.count; i++)
        sum += p->hits[i];
    return sum;
}

int64_t peak_list_ends(const peak_list *p)
{
    int64_t count = 0;
    for (size_t i = 0; i < p->trees.count; i++)
        count += p->hits[i] > 0;
    return count;
}

static double best_peak(const peak_list *p)
{
    double best = -HUGE_VAL;
    for (size_t i = 0; i < p->trees.count; i++)
        best = fmax(best, p->laplace[i]);
    return best;
}

double peak_list_found(const peak_list *p, double scale)
{
    const double best = best_peak(p);
    double sum = 0;
    for (size_t i = 0; i < p->trees.count; i++)
        sum += p->hits[i] * exp((p->laplace[i] - best) / scale);
    return sum;
}

size_t peak_list_best(size_t *number, const peak_list *p, double window)
{
    const double least = best_peak(p) - window;
    size_t count = 0;
    for (size_t i = 0; i < p->trees.count; i++)
        if (p->laplace[i] >= least)
            number[count++] = i;
    return count;
}

int peak_list_fields(peak_list *p, saved_state *s, int32_t n_taxa)
{
    state_tree_keys(s, "peaks.trees", &p->trees, n_taxa);
    if (state_loaded(s) && p->trees.count > p->room) {
        int32_t *hits = mem_resize(p->hits, p->trees.count, sizeof *hits);
        if (hits)
            p->hits = hits;
        double *grown = mem_resize(p->laplace, p->trees.count, sizeof *grown);
        if (grown)
            p->laplace = grown;
        if (hits && grown)
            p->room = p->laplace_room = p->trees.count;
        else
            state_fail(s, ART_ERR_NOMEM);
    }
    if (!s->status) {
        state_i32_array(s, "peaks.hits", p->hits, p->trees.count, 1);
        state_f64_array(s, "peaks.laplace", p->laplace, p->trees.count, 1);
    }
    return s->status;
}

typedef struct ranked {
    double log_weight;
    size_t tree;
} ranked;

static int by_weight(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->log_weight != y->log_weight)
        return x->log_weight > y->log_weight ? -1 : 1;
    return x->tree < y->tree ? -1 : x->tree > y->tree;
}

/* Which of the heavy trees is in which basin. */
typedef struct grouping {
    const tree_table *table;
    ranked *heavy; /* [count] */
    size_t count;
    int32_t *place; /* [trees of the table] number among the heavy ones, -1 for the others */
    int32_t *above; /* [count] another one of the same basin, itself at the top of it */
    topology tree;
    int32_t *scratch;  /* [6N] */
    int32_t *decision; /* [N-3] */
} grouping;

static void grouping_free(grouping *g)
{
    free(g->heavy);
    free(g->place);
    free(g->above);
    free(g->scratch);
    free(g->decision);
    topology_free(&g->tree);
}

static int grouping_init(grouping *g, const tree_table *t, size_t most)
{
    memset(g, 0, sizeof *g);
    g->table = t;
    g->heavy = mem_zeros(t->count, sizeof *g->heavy);
    g->place = mem_zeros(t->count, sizeof *g->place);
    g->above = mem_zeros(t->count, sizeof *g->above);
    g->scratch = mem_zeros(6 * (size_t)t->n_taxa, sizeof *g->scratch);
    g->decision = mem_zeros(t->n_decisions, sizeof *g->decision);
    if (!g->heavy || !g->place || !g->above || !g->scratch || !g->decision)
        return ART_ERR_NOMEM;
    for (size_t i = 0; i < t->count; i++)
        g->heavy[i] = (ranked){t->log_evidence[i], i};
    qsort(g->heavy, t->count, sizeof *g->heavy, by_weight);
    g->count = t->count < most ? t->count : most;
    for (size_t i = 0; i < t->count; i++)
        g->place[g->heavy[i].tree] = i < g->count ? (int32_t)i : -1;
    for (size_t i = 0; i < g->count; i++)
        g->above[i] = (int32_t)i;
    return topology_init(&g->tree, t->n_taxa);
}

static int32_t basin_of(grouping *g, int32_t i)
{
    while (g->above[i] != i)
        i = g->above[i] = g->above[g->above[i]];
    return i;
}

/* Joins heavy tree i with its neighbours. */
static void join_neighbours(grouping *g, int32_t i)
{
    const tree_table *t = g->table;
    topology_build(&g->tree, tree_table_decision(t, g->heavy[i].tree));
    for (int32_t v = t->n_taxa; v < topology_nodes(t->n_taxa); v++)
        for (int which = 0; topology_has_nni(&g->tree, v) && which < 2; which++) {
            topology_nni(&g->tree, v, which);
            topology_decisions(g->decision, NULL, &g->tree, g->scratch);
            topology_nni(&g->tree, v, which);
            const int64_t at = tree_table_find(t, g->decision);
            if (at < 0 || g->place[at] < 0)
                continue;
            const int32_t a = basin_of(g, i), b = basin_of(g, g->place[at]);
            g->above[a > b ? a : b] = a > b ? b : a;
        }
}

int basins_missing(double *share, const tree_table *t, const peak_list *peaks, size_t most)
{
    grouping g;
    int status = grouping_init(&g, t, most);
    int64_t *hits = status ? NULL : mem_zeros(g.count + 1, sizeof *hits);
    const double all = tree_table_log_sum(t, 0, 0);
    *share = 0;
    if (!status && !hits)
        status = ART_ERR_NOMEM;
    for (size_t i = 0; i < g.count && !status; i++)
        join_neighbours(&g, (int32_t)i);
    for (size_t i = 0; i < peaks->trees.count && !status; i++) {
        const int64_t at = tree_table_find(t, key_table_at(&peaks->trees, i));
        if (at >= 0 && g.place[at] >= 0)
            hits[basin_of(&g, g.place[at])] += peaks->hits[i];
    }
    for (size_t i = 0; i < g.count && !status; i++)
        *share += exp(g.heavy[i].log_weight - all - M_LN2 * (double)hits[basin_of(&g, (int32_t)i)]);
    free(hits);
    grouping_free(&g);
    return status;
}
