#include "jobs/support_search.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "collapsed/search.h"

#include <math.h>
#include <stdlib.h>

struct support_search {
    const dataset *data;
    branch_posterior problem;
    collapsed_settings set;
    tree_table table;
    tree_search *search;
};

int support_search_create(support_search **out, const dataset *data, const free_model *model,
                          branch_prior prior, uint64_t seed, pool *threads)
{
    *out = NULL;
    if (model->n_free)
        return ART_ERR_USAGE;
    support_search *x = mem_zeros(1, sizeof *x);
    if (!x)
        return ART_ERR_NOMEM;
    const int n_taxa = data->alignment.n_taxa;
    x->data = data;
    x->set = collapsed_defaults(seed);
    x->set.table.capacity = tree_table_capacity(n_taxa, (double)DEFAULT_TABLE_MEMORY);
    int status = branch_posterior_init_free(&x->problem, &data->alignment, data->row, model, prior);
    if (!status)
        status = tree_table_init(&x->table, n_taxa, x->set.table.capacity);
    if (!status)
        status = tree_search_create(&x->search, &x->problem, &data->alignment, data->row, &x->table,
                                    &x->set, threads);
    if (status)
        support_search_free(x);
    else
        *out = x;
    return status;
}

void support_search_free(support_search *x)
{
    if (!x)
        return;
    tree_search_free(x->search);
    tree_table_free(&x->table);
    branch_posterior_free(&x->problem);
    free(x);
}

/* It ends by itself, or where the posterior proves too diffuse for a list of trees. */
int support_search_advance(support_search *x, bool *is_done)
{
    int done = 0;
    int status = tree_search_advance(x->search, &done);
    *is_done = done || (x->table.count > 0 &&
                        tree_search_counts(x->search)->expanded >= x->set.route.expansions);
    return status;
}

const taxa *support_search_taxa(const support_search *x)
{
    return &x->data->taxa;
}

size_t support_search_count(const support_search *x)
{
    return x->table.count;
}

int64_t support_search_climbs(const support_search *x)
{
    return tree_search_counts(x->search)->starts;
}

typedef struct ranked {
    double g;
    size_t tree;
} ranked;

/* The best first; equal ones in the order of the table. */
static int compare(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->g != y->g)
        return x->g > y->g ? -1 : 1;
    return (x->tree > y->tree) - (x->tree < y->tree);
}

int support_search_trees(tree_set *out, const support_search *x)
{
    const tree_table *t = &x->table;
    const double all = tree_table_log_sum(t, 0, 0);
    double share = 0;
    int status = tree_set_init(out, &x->data->taxa);
    ranked *list = mem_zeros(t->count, sizeof *list);
    if (!status && !list)
        status = ART_ERR_NOMEM;
    for (size_t i = 0; i < t->count && !status; i++)
        list[i] = (ranked){t->log_evidence[i], i};
    if (!status)
        qsort(list, t->count, sizeof *list, compare);
    for (size_t i = 0; i < t->count && i < SUPPORT_TREES && share < SUPPORT_SHARE && !status; i++) {
        const double weight = exp(list[i].g - all);
        share += weight;
        status = tree_set_add(out, tree_table_decision(t, list[i].tree), weight);
    }
    if (!status)
        status = tree_set_normalise(out);
    out->share = fmin(share, 1);
    free(list);
    return status;
}

int support_search_fields(support_search *x, saved_state *s)
{
    tree_table_fields(&x->table, s);
    tree_search_fields(x->search, s);
    return s->status;
}
