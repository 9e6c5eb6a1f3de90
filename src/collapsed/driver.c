#include "collapsed/driver.h"

#include "artreeformer.h"
#include "base/host.h"
#include "base/mem.h"
#include "collapsed/chain_starts.h"
#include "collapsed/chain_verdict.h"
#include "collapsed/driver_progress.h"
#include "collapsed/run_facts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_near_limit(const collapsed_run *c, double reserve)
{
    const double limit = c->base.time_limit;
    return limit > 0 && c->base.seconds >= limit - reserve;
}

/* Seconds of the limit that are left for the final sampling. */
static double final_reserve(const collapsed_run *c)
{
    const double limit = c->base.time_limit;
    const limit_settings *set = &c->set.limit;
    const double usual =
        fmax(set->answer_least * limit, fmin(set->answer_seconds, set->answer_most * limit));
    return fmax(usual, fmin(c->pass_seconds, set->answer_measured * limit));
}

/* Seconds of the limit that are left for summaries and files. */
static double closing_reserve(const collapsed_run *c)
{
    const limit_settings *set = &c->set.limit;
    const double limit = c->base.time_limit;
    return fmin(set->closing_seconds, set->closing_share * limit) +
           fmin(set->closing_taxon * c->problem.posterior->n_taxa, set->taxon_share * limit);
}

/* Weighing trees costs about what drawing from them will, and new trees of the round. */
static void note_cost(collapsed_run *c, double seconds)
{
    const rounds *r = c->rounds;
    const double trees = final_pass_trees(r) + (r->stage == ROUNDS_FIT ? r->set.rounds.draws : 0);
    if (r->improved >= c->set.limit.measured_trees)
        c->pass_seconds = seconds / (double)r->improved * trees;
}

/* What a piece of work can do without ends when only `reserve` seconds of a time limit are left. */
static void set_deadline(collapsed_run *c, double reserve)
{
    const double limit = c->base.time_limit, left = limit - reserve - c->base.seconds;
    c->stop.deadline = limit > 0 ? clock_seconds() + fmax(left, 0) : HUGE_VAL;
}

/* The reserve of a stage that has this share of the limit. */
static double rest(const collapsed_run *c, double share)
{
    return (1 - share) * c->base.time_limit;
}

static int advance_parameters(collapsed_run *c, diag *d)
{
    set_deadline(c, rest(c, c->finish_now ? 0 : c->set.route.search_share / 2));
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
    set_deadline(c, is_first ? rest(c, c->set.route.search_share) : final_reserve(c));
    if (is_near_limit(c, final_reserve(c))) {
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
    if (is_near_limit(c, 0))
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
    if (is_near_limit(c, rest(c, c->set.route.search_share)))
        return true;
    return n->starts >= r->set.search.starts &&
           (c->problem.posterior->n_taxa > c->set.route.table_taxa ||
            (n->expanded >= c->set.route.expansions &&
             tree_search_unexpanded(r->search) > rounds_open_share(r)));
}

static int create_chains(collapsed_run *c)
{
    return chain_stage_create(&c->chains, c->problem.posterior, &c->set.chains, c->set.seed,
                              c->rounds->team, c->rounds->threads);
}

static int create_joint(collapsed_run *c)
{
    return joint_stage_create(&c->joint, c->problem.posterior, &c->set.joint, c->set.seed,
                              c->rounds->threads);
}

/* Chains and checkpoints do without the search and its table: their memory is for the chains. */
static void release_search(collapsed_run *c)
{
    tree_table_clear(&c->rounds->table);
    tree_search_release(c->rounds->search);
}

static int start_chains(void *context, const int32_t *decision, const double *length)
{
    collapsed_run *c = context;
    release_search(c);
    const int status = create_chains(c);
    return status ? status : chain_stage_start(c->chains, decision, length);
}

static int start_joint(void *context, const int32_t *decision, const double *length)
{
    collapsed_run *c = context;
    release_search(c);
    const int status = create_joint(c);
    return status ? status : joint_stage_start(c->joint, decision, length);
}

static int begin_chains(collapsed_run *c)
{
    const bool is_joint = c->problem.posterior->n_taxa > c->set.joint.taxa;
    c->way_reported = false;
    return chain_starts(&c->rounds->table, c->set.route.window,
                        is_joint ? c->set.joint.chains : c->set.chains.chains,
                        is_joint ? start_joint : start_chains, c);
}

/* Whether the chains have shown that their target is not well defined. */
static bool is_ill_defined(const collapsed_run *c)
{
    return !c->chains->rounds.is_done && c->chains->rounds.blocks >= c->set.joint.trial_blocks &&
           chain_stage_returned(c->chains) > c->set.joint.returned;
}

/* Chains with branch lengths go on where the others are. */
static int begin_joint(collapsed_run *c)
{
    const size_t n = (size_t)c->set.joint.chains, edges = (size_t)c->problem.posterior->n_edges;
    const size_t n_decisions = c->chains->states.n_decisions;
    double *length = mem_zeros(n * edges, sizeof *length);
    int32_t *decision = mem_zeros(n * n_decisions, sizeof *decision);
    int status = length && decision ? create_joint(c) : ART_ERR_NOMEM;
    for (size_t i = 0; i < n && !status; i++) {
        const tree_chain *from = tree_chains_at(c->chains->chains, (int)i % c->set.chains.chains);
        tree_chain_lengths(length + i * edges, from);
        memcpy(decision + i * n_decisions, tree_chain_decision(from),
               n_decisions * sizeof *decision);
    }
    if (!status)
        status = joint_stage_start(c->joint, decision, length);
    free(length);
    free(decision);
    chain_stage_free(c->chains);
    c->chains = NULL;
    c->chains_reported = 0;
    c->way_reported = false;
    return status;
}

static int advance_joint(collapsed_run *c)
{
    if (is_near_limit(c, closing_reserve(c)) || c->finish_now) {
        c->is_cut = true;
        c->joint->rounds.finish_now = true;
    }
    set_deadline(c, closing_reserve(c));
    return joint_stage_advance(c->joint, &c->stop);
}

static int advance_chains(collapsed_run *c)
{
    const bool is_late = is_near_limit(c, final_reserve(c));
    if (is_late || c->finish_now) {
        c->is_cut = true;
        c->chains->rounds.finish_now = true;
    }
    set_deadline(c, final_reserve(c));
    int status = chain_stage_advance(c->chains, &c->stop);
    if (!status && c->chains->rounds.count)
        c->value = chain_rounds_last(&c->chains->rounds)->log_sum -
                   log_topologies(c->problem.posterior->n_taxa) +
                   branch_posterior_parameter_term(c->problem.posterior);
    return status;
}

static int begin_answer(collapsed_run *c)
{
    return chain_answer_create(&c->answer, c->chains, c->problem.names, &c->set);
}

static int advance_answer(collapsed_run *c)
{
    int status = c->answer ? ART_OK : begin_answer(c);
    if (status)
        return status;
    const bool draws = c->answer->stage == CHAIN_ANSWER_DRAWS;
    if (c->finish_now)
        chain_answer_end_lengths(c->answer);
    set_deadline(c, draws ? 0.5 * final_reserve(c) : closing_reserve(c));
    return chain_answer_advance(c->answer, &c->stop);
}

static int advance(run *r, diag *d)
{
    collapsed_run *c = (collapsed_run *)r;
    if (c->parameters)
        return advance_parameters(c, d);
    if (c->joint)
        return advance_joint(c);
    if (!c->chains && (is_diffuse(c) || is_incomplete(c)))
        return begin_chains(c);
    if (c->chains && is_ill_defined(c))
        return begin_joint(c);
    if (c->chains)
        return c->chains->rounds.is_done ? advance_answer(c) : advance_chains(c);
    return c->rounds->stage == ROUNDS_DONE ? advance_final(c, d) : advance_rounds(c, d);
}

static posterior_way way_of(const collapsed_run *c)
{
    return c->joint ? WAY_JOINT : c->chains ? WAY_CHAINS : WAY_TABLE;
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

/* NULL if there are no chains. */
static const chain_rounds *chain_rounds_of(const collapsed_run *c)
{
    return c->joint ? &c->joint->rounds : c->chains ? &c->chains->rounds : NULL;
}

static int report_chains(collapsed_run *c, run_report *out)
{
    const chain_round *now = &chain_rounds_of(c)->round[c->chains_reported++];
    if (c->joint)
        joint_round_words(out->text, c->chains_reported, now, c->joint);
    else
        chain_round_words(out->text, c->chains_reported, now, c->chains);
    out->step = (int64_t)now->blocks;
    out->metrics = chain_round_json(now);
    return out->metrics ? ART_OK : ART_ERR_NOMEM;
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
    const chain_rounds *chains = chain_rounds_of(c);
    if (chains && c->chains_reported < chains->count)
        return report_chains(c, out);
    if (way_of(c) == WAY_TABLE && c->reported < c->rounds->n_rounds)
        return report_round(c, out);
    report_way(c, out);
    return ART_OK;
}

static int chain_fields(collapsed_run *c, saved_state *s)
{
    bool has_chains = c->chains != NULL, has_answer = c->answer != NULL;
    bool has_joint = c->joint != NULL;
    state_bool(s, "chains.has_begun", &has_chains);
    state_bool(s, "answer.has_begun", &has_answer);
    state_bool(s, "joint.has_begun", &has_joint);
    if (state_loaded(s)) {
        chain_answer_free(c->answer);
        chain_stage_free(c->chains);
        joint_stage_free(c->joint);
        c->answer = NULL;
        c->chains = NULL;
        c->joint = NULL;
        if (has_chains && has_joint)
            state_refuse(s, "two kinds of chains");
        state_fail(s, has_chains ? create_chains(c) : ART_OK);
        state_fail(s, has_joint ? create_joint(c) : ART_OK);
    }
    if (!s->status && has_joint)
        joint_stage_fields(c->joint, s);
    if (!s->status && has_chains)
        chain_stage_fields(c->chains, s);
    if (state_loaded(s) && has_answer && !(has_chains && c->chains->rounds.is_done))
        state_refuse(s, "results of chains that have not ended");
    else if (state_loaded(s) && has_answer)
        state_fail(s, begin_answer(c));
    if (state_loaded(s) && chain_rounds_of(c))
        c->chains_reported = chain_rounds_of(c)->count;
    if (!s->status && has_answer)
        chain_answer_fields(c->answer, s);
    return s->status;
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
    return s->status ? s->status : chain_fields(c, s);
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

/* Peaks of weight that few climbs have found tell of others that none has. */
static void judge_climbs(verdict *v, const collapsed_run *c)
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

static int finish_table(collapsed_run *c, answer *out)
{
    int status = final_sampling_finish(c->final, out);
    const round_figures *last = &c->rounds->round[c->rounds->n_rounds - 1];
    const bool criteria_hold = last->done != 0 && out->evidence.log_evidence_se <= c->set.error;
    verdict_init(&out->verdict);
    out->evidence.cut = c->is_cut && !criteria_hold;
    verdict_of_evidence(&out->verdict, &out->evidence);
    judge_climbs(&out->verdict, c);
    return status;
}

static int finish_chains(collapsed_run *c, answer *out)
{
    memset(out, 0, sizeof *out);
    int status = chain_answer_finish(c->answer, &out->evidence, &out->posterior, &c->check);
    verdict_init(&out->verdict);
    if (!status)
        chain_verdict(&out->verdict, &c->check, chain_rounds_last(&c->chains->rounds),
                      &out->evidence, &c->set, c->is_cut);
    return status;
}

static int finish_joint(collapsed_run *c, answer *out)
{
    memset(out, 0, sizeof *out);
    int status = joint_stage_finish(c->joint, c->problem.names, c->set.sampler.sample,
                                    &out->evidence, &out->posterior);
    verdict_init(&out->verdict);
    joint_verdict(&out->verdict, chain_rounds_last(&c->joint->rounds), &c->set);
    return status;
}

bool collapsed_run_has_network(const run *r)
{
    return way_of((const collapsed_run *)r) == WAY_TABLE;
}

int collapsed_run_finish(run *r, answer *out)
{
    collapsed_run *c = (collapsed_run *)r;
    return c->joint    ? finish_joint(c, out)
           : c->chains ? finish_chains(c, out)
                       : finish_table(c, out);
}

json_t *collapsed_run_facts(const run *r, const answer *found)
{
    const collapsed_run *c = (const collapsed_run *)r;
    return c->joint    ? joint_facts(c->rounds, c->joint, found)
           : c->chains ? chain_facts(c->rounds, c->chains, &c->check, found)
                       : table_facts(c->rounds, found);
}
