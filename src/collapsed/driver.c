#include "collapsed/driver.h"

#include "artreeformer.h"
#include "base/host.h"
#include "base/mem.h"
#include "collapsed/chain_verdict.h"
#include "collapsed/driver_parts.h"
#include "collapsed/run_facts.h"
#include "io/json_number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Weighing trees costs about what drawing from them will, and new trees of the round. */
static void note_cost(collapsed_run *c, double seconds)
{
    const rounds *r = c->rounds;
    const double trees = final_pass_trees(r) + (r->stage == ROUNDS_FIT ? r->set.rounds.draws : 0);
    if (r->improved >= c->set.limit.measured_trees)
        c->pass_seconds = seconds / (double)r->improved * trees;
}

static int advance_parameters(collapsed_run *c, diag *d)
{
    driver_set_deadline(c, driver_rest(c, c->finish_now ? 0 : c->set.route.search_share / 2));
    int status = parameter_stage_advance(c->parameters, &c->stop);
    if (status == ART_ERR_NUMERIC)
        return diag_error(d, status, (diag_place){0},
                          "no parameters of the substitution model were found at which the data "
                          "have a likelihood -- fix some of them by numbers in braces");
    if (!status && c->parameters->is_done) {
        tree_table_set_offset(&c->rounds->table,
                              branch_posterior_parameter_term(c->problem.posterior));
        parameter_stage_free(c->parameters);
        c->parameters = NULL;
    }
    return status;
}

static int advance_rounds(collapsed_run *c, diag *d)
{
    const rounds_stage stage = c->rounds->stage;
    const double begun = clock_seconds();
    const bool is_first = stage == ROUNDS_EXPLORE && c->rounds->n_rounds == 0;
    driver_set_deadline(c, is_first ? driver_rest(c, c->set.route.search_share)
                                    : driver_final_reserve(c));
    if (driver_is_near_limit(c, driver_final_reserve(c))) {
        c->is_cut = true;
        rounds_finish_now(c->rounds);
    }
    int status = rounds_advance(c->rounds, d);
    if (!status && stage == ROUNDS_IMPROVE)
        note_cost(c, clock_seconds() - begun);
    if (!status && stage != ROUNDS_FIT && stage != ROUNDS_POLISH && c->rounds->table.count)
        c->value = rounds_log_table(c->rounds);
    return status;
}

static int begin_final(collapsed_run *c)
{
    return final_sampling_create(&c->final, c->rounds, c->problem.branches, c->problem.names);
}

static int advance_final(collapsed_run *c, diag *d)
{
    int status = c->final ? ART_OK : begin_final(c);
    if (driver_is_near_limit(c, 0))
        c->is_late = true;
    if (!status && (c->is_late || c->finish_now))
        final_sampling_finish_now(c->final);
    if (!status)
        status = final_sampling_advance(c->final, d);
    if (!status && c->final->stage == FINAL_DONE && c->is_late)
        c->is_cut = true; /* set only at the end: a resumed run may have more time */
    return status;
}

/* ---- diffuse posteriors ---- */

/* Whether the rounds have ended with a table that lacks trees of weight. */
static bool is_incomplete(const collapsed_run *c)
{
    const rounds *r = c->rounds;
    return r->stage == ROUNDS_DONE && !c->final && !c->is_cut && !c->finish_now &&
           !rounds_is_complete(r, &r->round[r->n_rounds - 1]);
}

/* Whether the search has shown, in its first round, that no table will hold the posterior; or has
 * taken its share of a time limit. */
static bool is_diffuse(const collapsed_run *c)
{
    const rounds *r = c->rounds;
    const search_counts *n = tree_search_counts(r->search);
    if (r->stage != ROUNDS_EXPLORE || r->n_rounds > 0 || r->table.count == 0)
        return false;
    if (driver_is_near_limit(c, driver_rest(c, c->set.route.search_share)))
        return true;
    return n->starts >= r->set.search.starts &&
           ((c->problem.posterior->n_taxa > c->set.route.table_taxa &&
             !tree_search_is_starting(r->search)) ||
            (n->expanded >= c->set.route.expansions &&
             tree_search_unexpanded(r->search) > rounds_open_share(r)));
}

/* Whether other peaks are looked for around the best ones before chains begin there. */
static bool shakes_first(const collapsed_run *c)
{
    return !c->finish_now && !driver_is_near_limit(c, driver_rest(c, c->set.route.search_share)) &&
           tree_search_wants_shakes(c->rounds->search);
}

static int advance(run *r, diag *d)
{
    collapsed_run *c = (collapsed_run *)r;
    if (c->parameters)
        return advance_parameters(c, d);
    if (c->chains || c->joint)
        return driver_advance_chains(c);
    if (driver_needs_joint(c))
        return driver_begin_joint(c);
    if (is_diffuse(c) || is_incomplete(c))
        return shakes_first(c) ? tree_search_shake(c->rounds->search) : driver_begin_chains(c);
    return c->rounds->stage == ROUNDS_DONE ? advance_final(c, d) : advance_rounds(c, d);
}

static posterior_way way_of(const collapsed_run *c)
{
    if (c->joint && !driver_joint_failed(c))
        return c->final ? WAY_TABLE_THEN_JOINT : c->answer ? WAY_CHAINS_THEN_JOINT : WAY_JOINT;
    return c->chains ? WAY_CHAINS : WAY_TABLE;
}

/* Which way was chosen and why, once that is known. */
static void report_way(collapsed_run *c, run_report *out)
{
    const rounds *r = c->rounds;
    if (c->way_reported || (way_of(c) == WAY_TABLE && r->stage == ROUNDS_EXPLORE && !r->n_rounds))
        return;
    c->way_reported = true; /* a table that proves incomplete is a case of its own: begin_chains */
    way_words(out->text, r, way_of(c), r->finish_now);
}

/* The criteria and their values, for every round. */
static int report_round(collapsed_run *c, run_report *out)
{
    const round_figures *now = &c->rounds->round[c->reported++];
    round_words(out->text, c->reported, now, &c->set);
    out->step = (int64_t)now->steps;
    out->metrics = round_json(now);
    return out->metrics ? ART_OK : ART_ERR_NOMEM;
}

static int report(run *r, run_report *out)
{
    collapsed_run *c = (collapsed_run *)r;
    *out = (run_report){0};
    if (!c->parameters && !c->centre_reported && c->problem.posterior->free.n_free) {
        c->centre_reported = true;
        parameter_words(out->text, c->problem.posterior);
        return ART_OK;
    }
    const chain_rounds *chains = driver_chain_rounds(c);
    if (chains && c->chains_reported < chains->count)
        return driver_report_chains(c, out);
    if (way_of(c) == WAY_TABLE && c->reported < c->rounds->n_rounds)
        return report_round(c, out);
    report_way(c, out);
    return ART_OK;
}

static int fields(run *r, saved_state *s)
{
    collapsed_run *c = (collapsed_run *)r;
    bool has_final = c->final != NULL, has_centre = c->parameters == NULL;
    state_bool(s, "parameters.are_known", &has_centre);
    parameter_centre_fields(c->problem.posterior, has_centre, s);
    if (state_loaded(s) && has_centre) {
        parameter_stage_free(c->parameters);
        c->parameters = NULL;
    }
    rounds_fields(c->rounds, s);
    state_bool(s, "final.has_begun", &has_final);
    state_bool(s, "final.is_cut", &c->is_cut);
    if (state_loaded(s)) {
        c->reported = c->rounds->n_rounds;
        if (c->rounds->table.count)
            c->value = rounds_log_table(c->rounds);
        final_sampling_free(c->final); /* of a loading that failed */
        c->final = NULL;
        if (has_final && c->rounds->stage != ROUNDS_DONE)
            state_refuse(s, "final sampling, but the rounds have not ended");
        else if (has_final)
            state_fail(s, begin_final(c));
    }
    if (!s->status && has_final)
        final_sampling_fields(c->final, s);
    return s->status ? s->status : driver_chain_fields(c, s);
}

static void finish_now(run *r)
{
    collapsed_run *c = (collapsed_run *)r;
    c->finish_now = true;
    rounds_finish_now(c->rounds);
}

static void free_run(run *r)
{
    collapsed_run *c = (collapsed_run *)r;
    parameter_stage_free(c->parameters);
    chain_answer_free(c->answer);
    chain_stage_free(c->chains);
    joint_stage_free(c->joint);
    final_sampling_free(c->final);
    rounds_free(c->rounds);
    free(c);
}

static const run_ops OPS = {advance, driver_progress, report, fields, finish_now, free_run};

int collapsed_run_create(run **out, const collapsed_problem *problem,
                         const collapsed_settings *settings, pool *threads)
{
    *out = NULL;
    collapsed_run *c = mem_zeros(1, sizeof *c);
    if (!c)
        return ART_ERR_NOMEM;
    c->base = (run){.ops = &OPS, .keeps_time_limit = true};
    c->problem = *problem;
    c->set = *settings;
    if (problem->posterior->n_taxa > settings->route.table_taxa) {
        c->set.search.starts = settings->route.starts;
        c->set.search.start_batch = settings->route.start_batch;
    }
    /* a search that may leave so much open will find as much in the draws; unless less is wanted */
    if (problem->posterior->free.n_free && settings->rounds.new_mass >= DEFAULT_NEW_MASS)
        c->set.rounds.new_mass = fmax(settings->rounds.new_mass, settings->route.open);
    c->set.chains.planned_draws =
        settings->answer.least_passes * chain_answer_pass(settings, problem->posterior->n_taxa);
    c->set.chains.error = settings->error * M_SQRT1_2; /* half of the variance is for the draws */
    c->value = NAN;
    interrupt_init(&c->stop);
    int status = rounds_create(&c->rounds, problem->posterior, problem->alignment, problem->taxon,
                               problem->trees, &c->set, threads);
    if (!status && problem->posterior->free.n_free)
        status = parameter_stage_create(&c->parameters, problem->posterior, problem->alignment,
                                        problem->taxon, &c->set.search, c->set.seed);
    if (status) {
        rounds_free(c->rounds);
        free(c);
        return status;
    }
    rounds_set_stop(c->rounds, &c->stop);
    *out = &c->base;
    return ART_OK;
}

void driver_judge_climbs(verdict *v, const collapsed_run *c)
{
    const double missing = tree_search_missing(c->rounds->search);
    if (!(missing > c->set.search.missing)) /* NaN: the search is unfinished anyway */
        return;
    verdict_warn(v, missing > c->set.judgement.missing,
                 "Peaks of the posterior were found by only a few of %lld searches, so others may "
                 "have been missed: about %.2g of the posterior. The errors of splits allow for "
                 "that, that of the log marginal likelihood does not. Compare another seed.",
                 (long long)tree_search_counts(c->rounds->search)->starts, missing);
}

void driver_judge_starts(verdict *v, const collapsed_run *c)
{
    const tree_search *x = c->rounds->search;
    const double missing = tree_search_unfound(x);
    const bool is_fatal = missing > c->set.judgement.missing;
    const long long climbs = (long long)peak_list_climbs(tree_search_peaks(x));
    if (missing <= c->set.search.missing)
        return;
    if (climbs == 0)
        verdict_warn(v, true,
                     "The search for trees ended before one of its climbs from a random tree was "
                     "done, so better trees may exist where no chain has been. Allow more time.");
    else if (!tree_search_is_rugged(x))
        verdict_warn(v, is_fatal,
                     "Only %lld climbs from random trees were done in the search for trees, too "
                     "few to tell whether better trees exist where no chain has been. Allow more "
                     "time, or compare another seed.",
                     climbs);
    else
        verdict_warn(v, is_fatal,
                     "Of %lld searches that began at random trees few came near the best tree, as "
                     "if %.1f had found it, so trees as good or better may exist where no chain "
                     "has been. Allow more time, and compare another seed.",
                     climbs, tree_search_found(x));
}

static int finish_table(collapsed_run *c, answer *out)
{
    int status = final_sampling_finish(c->final, out);
    const round_figures *last = &c->rounds->round[c->rounds->n_rounds - 1];
    const bool criteria_hold = last->done != 0 && out->evidence.log_evidence_se <= c->set.error;
    verdict_init(&out->verdict);
    out->evidence.cut = c->is_cut && !criteria_hold;
    verdict_of_evidence(&out->verdict, &out->evidence, verdict_remedy(c->is_cut));
    driver_judge_climbs(&out->verdict, c);
    modes_verdict(&out->verdict, driver_other_modes(c), &c->set.modes,
                  c->is_cut && driver_may_follow(c));
    if (c->joint)
        failed_joint_verdict(&out->verdict, chain_rounds_last(&c->joint->rounds), c->is_cut);
    return status;
}

bool collapsed_run_has_network(const run *r)
{
    return ((const collapsed_run *)r)->final != NULL;
}

int collapsed_run_finish(run *r, answer *out)
{
    collapsed_run *c = (collapsed_run *)r;
    return way_of(c) == WAY_TABLE ? finish_table(c, out) : driver_finish_chains(c, out);
}

json_t *collapsed_run_facts(const run *r, const answer *found)
{
    const collapsed_run *c = (const collapsed_run *)r;
    const posterior_way way = way_of(c);
    json_t *out = way == WAY_TABLE    ? table_facts(c->rounds, found)
                  : way == WAY_CHAINS ? chain_facts(c->rounds, c->chains, &c->check, found)
                                      : joint_facts(c->rounds, way, c->joint, found);
    if (out && (c->final || c->answer) &&
        json_set_number(out, "other_modes_share", driver_other_modes(c))) {
        json_decref(out);
        out = NULL;
    }
    return out;
}
