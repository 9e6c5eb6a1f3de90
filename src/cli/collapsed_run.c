#include "cli/collapsed_run.h"

#include "artreeformer.h"
#include "base/format.h"
#include "io/tensor_parts.h"
#include "cli/banner.h"
#include "cli/progress.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const option COLLAPSED_OPTIONS[] = {
    OPTION_REAL(collapsed_options, se, "--se", OPTIONAL, OPTION_ABOVE_0, 10,
                "standard error of the log evidence that is wanted"),
    OPTION_REAL(collapsed_options, new_mass, "--new-mass | --news", OPTIONAL, OPTION_ABOVE_0, 1,
                "rounds end when draws bring no more than this share of the posterior"),
    OPTION_REAL(collapsed_options, fit_kl, "--fit-kl | --gap", OPTIONAL, 0, 100,
                "after the rounds the network is fitted until it is this close to the table, in "
                "nats; 0: it is not, but with a time limit as long as the time allows"),
    OPTION_INT(collapsed_options, rounds, "--rounds", OPTIONAL, 1, ROUNDS_MOST,
               "rounds of fitting and drawing, at most"),
    OPTION_INT(collapsed_options, fit_steps, "--fit-steps", OPTIONAL, 1, 1e9,
               "steps of fitting in a round, at most"),
    OPTION_INT(collapsed_options, fit_batch, "--fit-batch", OPTIONAL, 1, 100000,
               "trees of one of these steps"),
    OPTION_REAL(collapsed_options, fit_rate, "--fit-rate", OPTIONAL, OPTION_ABOVE_0, 1,
                "learning rate of fitting"),
    OPTION_SIZE(collapsed_options, memory, "--table-memory", OPTIONAL,
                "memory for the table of topologies; the least useful go first"),
    OPTION_END,
};

typedef struct work {
    job *j;
    rounds *c;
    progress line;
    rounds_stage shown;  /* by the line */
    int rounds;          /* that are reported */
    double last_seconds; /* of the last draws and a pass, expected; 0 if not known */
    final_sampling *a;   /* NULL during the rounds */
    final_stage part;    /* shown by the line */
} work;

static int begin_answer(work *w)
{
    return final_sampling_create(&w->a, w->c, w->j->branches, &w->j->data.taxa);
}

static int save(void *context, safetensors *s)
{
    work *w = context;
    int status = rounds_save(w->c, s);
    return status || !w->a ? status : final_sampling_save(w->a, s);
}

static int load(void *context, safetensors *s, const char *file, diag *d)
{
    work *w = context;
    int status = rounds_load(w->c, s, file, d);
    w->rounds = w->c->n_rounds;
    if (status || !tree_sampler_is_saved(s))
        return status;
    if (w->c->stage != ROUNDS_DONE)
        return tensor_parts_error(d, file, "an answer before the end of the rounds");
    status = begin_answer(w);
    return status ? status : final_sampling_load(w->a, s, file, d);
}

static const char *const STAGE[] = {"exploring", "weighing",  "fitting",
                                    "drawing",   "polishing", "done"};

static void where(void *context, char *text, size_t size)
{
    const work *w = context;
    const rounds *c = w->c;
    if (w->a && w->a->trainer)
        snprintf(text, size, "step %lld of %lld of fitting branch lengths",
                 (long long)w->a->trainer->step, (long long)c->set.final.length_steps);
    else if (w->a)
        snprintf(text, size, "the answer after %.0f draws", tree_sampler_draws(w->a->sampler));
    else
        snprintf(text, size, "round %d, %s, %zu trees", c->n_rounds + 1, STAGE[c->stage],
                 c->table.count);
}

static collapsed_settings settings_of(const collapsed_options *o, const job *j,
                                      const evaluation_settings *e)
{
    const int n = j->data.alignment.n_taxa;
    const double limit = j->run.set->time_limit;
    collapsed_settings set = collapsed_defaults((uint64_t)j->run.session->common->seed);
    set.error = o->se;
    set.table.capacity = tree_table_capacity(n, (double)o->memory);
    set.fit.batch = (int)o->fit_batch;
    set.fit.rate = o->fit_rate;
    set.fit.steps = o->fit_steps;
    set.fit.polish = o->fit_kl > 0 ? o->fit_kl : limit > 0 ? set.limit.polish : 0;
    set.rounds.rounds = (int)o->rounds;
    set.rounds.new_mass = o->new_mass;
    set.sampler.particles = (int)e->particles;
    set.sampler.sample = (int)e->sample;
    set.final.passes = e->repeats;
    set.final.cache = (size_t)e->cache;
    return set;
}

/* The line of the stage that it is in. */
static void show(work *w)
{
    const rounds *c = w->c;
    static const char *const UNIT[] = {"trees", "trees", "steps", "draws", "steps", ""};
    const bool fits = c->stage == ROUNDS_FIT || c->stage == ROUNDS_POLISH;
    const double done = fits                      ? (double)network_fit_steps(&c->fit)
                        : c->stage == ROUNDS_DRAW ? (double)c->looked
                                                  : (double)c->table.count;
    const double total = c->stage == ROUNDS_FIT    ? (double)(c->fit.before + c->set.fit.steps)
                         : c->stage == ROUNDS_DRAW ? c->set.rounds.draws
                                                   : 0; /* not known */
    if (c->stage != w->shown)
        progress_start(&w->line, &w->j->run.session->log, STAGE[c->stage], UNIT[c->stage], total,
                       done);
    w->shown = c->stage;
    if (fits && c->fit.fit_kl < DBL_MAX)
        progress_update(&w->line, done, "%.4f nats from the table", c->fit.fit_kl);
    else
        progress_update(&w->line, done, "round %d", c->n_rounds + 1);
}

static json_t *round_json(const round_figures *r)
{
    json_t *out = json_pack("{s:I, s:I, s:f, s:I}", "table_trees", (json_int_t)r->trees,
                            "fit_steps", (json_int_t)r->steps, "log_evidence_table", r->log_table,
                            "new_trees", (json_int_t)r->new_trees);
    if (out) {
        results_number(out, "log_evidence_network", r->log_network);
        results_number(out, "log_evidence_network_se", r->network_error);
        results_number(out, "new_weight", r->new_mass);
        results_number(out, "missed_weight", r->missed);
        results_number(out, "fit_kl", r->fit_kl);
        results_number(out, "expected_se", r->error);
        json_object_set_new(out, "criteria_hold", json_boolean(r->done != 0));
    }
    return out;
}

/* The criteria and their values, for every round. */
static int report(work *w)
{
    const rounds *c = w->c;
    const round_figures *r = &c->round[w->rounds++];
    const collapsed_settings *set = &c->set;
    char missed[64] = "";
    if (r->missed > 0)
        snprintf(missed, sizeof missed, ", %.2g had no room in the table", r->missed);
    log_info(&w->j->run.session->log,
             "round %d: %.0f trees, log evidence %.3f by the table and %.3f (%.3f) by the network; "
             "new weight %.2g (wanted %.2g) in %.0f new trees%s, gap %.3g, expected error "
             "%.2g (%.2g)%s",
             w->rounds, r->trees, r->log_table, r->log_network, r->network_error, r->new_mass,
             set->rounds.new_mass, r->new_trees, missed, r->fit_kl, r->error, set->error,
             r->done == 0             ? ""
             : r->error <= set->error ? ": all criteria hold"
                                      : ": the table is full, the draws of the answer do the rest");
    return run_metrics(&w->j->run, (int64_t)r->steps, round_json(r));
}

/* Whether `reserve` seconds before the time limit are reached. */
static bool is_near_limit(const run *r, double reserve)
{
    const double limit = r->set->time_limit;
    return limit > 0 && run_seconds(r) >= limit - reserve;
}

/* Seconds of a time limit that are left for the answer: a minute, within shares of the limit, or
 * what a pass will take, if that is known and more. */
static double answer_reserve(const work *w)
{
    const limit_settings *set = &w->c->set.limit;
    const double limit = w->j->run.set->time_limit, least = set->answer_least * limit;
    const double usual = fmax(least, fmin(set->answer_seconds, set->answer_most * limit));
    return fmax(usual, fmin(w->last_seconds, set->answer_measured * limit));
}

/* Weighing trees costs about what drawing from them will, and new trees of the round. */
static void note_cost(work *w, double seconds)
{
    const rounds *c = w->c;
    const double trees = answer_pass_trees(c) + (c->stage == ROUNDS_FIT ? c->set.rounds.draws : 0);
    if (c->improved >= c->set.limit.measured_trees)
        w->last_seconds = seconds / (double)c->improved * trees;
}

static int make_rounds(work *w, const run_work *face)
{
    run *r = &w->j->run;
    int status = ART_OK;
    w->shown = ROUNDS_DONE;
    while (!status && w->c->stage != ROUNDS_DONE) {
        const rounds_stage stage = w->c->stage;
        const double begun = clock_seconds();
        if (is_near_limit(r, answer_reserve(w))) {
            r->cut_by = r->set->time_limit;
            rounds_finish_now(w->c);
        }
        show(w);
        status = rounds_advance(w->c, &r->session->diag);
        if (!status && stage == ROUNDS_IMPROVE)
            note_cost(w, clock_seconds() - begun);
        if (!status && w->c->n_rounds > w->rounds)
            status = report(w);
        if (!status)
            status = run_between(r, face);
    }
    progress_end(&w->line);
    return status;
}

static void show_answer(work *w)
{
    const final_sampling *a = w->a;
    logger *log = &w->j->run.session->log;
    const bool passes = a->stage == FINAL_PASSES;
    const double done = passes       ? tree_sampler_draws(a->sampler)
                        : a->trainer ? (double)a->trainer->step
                                     : 0;
    if (a->stage != w->part && passes)
        progress_start(&w->line, log, "evidence", "draws", 0, done);
    else if (a->stage != w->part)
        progress_start(&w->line, log, "fitting branch lengths", "steps",
                       (double)a->set->final.length_steps, done);
    w->part = a->stage;
    if (passes)
        progress_update(&w->line, done, "standard error %.4f (wanted %.4f)",
                        tree_sampler_error(a->sampler), a->set->error);
    else
        progress_update(&w->line, done, "%s", "");
}

static int make_answer(work *w, const run_work *face)
{
    run *r = &w->j->run;
    int status = w->a ? ART_OK : begin_answer(w);
    bool is_cut = false; /* said only of what is done: a run that goes on may have more time */
    w->part = FINAL_DONE;
    while (!status && w->a->stage != FINAL_DONE) {
        if (is_near_limit(r, 0)) {
            is_cut = true;
            final_sampling_finish_now(w->a);
        }
        show_answer(w);
        status = final_sampling_advance(w->a, &r->session->diag);
        if (!status)
            status = run_between(r, face);
    }
    progress_end(&w->line);
    if (!status)
        status = run_save(r, face);
    if (is_cut)
        r->cut_by = r->set->time_limit;
    return status;
}

static json_t *facts_json(const rounds *c, const evidence *e)
{
    const search_counts *n = tree_search_counts(c->tree_search);
    json_t *all = json_array();
    for (int i = 0; i < c->n_rounds; i++)
        json_array_append_new(all, round_json(&c->round[i]));
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:I, s:o}", "method",
                     "collapsed", "steps", (json_int_t)network_fit_steps(&c->fit), "table_trees",
                     (json_int_t)c->table.count, "table_evicted", (json_int_t)c->table.evicted,
                     "explore_starts", (json_int_t)n->starts, "explore_peaks", (json_int_t)n->peaks,
                     "explore_scored", (json_int_t)n->scored, "explore_fitted",
                     (json_int_t)n->fitted, "log_evidence_table", rounds_log_table(c),
                     "outside_weight", e->outside, "outside_weight_se", e->outside_se,
                     "failed_draws", (json_int_t)e->failed, "rounds", all);
}

static int finish(work *w, evaluation *e, json_t **facts)
{
    answer found;
    int status = final_sampling_finish(w->a, &found);
    e->evidence = found.evidence;
    e->evidence.cut = w->j->run.cut_by > 0;
    e->posterior = found.posterior;
    if (!status && !(*facts = facts_json(w->c, &found.evidence)))
        status = ART_ERR_NOMEM;
    if (!status)
        log_info(&w->j->run.session->log,
                 "%d passes over a table of %zu trees; %.2g (%.1g) of the posterior is outside, in "
                 "%lld trees that were drawn",
                 found.facts.passes, w->c->table.count, e->evidence.outside, e->evidence.outside_se,
                 (long long)found.facts.outside_trees);
    return status;
}

int collapsed_run(job *j, evaluation *e, json_t **facts, const collapsed_options *o,
                  const evaluation_settings *set, const subst_model *model, double prior_rate)
{
    work w = {.j = j};
    const run_work face = {&w, save, load, where, true};
    branch_posterior problem = {0};
    char memory[FORMAT_SIZE], table[FORMAT_SIZE];
    session *s = j->run.session;
    const collapsed_settings plan = settings_of(o, j, set);
    *facts = NULL;
    int status =
        branch_posterior_init(&problem, &j->data.alignment, j->data.row, model, prior_rate);
    if (!status)
        status = rounds_create(&w.c, &problem, &j->data.alignment, j->data.row, j->trees, &plan,
                               j->run.threads);
    if (!status)
        log_info(&s->log,
                 "memory: %s so far, the table of trees as it grows, up to %s, and what the answer "
                 "needs (`artreeformer check` tries it)",
                 format_bytes(memory, sizeof memory, peak_memory()),
                 format_bytes(table, sizeof table, (double)o->memory));
    if (!status)
        status = run_resume(&j->run, &face);
    if (!status)
        status = make_rounds(&w, &face);
    if (!status)
        status = make_answer(&w, &face);
    if (!status)
        status = finish(&w, e, facts);
    final_sampling_free(w.a);
    rounds_free(w.c);
    branch_posterior_free(&problem);
    return status;
}
