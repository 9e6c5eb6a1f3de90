#include "collapsed/search_state.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "collapsed/affordable.h"
#include "collapsed/basins.h"

#include <math.h>
#include <stdlib.h>

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
           (batch + SEARCH_CHUNK) * tree +
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
    x->result = mem_zeros(SEARCH_CHUNK, sizeof *x->result);
    x->work = mem_zeros(SEARCH_CHUNK, sizeof *x->work);
    x->chosen = mem_zeros(batch > widen ? batch : widen, sizeof *x->chosen);
    if (!x->parent || !x->list || !x->neighbours || !x->waiting || !x->result || !x->work ||
        !x->chosen)
        return ART_ERR_NOMEM;
    int status = hash_index_reserve(&x->seen, batch * room);
    for (size_t i = 0; i < batch && !status; i++) {
        x->list[i] = (neighbour_list){.item = x->neighbours + i * room, .room = (int)room};
        status = fitted_tree_init(&x->parent[i], x->problem);
    }
    for (size_t i = 0; i < SEARCH_CHUNK && !status; i++)
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
    for (int i = 0; x->result && i < SEARCH_CHUNK; i++)
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
    return x->counts.starts < x->wanted || (x->counts.expanded == 0 && x->table->count > 0 &&
                                            (wants_climbs(x) || search_wants_first_shakes(x)));
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
    if (x->counts.expanded == 0 && search_wants_first_shakes(x))
        return tree_search_shake(x);
    if (x->counts.expanded >= x->set.widen_share * (x->counts.widened + x->set.widen_batch) &&
        search_choose_narrow(x, search_admission(x)) > 0)
        return tree_search_widen(x, &found);
    const double open = x->counts.expanded < x->set.small_search
                            ? x->set.unexpanded_mass / x->set.small_factor
                            : x->set.unexpanded_mass;
    if (tree_search_unexpanded(x) > open)
        return tree_search_expand(x, &found);
    if (search_choose_narrow(x, search_admission(x)) > 0)
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
