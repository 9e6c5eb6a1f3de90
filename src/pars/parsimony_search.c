#include "pars/parsimony_search.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum {
    EXPLORE_BATCH = 16, /* trees whose neighbours are looked at in a step */
    TBR_TAXA = 300, /* with more, only subtrees are moved: bisection takes N / 5 times as long */
};

/* Scratch of one thread. */
typedef struct worker {
    fitch_tree tree;
    fitch_tree all;  /* on all sites, to collapse branches */
    int64_t *length; /* [2N-2] */
    int32_t *key;    /* [2N-3] */
} worker;

/* One of the starts that are under way. */
typedef struct lane {
    int32_t *now; /* [N-3] its best tree so far; of equal ones the last */
    int64_t score;
    int32_t *end; /* [N-3] the tree that the last round ended with, with its key */
    int64_t end_score;
    int32_t *end_key; /* [2N-3] */
    int32_t *key;     /* [2N-3] of now */
} lane;

/* The neighbours of one tree. */
typedef struct finds {
    key_table tree;  /* decisions of those of the same score that were not known before */
    int32_t *key;    /* [tree.room] their collapsed keys */
    int32_t *better; /* [N-3] the best of those with a better score, .. */
    int64_t score;   /* .. and that */
    key_table known; /* numbers of collapsed trees that were known before, as int32_t */
    size_t room;
    int status;
    bool is_complete;
} finds;

struct parsimony_search {
    parsimony_search_settings set;
    int32_t n_taxa;
    site_bits bits; /* of the sites that tell trees apart */
    site_bits all_bits;
    int64_t constant; /* what the other sites cost */
    pool *threads;
    worker *worker; /* [threads] */
    int32_t *block; /* the trees of the lanes and of the finds */
    lane lane[SEARCH_LANES];
    finds finds[EXPLORE_BATCH];
    const interrupt *stop; /* of the step that is being done */
    parsimony_stage stage;
    int starts, hits;
    int round;
    int64_t best; /* without the constant */
    size_t explored;
    bool is_cut;
    optimal_trees trees;
};

static size_t n_decisions(const parsimony_search *x)
{
    return (size_t)x->n_taxa - 3;
}

static size_t n_key(const parsimony_search *x)
{
    return 2 * (size_t)x->n_taxa - 3;
}

/* ---- making one ---- */

static int make_bits(parsimony_search *x, const alignment *a, const int *row, parsimony_gap gap)
{
    const int n_planes = gap == GAP_FIFTH ? 5 : 4;
    site_patterns sites = {0};
    int status = site_patterns_build(&sites, a, row, gap == GAP_FIFTH);
    if (!status) {
        /* once each is enough to see whether there is a change */
        uint32_t *weight = sites.weight, *once = mem_zeros(sites.count, sizeof *once);
        for (size_t k = 0; once && k < sites.count; k++)
            once[k] = 1;
        sites.weight = once;
        status = once ? site_bits_init(&x->all_bits, &sites, n_planes, SIZE_MAX) : ART_ERR_NOMEM;
        sites.weight = weight;
        free(once);
    }
    if (!status) {
        x->constant = site_bits_set_constant_aside(&sites);
        status = site_bits_init(&x->bits, &sites, n_planes, SIZE_MAX);
    }
    site_patterns_free(&sites);
    return status;
}

static int make_worker(worker *w, const parsimony_search *x)
{
    int status = fitch_tree_init(&w->tree, &x->bits);
    if (!status)
        status = fitch_tree_init(&w->all, &x->all_bits);
    w->length = mem_zeros(2 * (size_t)x->n_taxa, sizeof *w->length);
    w->key = mem_zeros(n_key(x), sizeof *w->key);
    return status ? status : w->length && w->key ? ART_OK : ART_ERR_NOMEM;
}

static int make_lanes(parsimony_search *x)
{
    const size_t tree = n_decisions(x), key = n_key(x);
    int32_t *next = x->block =
        mem_zeros(SEARCH_LANES * (2 * tree + 2 * key) + EXPLORE_BATCH * tree, sizeof *x->block);
    if (!next)
        return ART_ERR_NOMEM;
    for (int i = 0; i < SEARCH_LANES; i++) {
        lane *l = &x->lane[i];
        l->now = next;
        l->end = l->now + tree;
        l->key = l->end + tree;
        l->end_key = l->key + key;
        next = l->end_key + key;
    }
    for (int i = 0; i < EXPLORE_BATCH; i++, next += tree) {
        x->finds[i].better = next;
        key_table_init(&x->finds[i].tree, tree * sizeof(int32_t));
        key_table_init(&x->finds[i].known, sizeof(int32_t));
    }
    return ART_OK;
}

int parsimony_search_create(parsimony_search **out, const alignment *a, const int *row,
                            parsimony_gap gap, const parsimony_search_settings *settings,
                            pool *threads)
{
    *out = NULL;
    if (a->n_taxa < 3)
        return ART_ERR_USAGE;
    parsimony_search *x = mem_zeros(1, sizeof *x);
    if (!x)
        return ART_ERR_NOMEM;
    x->set = *settings;
    x->n_taxa = a->n_taxa;
    x->threads = threads;
    x->best = INT64_MAX;
    x->worker = mem_zeros((size_t)pool_threads(threads), sizeof *x->worker);
    int status = x->worker ? make_bits(x, a, row, gap) : ART_ERR_NOMEM;
    for (int i = 0; i < pool_threads(threads) && !status; i++)
        status = make_worker(&x->worker[i], x);
    if (!status)
        status = make_lanes(x);
    if (!status)
        status = optimal_trees_init(&x->trees, x->n_taxa, x->set.trees);
    if (status)
        parsimony_search_free(x);
    else
        *out = x;
    return status;
}

void parsimony_search_free(parsimony_search *x)
{
    if (!x)
        return;
    for (int i = 0; x->worker && i < pool_threads(x->threads); i++) {
        fitch_tree_free(&x->worker[i].tree);
        fitch_tree_free(&x->worker[i].all);
        free(x->worker[i].length);
        free(x->worker[i].key);
    }
    for (int i = 0; i < EXPLORE_BATCH; i++) {
        key_table_free(&x->finds[i].tree);
        key_table_free(&x->finds[i].known);
        free(x->finds[i].key);
    }
    optimal_trees_free(&x->trees);
    site_bits_free(&x->bits);
    site_bits_free(&x->all_bits);
    free(x->worker);
    free(x->block);
    free(x);
}

static fitch_moves moves_of(const parsimony_search *x)
{
    return x->n_taxa <= TBR_TAXA ? FITCH_TBR : FITCH_SPR;
}

/* ---- starts ---- */

/* Task: the next round of one lane; the first round makes the tree. */
static void do_round(void *context, int task, int index)
{
    parsimony_search *x = context;
    worker *w = &x->worker[index];
    lane *l = &x->lane[task];
    rng r = rng_at(x->set.seed, RNG_PARSIMONY, (uint32_t)(x->starts + task), (uint32_t)x->round);
    fitch_tree_drop(&w->tree, 0, NULL);
    if (x->round == 0) {
        fitch_tree_grow(&w->tree, &r);
        l->score = INT64_MAX;
    } else {
        fitch_tree_drop(&w->tree, x->set.drop, &r);
        fitch_tree_set(&w->tree, l->now);
        fitch_tree_climb(&w->tree, FITCH_SPR, &r, x->stop);
        fitch_tree_decisions(&w->tree, l->end);
        fitch_tree_drop(&w->tree, 0, NULL);
        fitch_tree_set(&w->tree, l->end);
    }
    fitch_tree_climb(&w->tree, FITCH_SPR, &r, x->stop);
    if (moves_of(x) == FITCH_TBR)
        fitch_tree_climb(&w->tree, FITCH_TBR, &r, x->stop);
    fitch_tree_decisions(&w->tree, l->end);
    l->end_score = w->tree.score;
    collapsed_key(l->end_key, l->end, &w->all, w->length);
    if (l->end_score <= l->score) {
        l->score = l->end_score;
        memcpy(l->now, l->end, n_decisions(x) * sizeof *l->now);
        memcpy(l->key, l->end_key, n_key(x) * sizeof *l->key);
    }
}

/* A tree of the given score was met: if it is better than all before, those are forgotten. */
static int meet(parsimony_search *x, int32_t *number, const int32_t *decision, const int32_t *key,
                int64_t score)
{
    *number = -1;
    if (score > x->best)
        return ART_OK;
    if (score < x->best) {
        optimal_trees_clear(&x->trees);
        x->best = score;
        x->hits = 0;
        x->explored = 0;
    }
    return optimal_trees_add(&x->trees, number, decision, key);
}

static int lanes_now(const parsimony_search *x)
{
    const int left = x->set.starts - x->starts;
    return left < SEARCH_LANES ? left : SEARCH_LANES;
}

/* Counts the starts of a batch that is done. */
static int end_batch(parsimony_search *x)
{
    const int lanes = lanes_now(x);
    int status = ART_OK;
    for (int i = 0; i < lanes && !status; i++) {
        int32_t number = -1;
        if (x->lane[i].score == x->best) {
            x->hits++;
            status = optimal_trees_add(&x->trees, &number, x->lane[i].now, x->lane[i].key);
        }
        if (number >= 0)
            optimal_trees_end_start(&x->trees, number);
    }
    x->starts += lanes;
    x->round = 0;
    if (x->hits >= x->set.hits || x->starts >= x->set.starts)
        x->stage = STAGE_PLATEAU;
    return status;
}

static int step_starts(parsimony_search *x)
{
    const int lanes = lanes_now(x);
    int status = ART_OK;
    pool_run(x->threads, lanes, do_round, x);
    for (int i = 0; i < lanes && !status; i++) {
        int32_t number;
        status = meet(x, &number, x->lane[i].end, x->lane[i].end_key, x->lane[i].end_score);
    }
    x->round++;
    if (!status && (x->round > x->set.rounds || interrupt_is_due(x->stop)))
        status = end_batch(x);
    return status;
}

/* ---- the plateau ---- */

typedef struct visitor {
    parsimony_search *x;
    worker *w;
    finds *f;
} visitor;

static int visit(void *context, const int32_t *decision, int64_t score)
{
    const visitor *v = context;
    parsimony_search *x = v->x;
    finds *f = v->f;
    if (score < x->best) {
        if (score < f->score)
            memcpy(f->better, decision, n_decisions(x) * sizeof *decision);
        f->score = score < f->score ? score : f->score;
        return ART_OK;
    }
    size_t number;
    const int64_t known = key_table_find(&x->trees.resolved, decision);
    if (known != KEY_NONE)
        return key_table_add(&f->known, &x->trees.collapsed_of[known], &number);
    const size_t before = f->tree.count;
    int status = key_table_add(&f->tree, decision, &number);
    if (status || f->tree.count == before)
        return status;
    if (f->room < f->tree.room) {
        int32_t *grown = mem_resize(f->key, f->tree.room * n_key(x), sizeof *grown);
        if (!grown)
            return ART_ERR_NOMEM;
        f->key = grown;
        f->room = f->tree.room;
    }
    collapsed_key(f->key + number * n_key(x), decision, &v->w->all, v->w->length);
    return interrupt_is_due(x->stop) ? ART_ERR_STOPPED : ART_OK;
}

/* Task: the neighbours of one tree. */
static void explore(void *context, int task, int index)
{
    parsimony_search *x = context;
    worker *w = &x->worker[index];
    finds *f = &x->finds[task];
    visitor v = {x, w, f};
    key_table_clear(&f->tree);
    key_table_clear(&f->known);
    f->score = INT64_MAX;
    fitch_tree_drop(&w->tree, 0, NULL);
    fitch_tree_set(&w->tree, optimal_tree(&x->trees, x->explored + (size_t)task));
    f->status = fitch_tree_neighbours(&w->tree, moves_of(x), x->best, visit, &v);
    f->is_complete = f->status == ART_OK;
    if (f->status == ART_ERR_STOPPED)
        f->status = ART_OK;
}

/* What the neighbours of one tree bring. */
static int take_finds(parsimony_search *x, const finds *f, size_t tree)
{
    const int32_t from = x->trees.collapsed_of[tree];
    int32_t number;
    int status = f->status;
    for (size_t i = 0; i < f->known.count; i++)
        optimal_trees_connect(&x->trees, from, *(const int32_t *)key_table_at(&f->known, i));
    for (size_t i = 0; i < f->tree.count && !status; i++) {
        status =
            optimal_trees_add(&x->trees, &number, key_table_at(&f->tree, i), f->key + i * n_key(x));
        if (!status && number >= 0)
            optimal_trees_connect(&x->trees, from, number);
    }
    return status;
}

/* A better tree among the neighbours: the search goes on from there. */
static int take_better(parsimony_search *x, const finds *f)
{
    worker *w = &x->worker[0];
    int32_t number;
    collapsed_key(w->key, f->better, &w->all, w->length);
    return meet(x, &number, f->better, w->key, f->score);
}

/* All trees are explored: are there islands that few starts have found? */
static void end_plateau(parsimony_search *x)
{
    int32_t rare;
    optimal_trees_islands(&x->trees, &rare);
    const bool is_sure = x->hits >= x->set.hits && (rare == 0 || x->trees.is_full);
    x->stage = is_sure || x->starts >= x->set.starts ? STAGE_DONE : STAGE_STARTS;
}

static int step_plateau(parsimony_search *x)
{
    const size_t left = x->trees.resolved.count - x->explored;
    const int tasks = left < EXPLORE_BATCH ? (int)left : EXPLORE_BATCH;
    const finds *better = NULL;
    int status = ART_OK, done = 0;
    pool_run(x->threads, tasks, explore, x);
    for (int i = 0; i < tasks && !status; i++) {
        const finds *f = &x->finds[i];
        status = take_finds(x, f, x->explored + (size_t)i);
        if (f->score < x->best && (!better || f->score < better->score))
            better = f;
        done += f->is_complete;
    }
    if (status)
        return status;
    if (better) {
        status = take_better(x, better);
        x->stage = x->starts < x->set.starts ? STAGE_STARTS : STAGE_PLATEAU;
        return status;
    }
    x->explored += (size_t)done;
    if (x->explored == x->trees.resolved.count)
        end_plateau(x);
    return ART_OK;
}

/* ---- driving it ---- */

int parsimony_search_step(parsimony_search *x, const interrupt *stop)
{
    x->stop = stop;
    int status = x->stage == STAGE_STARTS    ? step_starts(x)
                 : x->stage == STAGE_PLATEAU ? step_plateau(x)
                                             : ART_OK;
    if (!status && interrupt_is_due(stop) && x->stage != STAGE_DONE) {
        parsimony_search_end(x);
        x->is_cut = true;
    }
    x->stop = NULL;
    return status;
}

bool parsimony_search_is_done(const parsimony_search *x)
{
    return x->stage == STAGE_DONE;
}

void parsimony_search_end(parsimony_search *x)
{
    x->stage = STAGE_DONE;
}

parsimony_found parsimony_search_found(const parsimony_search *x)
{
    parsimony_found f = {.stage = x->stage,
                         .score = x->best == INT64_MAX ? INT64_MAX : x->best + x->constant,
                         .starts = x->starts,
                         .hits = x->hits,
                         .round = x->round,
                         .explored = x->explored,
                         .is_cut = x->is_cut,
                         .trees = &x->trees};
    f.islands = optimal_trees_islands(&x->trees, &f.rare);
    return f;
}

void parsimony_search_branches(parsimony_search *x, bool *keeps, const int32_t *decision)
{
    worker *w = &x->worker[0];
    collapsed_key(w->key, decision, &w->all, w->length);
    for (int32_t v = 1; v < topology_nodes(x->n_taxa); v++) /* canonical numbers: it was just set */
        keeps[node_edge(v, x->n_taxa)] =
            v < x->n_taxa || w->all.tree.parent[v] == 0 || w->length[v] > 0;
}

int parsimony_search_fields(parsimony_search *x, saved_state *s)
{
    x->stage = (parsimony_stage)state_choice(s, "search.stage", (int)x->stage, STAGE_DONE + 1);
    state_int_in(s, "search.starts", &x->starts, 0, x->set.starts);
    state_int_in(s, "search.hits", &x->hits, 0, x->set.starts);
    state_int_in(s, "search.round", &x->round, 0, x->set.rounds);
    state_i64_in(s, "search.best", &x->best, 0, INT64_MAX);
    state_bool(s, "search.is_cut", &x->is_cut);
    int64_t explored = (int64_t)x->explored;
    state_i64_in(s, "search.explored", &explored, 0, (int64_t)x->set.trees);
    x->explored = (size_t)explored;
    for (int i = 0; i < SEARCH_LANES; i++) {
        lane *l = &x->lane[i];
        char name[32] = "search.lane_0";
        name[sizeof "search.lane_0" - 2] = (char)('0' + i);
        const size_t before = state_group(s, name);
        state_i64(s, "score", &l->score);
        state_i32_array(s, "tree", l->now, 1, n_decisions(x));
        state_i32_array(s, "key", l->key, 1, n_key(x));
        state_group_end(s, before);
        if (state_loaded(s) && !decisions_are_trees(l->now, 1, x->n_taxa))
            state_refuse(s, "invalid tree of a start");
    }
    optimal_trees_fields(&x->trees, s);
    if (state_loaded(s) && x->explored > x->trees.resolved.count)
        state_refuse(s, "more trees explored than found");
    return s->status;
}
