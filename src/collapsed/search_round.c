#include "collapsed/search_state.h"

#include "artreeformer.h"

#include <math.h>
#include <string.h>

double search_admission(const tree_search *x)
{
    double best = -HUGE_VAL;
    for (size_t i = 0; i < x->table->count; i++)
        best = fmax(best, x->table->laplace[i]);
    return best - x->set.window;
}

int search_choose(tree_search *x, int most, double least, uint8_t with, uint8_t without)
{
    const tree_table *t = x->table;
    int count = 0;
    for (size_t i = 0; i < t->count; i++) {
        if (t->laplace[i] < least || (t->mark[i] & with) != with || t->mark[i] & without)
            continue;
        if (count == most && (most == 0 || t->laplace[i] <= t->laplace[x->chosen[count - 1]]))
            continue;
        int at = count < most ? count++ : count - 1;
        for (; at > 0 && t->laplace[x->chosen[at - 1]] < t->laplace[i]; at--)
            x->chosen[at] = x->chosen[at - 1];
        x->chosen[at] = i;
    }
    return count;
}

static bool has_key(const void *items, uint32_t item, const void *key)
{
    const waiting *all = items;
    return all[item].n.key == *(const uint64_t *)key;
}

/* A neighbour of tree i of the round waits to be fitted, unless it does so already. */
static void add_waiting(tree_search *x, int i, const neighbour *n)
{
    if (hash_index_find(&x->seen, n->key, has_key, x->waiting, &n->key) != HASH_NONE)
        return;
    hash_index_insert(&x->seen, (uint32_t)x->n_waiting, n->key);
    x->waiting[x->n_waiting++] = (waiting){i, *n};
}

int search_enter(tree_search *x, const fitted_tree *t, uint8_t mark, int64_t *found)
{
    if (t->status) {
        x->counts.failed++;
        return ART_OK;
    }
    int64_t at = tree_table_find(x->table, t->decision);
    if (at < 0) {
        mark |= t->unfitted ? TREE_UNFITTED : 0;
        const tree_entry e = {t->decision, t->length, t->laplace, mark};
        int status = tree_table_add(x->table, &at, &e);
        if (status)
            return status;
        *found += at >= 0;
    } else {
        x->table->mark[at] |= mark;
    }
    return ART_OK;
}

static void fit_task(void *context, int task, int index)
{
    tree_search *x = context;
    const waiting *w = &x->fitting[task];
    search_neighbour(&x->worker[index], &x->result[task], &x->parent[w->parent], &w->n, x->is_spr);
    search_fit(&x->worker[index], &x->result[task]);
}

/* Fits all that wait; those that keep their promise enter the table. */
static int fit_waiting(tree_search *x, double least, int64_t *found)
{
    for (int first = 0; first < x->n_waiting; first += SEARCH_CHUNK) {
        const int count = x->n_waiting - first < SEARCH_CHUNK ? x->n_waiting - first : SEARCH_CHUNK;
        x->fitting = x->waiting + first;
        pool_run(x->threads, count, fit_task, x);
        x->counts.fitted += count;
        for (int i = 0; i < count; i++) {
            if (x->result[i].status == ART_OK && x->result[i].laplace < least)
                continue;
            int status = search_enter(x, &x->result[i], 0, found);
            if (status)
                return status;
        }
    }
    return ART_OK;
}

static void expand_task(void *context, int task, int index)
{
    tree_search *x = context;
    search_expand(&x->worker[index], &x->list[task], &x->parent[task], x->table, x->cutoff,
                  x->is_spr);
}

void search_copy_chosen(tree_search *x, int count)
{
    const tree_table *t = x->table;
    for (int i = 0; i < count; i++) {
        const size_t at = x->chosen[i];
        fitted_tree *to = &x->parent[i];
        memcpy(to->decision, tree_table_decision(t, at), t->n_decisions * sizeof *t->decision);
        tree_table_lengths(to->length, t, at);
        to->laplace = t->laplace[at];
        to->unfitted = (t->mark[at] & TREE_UNFITTED) != 0;
        to->status = ART_OK;
    }
}

/* Takes over what tasks found about them. A tree whose fit failed stays as it was. */
static void note_fits(tree_search *x, int count)
{
    tree_table *t = x->table;
    for (int i = 0; i < count; i++) {
        const size_t at = x->chosen[i];
        if (!(t->mark[at] & TREE_UNFITTED))
            continue;
        t->mark[at] &= (uint8_t)~TREE_UNFITTED;
        x->counts.fitted++;
        if (x->parent[i].status == ART_OK)
            tree_table_update(t, at, x->parent[i].length, x->parent[i].laplace);
        else
            x->counts.failed++;
    }
}

/* The neighbours that the trees of a round brought, each once. */
static void gather(tree_search *x, int count)
{
    hash_index_clear(&x->seen);
    x->n_waiting = 0;
    for (int i = 0; i < count; i++) {
        x->counts.scored += x->list[i].scored;
        for (int k = 0; k < x->list[i].count; k++)
            add_waiting(x, i, &x->list[i].item[k]);
    }
}

/* Adds all that wait by their scores. */
static int enter_waiting(tree_search *x, int64_t *found)
{
    int status = ART_OK;
    for (int i = 0; i < x->n_waiting && !status; i++) {
        const waiting *w = &x->waiting[i];
        search_neighbour(&x->worker[0], &x->result[0], &x->parent[w->parent], &w->n, x->is_spr);
        status = search_enter(x, &x->result[0], 0, found);
    }
    return status;
}

/* Looks at the neighbours of the first `count` of x->chosen. */
static int expand_chosen(tree_search *x, int count, double least, int is_spr, int64_t *found)
{
    x->is_spr = is_spr;
    x->cutoff = is_spr ? least - x->set.spr_margin : least;
    search_copy_chosen(x, count);
    pool_run(x->threads, count, expand_task, x);
    note_fits(x, count);
    for (int i = 0; i < count; i++)
        x->table->mark[x->chosen[i]] |= is_spr ? TREE_WIDENED : TREE_EXPANDED;
    x->counts.rounds++;
    *(is_spr ? &x->counts.widened : &x->counts.expanded) += count;
    gather(x, count);
    return is_spr ? fit_waiting(x, least, found) : enter_waiting(x, found);
}

/* Trees that a round takes: more when there are many, so that rounds cost more than the
 * choice. */
static int round_size(const tree_search *x)
{
    const size_t part = x->table->count / (size_t)x->set.batch_part, most = (size_t)x->set.batch;
    const size_t least = (size_t)x->set.least_batch, size = part < least ? least : part;
    return (int)(size < most ? size : most);
}

int tree_search_expand(tree_search *x, int64_t *found)
{
    const double least = search_admission(x);
    *found = 0;
    return expand_chosen(x, search_choose(x, round_size(x), least, 0, TREE_EXPANDED), least, 0,
                         found);
}

static void refine_task(void *context, int task, int index)
{
    tree_search *x = context;
    search_fit(&x->worker[index], &x->parent[task]);
}

int tree_search_refine(tree_search *x)
{
    const int count = search_choose(x, x->set.batch, -HUGE_VAL, TREE_UNFITTED, 0);
    search_copy_chosen(x, count);
    pool_run(x->threads, count, refine_task, x);
    note_fits(x, count);
    x->counts.rounds++;
    return ART_OK;
}

int search_choose_narrow(tree_search *x, double least)
{
    const int best = search_choose(x, x->set.widen, least, 0, 0);
    int count = 0;
    for (int i = 0; i < best; i++)
        if (!(x->table->mark[x->chosen[i]] & TREE_WIDENED))
            x->chosen[count++] = x->chosen[i];
    return count;
}

int tree_search_widen(tree_search *x, int64_t *found)
{
    const double least = search_admission(x);
    const int count = search_choose_narrow(x, least);
    const int most = x->set.batch < x->set.widen_batch ? x->set.batch : x->set.widen_batch;
    *found = 0;
    return expand_chosen(x, count < most ? count : most, least, 1, found);
}

double tree_search_unexpanded(const tree_search *x)
{
    const tree_table *t = x->table;
    const double least = search_admission(x), all = tree_table_log_sum(t, 0, 0);
    double open = 0;
    for (size_t i = 0; i < t->count; i++)
        if (!(t->mark[i] & TREE_EXPANDED) && t->laplace[i] >= least)
            open += exp(t->log_evidence[i] - all);
    return open;
}

double tree_search_unfitted(const tree_search *x)
{
    return exp(tree_table_log_sum(x->table, TREE_UNFITTED, 0) - tree_table_log_sum(x->table, 0, 0));
}
