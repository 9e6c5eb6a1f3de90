#include "collapsed/search_state.h"

#include "artreeformer.h"
#include "base/rng.h"

#include <math.h>

_Static_assert(SHAKES *SHAKEN_ROOM <= SEARCH_CHUNK, "shaken peaks have room among the results");

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
    return search_enter(x, &x->result[0], TREE_PEAK, &found);
}

int tree_search_start(tree_search *x, int count)
{
    while (count > 0) {
        const int now = count < SEARCH_CHUNK ? count : SEARCH_CHUNK;
        pool_run(x->threads, now, climb_task, x);
        for (int i = 0; i < now; i++) {
            int64_t found = 0;
            if (x->work[i][1] == ART_ERR_STOPPED)
                continue;
            x->counts.scored += x->work[i][0];
            x->counts.fitted += x->work[i][1];
            int status = search_enter(x, &x->result[i], TREE_PEAK, &found);
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
    const int best = search_choose(x, 1, -HUGE_VAL, TREE_PEAK, 0);
    if (best == 0 || left <= 0)
        return 0;
    const double least = x->table->laplace[x->chosen[0]] - x->set.found_scale;
    return search_choose(x, (int)(left < room ? left : room), least, TREE_PEAK, TREE_SHAKEN);
}

bool search_wants_first_shakes(tree_search *x)
{
    return choose_unshaken(x, most_shaken(x)) > 0;
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
    const int status = search_enter(x, t, TREE_PEAK, &found);
    return status || t->status ? status : peak_list_add(&x->peaks, t->decision, t->laplace, 0);
}

int tree_search_shake(tree_search *x)
{
    int count = choose_for_chains(x), status = ART_OK;
    search_copy_chosen(x, count);
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
