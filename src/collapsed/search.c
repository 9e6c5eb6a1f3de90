#include "collapsed/search.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "base/rng.h"
#include "collapsed/affordable.h"
#include "collapsed/basins.h"
#include "collapsed/search_worker.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK = 256,      /* trees that are fitted, or climbs that are made, at a time */
    SHAKEN_ROOM = 64, /* peaks that shaking one of them may bring */
    SHAKES = 4,       /* peaks that are shaken in a piece of work */
};

/* A tree that waits to be fitted. */
typedef struct waiting {
    int parent; /* in the round */
    neighbour n;
} waiting;

struct tree_search {
    const branch_posterior *problem;
    tree_table *table;
    search_settings set;
    uint64_t seed;
    pool *threads;
    search_worker *worker; /* [threads] */
    fitted_tree *parent;   /* [batch] */
    neighbour_list *list;  /* [batch] */
    shaken_list shaken[SHAKES];
    neighbour *neighbours; /* [batch][room] */
    waiting *waiting;      /* [batch * room] */
    int n_waiting;
    fitted_tree *result; /* [CHUNK] */
    int64_t (*work)[2];  /* [CHUNK] scored, fitted */
    hash_index seen;     /* those that wait, by their keys */
    size_t *chosen;      /* [max of batch, widen] */
    /* The round. */
    double cutoff;
    int is_spr;
    const waiting *fitting; /* those of the chunk */
    /* The state other than the table on which the next round depends. */
    search_counts counts;
    int64_t wanted;      /* climbs in all, so far */
    int64_t most_first;  /* before the first expansion */
    int64_t most_shaken; /* peaks */
    int shake_pieces;    /* for each */
    int64_t judged;      /* climbs whose harvest has been weighed */
    int64_t idle_starts; /* of these, the last ones that brought nothing */
    double before;       /* log weight of the table when the last ones were weighed, if any */
    peak_list peaks;
    const interrupt *stop; /* of climbs */
    double missing;        /* share in basins that no climb has found, when it was last looked at */
};

static size_t list_room(const branch_posterior *p, const search_settings *set)
{
    const size_t interchanges = 2 * ((size_t)p->n_taxa - 3), least = (size_t)set->least_neighbours;
    return interchanges > least ? interchanges : least;
}

size_t tree_search_memory(const branch_posterior *p, const search_settings *set, int n_threads)
{
    const size_t batch = (size_t)set->batch, nodes = (size_t)topology_nodes(p->n_taxa);
    const size_t tree = 20 * nodes; /* a fitted tree */
    const size_t candidates = batch * list_room(p, set);
    return (size_t)n_threads *
               (branch_solver_memory(p) + branch_moves_memory(p, set->radius) + 100 * nodes) +
           (batch + CHUNK) * tree +
           candidates * (sizeof(neighbour) + sizeof(waiting) + 3 * sizeof(hash_slot));
}

static int create_memory(tree_search *x)
{
    const size_t batch = (size_t)x->set.batch, room = list_room(x->problem, &x->set);
    const size_t widen = (size_t)x->set.widen;
    x->parent = mem_zeros(batch, sizeof *x->parent);
    x->list = mem_zeros(batch, sizeof *x->list);
    x->neighbours = mem_zeros(batch * room, sizeof *x->neighbours);
    x->waiting = mem_zeros(batch * room, sizeof *x->waiting);
    x->result = mem_zeros(CHUNK, sizeof *x->result);
    x->work = mem_zeros(CHUNK, sizeof *x->work);
    x->chosen = mem_zeros(batch > widen ? batch : widen, sizeof *x->chosen);
    if (!x->parent || !x->list || !x->neighbours || !x->waiting || !x->result || !x->work ||
        !x->chosen)
        return ART_ERR_NOMEM;
    int status = hash_index_reserve(&x->seen, batch * room);
    for (size_t i = 0; i < batch && !status; i++) {
        x->list[i] = (neighbour_list){.item = x->neighbours + i * room, .room = (int)room};
        status = fitted_tree_init(&x->parent[i], x->problem);
    }
    for (size_t i = 0; i < CHUNK && !status; i++)
        status = fitted_tree_init(&x->result[i], x->problem);
    return status;
}

int tree_search_create(tree_search **out, const branch_posterior *problem, const alignment *a,
                       const int *taxon, tree_table *table, const collapsed_settings *all,
                       pool *threads)
{
    const search_settings *settings = &all->search;
    *out = NULL;
    if (settings->batch < 1 || settings->radius < 1 || settings->widen < 0 ||
        settings->more_starts < 1 || settings->least_neighbours < 1)
        return ART_ERR_USAGE;
    tree_search *x = mem_zeros(1, sizeof *x);
    if (!x)
        return ART_ERR_NOMEM;
    x->problem = problem;
    x->table = table;
    x->set = *settings;
    x->seed = all->seed;
    x->wanted = settings->starts;
    const affordable_settings bound = {all->affordable.taxa,
                                       (size_t)(settings->starts + settings->start_batch)};
    x->most_first =
        (int64_t)affordable_trees(&bound, (size_t)settings->most_starts, problem->n_taxa, 1);
    const affordable_settings shakes = {all->affordable.taxa, (size_t)settings->shaken};
    const affordable_settings pieces = {all->affordable.taxa, (size_t)settings->least_pieces};
    x->shake_pieces =
        (int)affordable_trees(&pieces, (size_t)settings->shake_pieces, problem->n_taxa, 1);
    x->most_shaken =
        (int64_t)affordable_trees(&shakes, (size_t)settings->most_shaken, problem->n_taxa, 2);
    x->threads = threads;
    x->missing = NAN;
    peak_list_init(&x->peaks, problem->n_taxa);
    int status = ART_ERR_NOMEM;
    x->worker = mem_zeros((size_t)pool_threads(threads), sizeof *x->worker);
    if (!x->worker || (status = create_memory(x)))
        goto out;
    for (int i = 0; i < pool_threads(threads); i++)
        if ((status = search_worker_init(&x->worker[i], problem, a, taxon, &x->set)))
            goto out;
    *out = x;
    return ART_OK;
out:
    tree_search_free(x);
    return status;
}

void tree_search_release(tree_search *x)
{
    for (int i = 0; x->worker && i < pool_threads(x->threads); i++)
        search_worker_free(&x->worker[i]);
    free(x->worker);
    x->worker = NULL;
}

void tree_search_free(tree_search *x)
{
    if (!x)
        return;
    tree_search_release(x);
    for (int i = 0; x->parent && i < x->set.batch; i++)
        fitted_tree_free(&x->parent[i]);
    for (int i = 0; x->result && i < CHUNK; i++)
        fitted_tree_free(&x->result[i]);
    free(x->parent);
    free(x->list);
    free(x->neighbours);
    free(x->waiting);
    free(x->result);
    free(x->work);
    hash_index_free(&x->seen);
    peak_list_free(&x->peaks);
    free(x->chosen);
    free(x);
}

const search_counts *tree_search_counts(const tree_search *x)
{
    return &x->counts;
}

/* What enters the table: trees within the window below the best one. */
static double admission(const tree_search *x)
{
    double best = -HUGE_VAL;
    for (size_t i = 0; i < x->table->count; i++)
        best = fmax(best, x->table->laplace[i]);
    return best - x->set.window;
}

/* The numbers of the best trees in x->chosen, best first, equal ones in the order of the table:
 * at most `most`, of at least `least`, with all the marks `with` and none of `without`. */
static int choose(tree_search *x, int most, double least, uint8_t with, uint8_t without)
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

/* Adds a fitted tree to the table unless it is there. *found counts those that were added. */
static int enter(tree_search *x, const fitted_tree *t, uint8_t mark, int64_t *found)
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
    for (int first = 0; first < x->n_waiting; first += CHUNK) {
        const int count = x->n_waiting - first < CHUNK ? x->n_waiting - first : CHUNK;
        x->fitting = x->waiting + first;
        pool_run(x->threads, count, fit_task, x);
        x->counts.fitted += count;
        for (int i = 0; i < count; i++) {
            if (x->result[i].status == ART_OK && x->result[i].laplace < least)
                continue;
            int status = enter(x, &x->result[i], 0, found);
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

/* Copies the first `count` of x->chosen, for the tasks of a round. */
static void copy_chosen(tree_search *x, int count)
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
        status = enter(x, &x->result[0], 0, found);
    }
    return status;
}

/* Looks at the neighbours of the first `count` of x->chosen. */
static int expand_chosen(tree_search *x, int count, double least, int is_spr, int64_t *found)
{
    x->is_spr = is_spr;
    x->cutoff = is_spr ? least - x->set.spr_margin : least;
    copy_chosen(x, count);
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
    const double least = admission(x);
    *found = 0;
    return expand_chosen(x, choose(x, round_size(x), least, 0, TREE_EXPANDED), least, 0, found);
}

static void refine_task(void *context, int task, int index)
{
    tree_search *x = context;
    search_fit(&x->worker[index], &x->parent[task]);
}

int tree_search_refine(tree_search *x)
{
    const int count = choose(x, x->set.batch, -HUGE_VAL, TREE_UNFITTED, 0);
    copy_chosen(x, count);
    pool_run(x->threads, count, refine_task, x);
    note_fits(x, count);
    x->counts.rounds++;
    return ART_OK;
}

/* The trees of the first search.widen that are not widened, in x->chosen. */
static int choose_narrow(tree_search *x, double least)
{
    const int best = choose(x, x->set.widen, least, 0, 0);
    int count = 0;
    for (int i = 0; i < best; i++)
        if (!(x->table->mark[x->chosen[i]] & TREE_WIDENED))
            x->chosen[count++] = x->chosen[i];
    return count;
}

int tree_search_widen(tree_search *x, int64_t *found)
{
    const double least = admission(x);
    const int count = choose_narrow(x, least);
    const int most = x->set.batch < x->set.widen_batch ? x->set.batch : x->set.widen_batch;
    *found = 0;
    return expand_chosen(x, count < most ? count : most, least, 1, found);
}

static void climb_task(void *context, int task, int index)
{
    tree_search *x = context;
    const uint32_t start = (uint32_t)(x->counts.starts + task);
    rng stream = rng_at(x->seed, RNG_START, 0, start);
    x->work[task][0] = 0;
    x->work[task][1] =
        search_climb(&x->worker[index], &x->result[task], stream, &x->work[task][0], x->stop);
}

void tree_search_set_stop(tree_search *x, const interrupt *stop)
{
    x->stop = stop;
}

/* For want of a peak. */
static int start_without_climb(tree_search *x)
{
    int64_t found = 0;
    rng stream = rng_at(x->seed, RNG_START, 0, 0);
    search_parsimony(&x->worker[0], &x->result[0], stream);
    x->counts.fitted++;
    return enter(x, &x->result[0], TREE_PEAK, &found);
}

int tree_search_start(tree_search *x, int count)
{
    while (count > 0) {
        const int now = count < CHUNK ? count : CHUNK;
        pool_run(x->threads, now, climb_task, x);
        for (int i = 0; i < now; i++) {
            int64_t found = 0;
            if (x->work[i][1] == ART_ERR_STOPPED)
                continue;
            x->counts.scored += x->work[i][0];
            x->counts.fitted += x->work[i][1];
            int status = enter(x, &x->result[i], TREE_PEAK, &found);
            if (!status && x->result[i].status == ART_OK)
                status = peak_list_add(&x->peaks, x->result[i].decision, x->result[i].laplace, 1);
            if (status)
                return status;
        }
        x->counts.starts += now;
        x->counts.peaks = peak_list_ends(&x->peaks);
        x->counts.rounds++;
        count -= now;
    }
    return x->table->count == 0 && interrupt_is_due(x->stop) ? start_without_climb(x) : ART_OK;
}

const peak_list *tree_search_peaks(const tree_search *x)
{
    return &x->peaks;
}

double tree_search_found(const tree_search *x)
{
    return peak_list_found(&x->peaks, x->set.found_scale);
}

double tree_search_unfound(const tree_search *x)
{
    return exp2(-tree_search_found(x));
}

bool tree_search_is_rugged(const tree_search *x)
{
    return tree_search_found(x) < x->set.rugged * (double)peak_list_climbs(&x->peaks);
}

/* Peaks around which others are looked for in any case. */
static int64_t most_shaken(const tree_search *x)
{
    return tree_search_is_rugged(x) ? x->most_shaken : 0;
}

/* The best peaks within the reach of the best that were not shaken yet, in x->chosen, as long as
 * there are fewer than `most` of those that were. */
static int choose_unshaken(tree_search *x, int64_t most)
{
    const int64_t left = most - x->counts.shaken;
    const int64_t room = x->set.batch < SHAKES ? x->set.batch : SHAKES;
    const int best = choose(x, 1, -HUGE_VAL, TREE_PEAK, 0);
    if (best == 0 || left <= 0)
        return 0;
    const double least = x->table->laplace[x->chosen[0]] - x->set.found_scale;
    return choose(x, (int)(left < room ? left : room), least, TREE_PEAK, TREE_SHAKEN);
}

/* For chains, a few at least. */
static int choose_for_chains(tree_search *x)
{
    const int64_t most = most_shaken(x), few = x->set.shaken;
    return choose_unshaken(x, most > few ? most : few);
}

bool tree_search_wants_shakes(tree_search *x)
{
    return choose_for_chains(x) > 0;
}

static void shake_task(void *context, int task, int index)
{
    tree_search *x = context;
    shaken_list *list = &x->shaken[task];
    rng stream = rng_at(x->seed, RNG_START, 1, (uint32_t)(x->counts.shaken + task));
    *list = (shaken_list){.item = x->result + (ptrdiff_t)task * SHAKEN_ROOM, .room = SHAKEN_ROOM};
    x->work[task][0] = 0;
    x->work[task][1] =
        search_shake(&x->worker[index], &x->parent[task], list, stream, x->shake_pieces,
                     x->set.found_scale, &x->work[task][0], x->stop);
}

/* A peak that was found from another one. No climb has ended there. */
static int enter_shaken(tree_search *x, const fitted_tree *t)
{
    int64_t found = 0;
    const int status = enter(x, t, TREE_PEAK, &found);
    return status || t->status ? status : peak_list_add(&x->peaks, t->decision, t->laplace, 0);
}

int tree_search_shake(tree_search *x)
{
    int count = choose_for_chains(x), status = ART_OK;
    copy_chosen(x, count);
    for (int i = 0; i < count; i++)
        x->table->mark[x->chosen[i]] |= TREE_SHAKEN; /* before trees move in the table */
    pool_run(x->threads, count, shake_task, x);
    for (int i = 0; i < count && !status; i++) {
        if (x->work[i][1] == ART_ERR_STOPPED) { /* another time */
            const int64_t at = tree_table_find(x->table, x->parent[i].decision);
            if (at >= 0)
                x->table->mark[at] &= (uint8_t)~TREE_SHAKEN;
            continue;
        }
        x->counts.shaken++;
        x->counts.scored += x->work[i][0];
        x->counts.fitted += x->work[i][1];
        status = enter_shaken(x, &x->parent[i]);
        for (int k = 0; k < x->shaken[i].count && !status; k++)
            status = enter_shaken(x, &x->shaken[i].item[k]);
    }
    x->counts.rounds++;
    return status;
}

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

/* Fits the trees that the table does not have, at most CHUNK, and adds them. */
static int add_chunk(tree_search *x, double *g, const int32_t *decision, int count, int64_t *found)
{
    const size_t n_decisions = x->table->n_decisions;
    const int64_t best = tree_table_best(x->table);
    int result[CHUNK], now = 0, status = ART_OK;
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
        status = enter(x, &x->result[i], TREE_DRAWN, found);
    return status;
}

int tree_search_add(tree_search *x, double *g, const int32_t *decision, size_t count,
                    int64_t *found)
{
    int status = ART_OK;
    *found = 0;
    for (size_t first = 0; first < count && !status; first += CHUNK)
        status = add_chunk(x, g + first, decision + first * x->table->n_decisions,
                           count - first < CHUNK ? (int)(count - first) : CHUNK, found);
    return status;
}

double tree_search_unexpanded(const tree_search *x)
{
    const tree_table *t = x->table;
    const double least = admission(x), all = tree_table_log_sum(t, 0, 0);
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

/* Weighs what the last climbs brought, once all of it is expanded: the share of the table's weight
 * that was not there before, and what is probably in basins that were never hit. Then more are
 * needed, or the search is done. */
static int judge_starts(tree_search *x, int *done)
{
    const double now = tree_table_log_sum(x->table, 0, 0);
    const double gained = x->judged ? 1 - exp(x->before - now) : 1;
    x->idle_starts = gained <= x->set.new_mass ? x->idle_starts + x->counts.starts - x->judged : 0;
    x->judged = x->counts.starts;
    x->before = now;
    int status = ART_OK;
    bool enough = x->idle_starts >= x->set.idle_starts;
    if (enough) {
        status = basins_missing(&x->missing, x->table, &x->peaks, x->set.basin_trees);
        enough = x->missing <= x->set.missing || x->counts.starts >= x->set.most_starts;
    }
    if (!enough)
        x->wanted += x->set.more_starts;
    *done = enough;
    return status;
}

double tree_search_missing(const tree_search *x)
{
    return x->missing;
}

static bool wants_climbs(const tree_search *x)
{
    return x->counts.starts < x->most_first && tree_search_unfound(x) > x->set.missing;
}

bool tree_search_is_starting(tree_search *x)
{
    return x->counts.starts < x->wanted ||
           (x->counts.expanded == 0 && x->table->count > 0 &&
            (wants_climbs(x) || choose_unshaken(x, most_shaken(x)) > 0));
}

int tree_search_advance(tree_search *x, int *done)
{
    int64_t found;
    *done = 0;
    if (x->counts.starts == x->wanted && x->counts.expanded == 0 && wants_climbs(x))
        x->wanted += x->set.start_batch;
    const int64_t climbs = x->wanted - x->counts.starts;
    if (climbs > 0)
        return tree_search_start(x, climbs < x->set.start_batch ? (int)climbs : x->set.start_batch);
    if (x->table->count == 0) /* not one climb had a result */
        return ART_ERR_NUMERIC;
    if (x->counts.expanded == 0 && choose_unshaken(x, most_shaken(x)) > 0)
        return tree_search_shake(x);
    if (x->counts.expanded >= x->set.widen_share * (x->counts.widened + x->set.widen_batch) &&
        choose_narrow(x, admission(x)) > 0)
        return tree_search_widen(x, &found);
    const double open = x->counts.expanded < x->set.small_search
                            ? x->set.unexpanded_mass / x->set.small_factor
                            : x->set.unexpanded_mass;
    if (tree_search_unexpanded(x) > open)
        return tree_search_expand(x, &found);
    if (choose_narrow(x, admission(x)) > 0)
        return tree_search_widen(x, &found);
    if (tree_search_unfitted(x) > x->set.unfitted)
        return tree_search_refine(x);
    return judge_starts(x, done);
}

int tree_search_run(tree_search *x, search_stop *stop, void *context)
{
    int status = ART_OK;
    for (int done = 0; !done && !status;)
        status = stop && stop(context, x) ? ART_ERR_STOPPED : tree_search_advance(x, &done);
    return status;
}

int tree_search_fields(tree_search *x, saved_state *s)
{
    search_counts *c = &x->counts;
    state_i64_in(s, "search.starts", &c->starts, 0, INT64_MAX);
    state_i64_in(s, "search.peaks", &c->peaks, 0, INT64_MAX);
    state_i64_in(s, "search.scored", &c->scored, 0, INT64_MAX);
    state_i64_in(s, "search.fitted", &c->fitted, 0, INT64_MAX);
    state_i64_in(s, "search.failed", &c->failed, 0, INT64_MAX);
    state_i64_in(s, "search.expanded", &c->expanded, 0, INT64_MAX);
    state_i64_in(s, "search.widened", &c->widened, 0, INT64_MAX);
    state_i64_in(s, "search.shaken", &c->shaken, 0, INT64_MAX);
    state_i64_in(s, "search.rounds", &c->rounds, 0, INT64_MAX);
    state_i64_in(s, "search.wanted", &x->wanted, 0, INT64_MAX);
    state_i64_in(s, "search.judged", &x->judged, 0, INT64_MAX);
    state_i64_in(s, "search.idle_starts", &x->idle_starts, 0, INT64_MAX);
    state_f64(s, "search.before", &x->before);
    state_f64(s, "search.missing", &x->missing);
    peak_list_fields(&x->peaks, s, x->problem->n_taxa);
    return s->status;
}
