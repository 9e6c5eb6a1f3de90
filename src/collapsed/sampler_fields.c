#include "artreeformer.h"
#include "collapsed/sampler_state.h"
#include "tree/saved_trees.h"

#include <math.h>

/* What the draws so far have shown of one tree of the table. */
typedef struct drawn_tree {
    int64_t tree;
    double log_p, full, laplace;
    log_mean draws;
} drawn_tree;

static size_t count_drawn(const tree_sampler *s)
{
    size_t count = 0;
    for (size_t i = 0; i < s->c->table.count; i++)
        count += s->estimate[i].draws.count > 0;
    return count;
}

static void list_drawn(drawn_tree *list, const tree_sampler *s)
{
    for (size_t i = 0; i < s->c->table.count; i++) {
        const tree_estimate *e = &s->estimate[i];
        if (e->draws.count > 0)
            *list++ = (drawn_tree){(int64_t)i, s->log_p[i], e->full, e->laplace, e->draws};
    }
}

/* For the other trees the values of the table are used. */
static void take_drawn(tree_sampler *s, const drawn_tree *list, size_t count, saved_state *from)
{
    const size_t trees = s->c->table.count;
    for (size_t i = 0; i < trees; i++)
        tree_sampler_forget(s, i);
    for (size_t i = 0; i < count; i++) {
        const drawn_tree *d = &list[i];
        if (d->tree < 0 || d->tree >= (int64_t)trees) {
            state_refuse(from, "draws of a tree that is not in the table");
            return;
        }
        tree_estimate *e = &s->estimate[d->tree];
        s->log_p[d->tree] = d->log_p;
        e->full = d->full;
        e->laplace = d->laplace;
        e->draws = d->draws;
    }
}

/* A row for each tree of the table that has draws. */
static void drawn_fields(tree_sampler *s, saved_state *to)
{
    const size_t before = state_group(to, "sampler.tree");
    const size_t count = state_rows(to, "number", count_drawn(s), 1), size = sizeof(drawn_tree);
    drawn_tree *list = state_memory(to, count + 1, size);
    if (list && !to->is_loading)
        list_drawn(list, s);
    if (list) {
        state_i64_column(to, "number", &list->tree, count, size);
        state_f64_column(to, "log_p", &list->log_p, count, size);
        state_f64_column(to, "full", &list->full, count, size);
        state_f64_column(to, "laplace", &list->laplace, count, size);
        state_log_mean_column(to, "draws", &list->draws, count, size);
    }
    state_group_end(to, before);
    if (state_loaded(to))
        take_drawn(s, list, count, to);
}

/* The place in the pass: it leads nowhere that does not exist. */
static void place_fields(tree_sampler *s, saved_state *to)
{
    const int network = SAMPLER_REPEATS * s->k_network, table = SAMPLER_REPEATS * s->k_table;
    s->stage = (sampler_stage)state_choice(to, "sampler.stage", (int)s->stage, SAMPLER_OUTSIDE + 1);
    state_int_in(to, "sampler.n_outside", &s->n_outside, 0, network);
    state_int_in(to, "sampler.kept", &s->kept, 0, s->n_outside);
    const int most[] = {network, s->n_outside, table, s->kept}; /* of next, by stage */
    state_int_in(to, "sampler.next", &s->next, 0, most[s->stage]);
    if (state_loaded(to) && s->stage == SAMPLER_SCREEN && s->kept > s->next)
        state_refuse(to, "more draws kept than were examined");
    state_i32_array(to, "sampler.outside_draw", s->outside_draw, (size_t)network, 1);
    for (int i = 0; i < s->n_outside && state_loaded(to); i++)
        if (s->outside_draw[i] < 0 || s->outside_draw[i] >= network)
            state_refuse(to, "sampler.outside_draw refers to a draw that does not exist");
}

/* The weights of the passes that are done. */
static void weight_fields(tree_sampler *s, saved_state *to)
{
    const size_t k = (size_t)s->batch.k;
    const size_t passes = state_rows(to, "sampler.weight", (size_t)s->passes, k);
    if (passes >= INT32_MAX / k)
        state_refuse(to, "%zu passes, more than possible", passes);
    if (state_loaded(to)) {
        s->passes = (int)passes;
        state_fail(to, tree_sampler_room(s, s->passes + 1));
    }
    state_log_array(to, "sampler.weight", s->weight, passes, k);
}

/* The draws of the pass that is under way. */
static void batch_fields(tree_sampler *s, saved_state *to)
{
    const tree_table *t = &s->c->table;
    particles *b = &s->batch;
    const size_t k = (size_t)b->k;
    const size_t before = state_group(to, "batch");
    state_trees(to, "decision", b->decision, k, t->n_taxa);
    state_f64_array(to, "length", b->length, k, t->n_edges);
    if (b->n_free)
        state_f64_array(to, "parameter", b->parameter, k, (size_t)b->n_free);
    state_f64_array(to, "log_q", b->log_q, k, 1);
    state_f64_array(to, "log_b", b->log_b, k, 1);
    state_f64_array(to, "value", b->value, k, 1);
    state_f64_array(to, "log_prior", b->log_prior, k, 1);
    state_log_array(to, "log_weight", b->log_weight, k, 1);
    state_group_end(to, before);
}

int tree_sampler_fields(tree_sampler *s, saved_state *to)
{
    const tree_table *t = &s->c->table;
    const size_t network = SAMPLER_REPEATS * (size_t)s->k_network;
    weight_fields(s, to);
    place_fields(s, to);
    state_i64_in(to, "sampler.failed", &s->failed, 0, INT64_MAX);
    state_f64(to, "sampler.log_sum", &s->log_sum);
    state_log_mean(to, "sampler.mean", &s->mean);
    state_log_mean(to, "sampler.outside", &s->outside);
    drawn_fields(s, to);
    state_trees(to, "sampler.drawn", s->drawn, network, t->n_taxa);
    state_f64_array(to, "sampler.log_q", s->log_q, network, 1);
    state_f64_array(to, "sampler.guess", s->guess, 1, t->n_edges);
    batch_fields(s, to);
    posterior_fields(&s->posterior, to);
    if (state_loaded(to))
        tree_sampler_pick(s);
    return to->status;
}
