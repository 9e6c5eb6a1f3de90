#include "collapsed/chain_starts.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "tree/splits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct peak {
    size_t tree;
    double laplace;
    int32_t distance; /* from the nearest peak that is taken */
    bool is_taken;
} peak;

typedef struct choice {
    const tree_table *table;
    peak *peak; /* [count], in the order of the table */
    size_t count;
    topology tree;
    rf distance;
} choice;

static void choice_free(choice *c)
{
    free(c->peak);
    topology_free(&c->tree);
    rf_free(&c->distance);
}

static int choice_init(choice *c, const tree_table *t, double window)
{
    double best = -HUGE_VAL;
    *c = (choice){.table = t, .peak = mem_zeros(t->count, sizeof *c->peak)};
    if (!c->peak)
        return ART_ERR_NOMEM;
    for (size_t i = 0; i < t->count; i++)
        if (t->mark[i] & TREE_PEAK)
            best = fmax(best, t->laplace[i]);
    for (size_t i = 0; i < t->count; i++)
        if (t->mark[i] & TREE_PEAK && t->laplace[i] >= best - window)
            c->peak[c->count++] =
                (peak){.tree = i, .laplace = t->laplace[i], .distance = INT32_MAX};
    int status = c->count ? topology_init(&c->tree, t->n_taxa) : ART_ERR_USAGE;
    return status ? status : rf_init(&c->distance, t->n_taxa);
}

/* The best that is not taken and farther than `apart` from all that are; NULL if there is none. */
static peak *best_apart(choice *c, int32_t apart)
{
    peak *found = NULL;
    for (size_t i = 0; i < c->count; i++) {
        peak *p = &c->peak[i];
        if (!p->is_taken && p->distance > apart && (!found || p->laplace > found->laplace))
            found = p;
    }
    return found;
}

static peak *choose(choice *c)
{
    peak *found = NULL, *best = &c->peak[0];
    /* a quarter of what two trees can be apart, then less */
    for (int32_t apart = (c->table->n_taxa - 3) / 2; !found && apart > 0; apart /= 2)
        found = best_apart(c, apart);
    if (!found)
        found = best_apart(c, 0);
    for (size_t i = 0; i < c->count && !found; i++)
        best = c->peak[i].laplace > best->laplace ? &c->peak[i] : best;
    return found ? found : best;
}

/* The distances of the others follow. */
static void take(choice *c, peak *p)
{
    p->is_taken = true;
    topology_build(&c->tree, tree_table_decision(c->table, p->tree));
    rf_set(&c->distance, &c->tree);
    for (size_t i = 0; i < c->count; i++) {
        topology_build(&c->tree, tree_table_decision(c->table, c->peak[i].tree));
        const int32_t now = rf_distance(&c->distance, &c->tree);
        if (now < c->peak[i].distance)
            c->peak[i].distance = now;
    }
}

int chain_starts(const tree_table *t, double window, int n_chains, chain_start *start,
                 void *context)
{
    choice c;
    double *length = NULL;
    int32_t *decision = NULL;
    int status = choice_init(&c, t, window);
    const size_t n = status ? 0 : (size_t)n_chains;
    if (!status) {
        length = mem_zeros(n * t->n_edges, sizeof *length);
        decision = mem_zeros(n * t->n_decisions, sizeof *decision);
        status = length && decision ? ART_OK : ART_ERR_NOMEM;
    }
    for (size_t i = 0; !status && i < n; i++) {
        peak *p = choose(&c);
        take(&c, p);
        tree_table_lengths(length + i * t->n_edges, t, p->tree);
        memcpy(decision + i * t->n_decisions, tree_table_decision(t, p->tree),
               t->n_decisions * sizeof *decision);
    }
    if (!status)
        status = start(context, decision, length);
    choice_free(&c);
    free(length);
    free(decision);
    return status;
}
