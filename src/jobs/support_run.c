#include "jobs/support_run.h"

#include "artreeformer.h"
#include "base/format.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct support_run {
    run base;
    support_search *search; /* NULL once it is done */
    tree_set trees;
    size_t found;  /* trees, in all */
    run *training; /* NULL before it is done */
    support_begin *begin;
    void *context;
    bool finish_now;
    bool is_reported;
} support_run;

/* The search is over: the trees are there, from it or from a checkpoint. */
static int begin_training(support_run *x)
{
    support_search_free(x->search);
    x->search = NULL;
    int status = x->begin(x->context, &x->trees, &x->training);
    if (!status && x->finish_now)
        x->training->ops->finish_now(x->training);
    return status;
}

static int advance(run *r, diag *d)
{
    support_run *x = (support_run *)r;
    if (x->training)
        return x->training->ops->advance(x->training, d);
    bool is_done = false;
    int status = support_search_advance(x->search, &is_done);
    x->found = support_search_count(x->search);
    if (status || !(is_done || (x->finish_now && x->found)))
        return status;
    status = support_search_trees(&x->trees, x->search);
    return status ? status : begin_training(x);
}

static void progress(const run *r, run_progress *out)
{
    const support_run *x = (const support_run *)r;
    if (x->training) {
        x->training->ops->progress(x->training, out);
        return;
    }
    *out = (run_progress){.stage = "exploring",
                          .unit = "trees",
                          .done = (double)x->found,
                          .value = (double)NAN,
                          .is_resumable = true};
    if (!x->search) /* after a failure */
        return;
    snprintf(out->detail, sizeof out->detail, "%lld climbs",
             (long long)support_search_climbs(x->search));
    snprintf(out->place, sizeof out->place, "exploring, %zu trees", x->found);
}

static int report(run *r, run_report *out)
{
    support_run *x = (support_run *)r;
    *out = (run_report){0};
    if (!x->training)
        return ART_OK;
    if (x->is_reported)
        return x->training->ops->report(x->training, out);
    char trees[FORMAT_ITEMS];
    snprintf(out->text, sizeof out->text, "support: %s, with %.4g of the weight of the %zu found",
             format_items(trees, sizeof trees, x->trees.count, "topology", "topologies"),
             x->trees.share, x->found);
    x->is_reported = true;
    return ART_OK;
}

static int fields(run *r, saved_state *s)
{
    support_run *x = (support_run *)r;
    bool is_exploring = !x->training;
    int64_t found = (int64_t)x->found;
    state_bool(s, "support.is_exploring", &is_exploring);
    state_i64_in(s, "support.found", &found, 0, INT64_MAX);
    if (s->status)
        return s->status;
    x->found = (size_t)found;
    if (is_exploring)
        return support_search_fields(x->search, s);
    if (s->is_loading)
        state_fail(s, tree_set_init(&x->trees, support_search_taxa(x->search)));
    const size_t before = state_group(s, "support");
    tree_set_fields(&x->trees, s);
    state_f64(s, "share", &x->trees.share);
    state_group_end(s, before);
    if (state_loaded(s)) {
        x->is_reported = true;
        state_fail(s, begin_training(x));
    }
    return s->status ? s->status : x->training->ops->fields(x->training, s);
}

/* The search ends with what it has found, and then the training. */
static void finish_now(run *r)
{
    support_run *x = (support_run *)r;
    x->finish_now = true;
    if (x->training)
        x->training->ops->finish_now(x->training);
}

static void free_run(run *r)
{
    support_run *x = (support_run *)r;
    if (x->training)
        x->training->ops->free(x->training);
    support_search_free(x->search);
    tree_set_free(&x->trees);
    free(x);
}

static const run_ops OPS = {advance, progress, report, fields, finish_now, free_run};

int support_run_create(run **out, support_search *search, support_begin *begin, void *context)
{
    support_run *x = mem_zeros(1, sizeof *x);
    *out = x ? &x->base : NULL;
    if (!x) {
        support_search_free(search);
        return ART_ERR_NOMEM;
    }
    x->base.ops = &OPS;
    x->search = search;
    x->begin = begin;
    x->context = context;
    return ART_OK;
}

const tree_set *support_run_trees(const run *r)
{
    const support_run *x = (const support_run *)r;
    return x->training ? &x->trees : NULL;
}
