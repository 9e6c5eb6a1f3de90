#include "collapsed/search_state.h"

#include "artreeformer.h"

#include <math.h>
#include <string.h>

static void drawn_task(void *context, int task, int index)
{
    tree_search *x = context;
    search_fit(&x->worker[index], &x->result[task]);
}

/* Lengths for a tree of which nothing is known: branches of leaves as in the best tree, the
 * others as they are there on the average. */
static void guess_lengths(const tree_search *x, double *length, int64_t best)
{
    const tree_table *t = x->table;
    const int32_t n_taxa = x->problem->n_taxa;
    double sum = 0;
    for (int e = 0; e < x->problem->n_edges; e++) {
        length[e] = best < 0 ? x->set.start_length
                             : (double)t->length[(size_t)best * t->n_edges + (size_t)e];
        sum += edge_node(e, n_taxa) < n_taxa ? 0 : length[e];
    }
    for (int e = 0; e < x->problem->n_edges; e++)
        if (edge_node(e, n_taxa) >= n_taxa)
            length[e] = sum / (n_taxa - 2);
}

void tree_search_guess(const tree_search *x, double *length)
{
    guess_lengths(x, length, tree_table_best(x->table));
}

/* The first of the given results that is of this tree; count if there is none. */
static int result_of(const tree_search *x, const int32_t *tree, int count)
{
    int i = 0;
    while (i < count && memcmp(x->result[i].decision, tree, x->table->n_decisions * sizeof *tree))
        i++;
    return i;
}

/* Fits the trees that the table does not have, at most SEARCH_CHUNK, and adds them. */
static int add_chunk(tree_search *x, double *g, const int32_t *decision, int count, int64_t *found)
{
    const size_t n_decisions = x->table->n_decisions;
    const int64_t best = tree_table_best(x->table);
    int result[SEARCH_CHUNK], now = 0, status = ART_OK;
    for (int i = 0; i < count; i++) {
        const int32_t *tree = decision + (size_t)i * n_decisions;
        const int64_t at = tree_table_find(x->table, tree);
        result[i] = at < 0 ? result_of(x, tree, now) : -1;
        if (at >= 0)
            g[i] = x->table->log_evidence[at];
        if (result[i] < now)
            continue;
        memcpy(x->result[now].decision, tree, n_decisions * sizeof *tree);
        guess_lengths(x, x->result[now++].length, best);
    }
    pool_run(x->threads, now, drawn_task, x);
    x->counts.fitted += now;
    x->counts.rounds++;
    for (int i = 0; i < count; i++)
        if (result[i] >= 0) {
            const fitted_tree *t = &x->result[result[i]];
            g[i] = t->status ? -HUGE_VAL : t->laplace + x->table->offset;
        }
    for (int i = 0; i < now && !status; i++)
        status = search_enter(x, &x->result[i], TREE_DRAWN, found);
    return status;
}

int tree_search_add(tree_search *x, double *g, const int32_t *decision, size_t count,
                    int64_t *found)
{
    int status = ART_OK;
    *found = 0;
    for (size_t first = 0; first < count && !status; first += SEARCH_CHUNK)
        status =
            add_chunk(x, g + first, decision + first * x->table->n_decisions,
                      count - first < SEARCH_CHUNK ? (int)(count - first) : SEARCH_CHUNK, found);
    return status;
}
