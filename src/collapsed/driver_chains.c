#include "collapsed/driver_parts.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "collapsed/chain_starts.h"
#include "collapsed/chain_verdict.h"
#include "collapsed/run_facts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const chain_rounds *driver_chain_rounds(const collapsed_run *c)
{
    return c->joint ? &c->joint->rounds : c->chains ? &c->chains->rounds : NULL;
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

/* The chains learn of the peaks among which they may begin. */
static int tell_peaks(collapsed_run *c)
{
    const peak_list *all = tree_search_peaks(c->rounds->search);
    const size_t n_decisions = c->chains->states.n_decisions;
    size_t *number = mem_zeros(all->trees.count + 1, sizeof *number);
    int32_t *decision = mem_zeros(all->trees.count * n_decisions + 1, sizeof *decision);
    int status = number && decision ? ART_OK : ART_ERR_NOMEM;
    if (!status) {
        const size_t n = peak_list_best(number, all, c->set.route.window);
        for (size_t i = 0; i < n; i++)
            memcpy(decision + i * n_decisions, key_table_at(&all->trees, number[i]),
                   n_decisions * sizeof *decision);
        status = chain_stage_set_peaks(c->chains, decision, n);
    }
    free(number);
    free(decision);
    return status;
}

static int start_chains(void *context, const int32_t *decision, const double *length)
{
    collapsed_run *c = context;
    release_search(c);
    int status = create_chains(c);
    if (!status)
        status = tell_peaks(c);
    return status ? status : chain_stage_start(c->chains, decision, length);
}

static int start_joint(void *context, const int32_t *decision, const double *length)
{
    collapsed_run *c = context;
    if (!c->final) /* the table stays where its answer may yet be needed */
        release_search(c);
    const int status = create_joint(c);
    return status ? status : joint_stage_start(c->joint, decision, length);
}

/* Whether there is an answer without these chains. */
static bool has_other_answer(const collapsed_run *c)
{
    return c->final || c->answer;
}

/* Where chains cannot go on because the likelihood is no number, another answer that there is
 * stands. */
static int give_up_joint(collapsed_run *c, int status)
{
    if (status != ART_ERR_NUMERIC || !has_other_answer(c))
        return status;
    joint_stage_free(c->joint);
    c->joint = NULL;
    c->joint_gave_up = true;
    c->way_reported = false;
    return ART_OK;
}

int driver_begin_joint(collapsed_run *c)
{
    c->way_reported = false;
    return give_up_joint(c, chain_starts(&c->rounds->table, c->set.route.window,
                                         c->set.joint.chains, start_joint, c));
}

int driver_begin_chains(collapsed_run *c)
{
    if (c->problem.posterior->n_taxa > c->set.joint.taxa)
        return driver_begin_joint(c);
    c->way_reported = false;
    return chain_starts(&c->rounds->table, c->set.route.window, c->set.chains.chains, start_chains,
                        c);
}

enum { LEAST_TAXA = 4 }; /* of chains: three have one tree */

static bool table_failed(const collapsed_run *c)
{
    return c->final && c->final->stage == FINAL_DONE && !c->is_late &&
           final_sampling_failed(c->final);
}

/* Whether chains that agree have lengths whose weights are no use, and there is time for others. */
static bool lengths_failed(const collapsed_run *c)
{
    if (!c->answer || c->answer->stage != CHAIN_ANSWER_DONE || c->is_cut ||
        driver_is_near_limit(c, driver_final_reserve(c)) ||
        !chains_are_good(chain_rounds_last(&c->chains->rounds), &c->set.judgement))
        return false;
    return chain_answer_lengths_failed(c->answer);
}

bool driver_may_follow(const collapsed_run *c)
{
    return !c->joint && !c->joint_gave_up && c->problem.posterior->n_taxa >= LEAST_TAXA;
}

bool driver_needs_joint(const collapsed_run *c)
{
    return driver_may_follow(c) && !c->finish_now && (table_failed(c) || lengths_failed(c));
}

/* Whether the chains have shown that their target is not well defined: so many blocks did not
 * stand that it is no chance. */
static bool is_ill_defined(const collapsed_run *c)
{
    const joint_stage_settings *set = &c->set.joint;
    if (c->chains->rounds.is_done || c->chains->rounds.blocks < set->trial_blocks)
        return false;
    const double share = chain_stage_returned(c->chains);
    const double blocks = (double)c->chains->rounds.blocks * c->set.chains.chains;
    return share - set->returned_errors * sqrt(share * (1 - share) / blocks) > set->returned;
}

/* Chains with branch lengths go on where the others are. */
static int follow_chains(collapsed_run *c)
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
    c->chains_reported = 0;
    c->way_reported = false;
    return give_up_joint(c, status);
}

/* The same, and the others are done with. */
static int replace_chains(collapsed_run *c)
{
    const int status = follow_chains(c);
    chain_stage_free(c->chains);
    c->chains = NULL;
    return status;
}

static int advance_joint(collapsed_run *c)
{
    const bool is_late = driver_is_near_limit(c, driver_closing_reserve(c)) || c->finish_now;
    if (is_late)
        c->joint->rounds.finish_now = true;
    driver_set_deadline(c, driver_closing_reserve(c));
    const int status = joint_stage_advance(c->joint, &c->stop);
    if (!status && is_late && c->joint->rounds.is_done)
        c->is_cut = true; /* set only at the end: a resumed run may have more time */
    return give_up_joint(c, status);
}

static int advance_chains(collapsed_run *c)
{
    const bool is_late = driver_is_near_limit(c, driver_final_reserve(c));
    if (is_late || c->finish_now) {
        c->is_cut = true;
        c->chains->rounds.finish_now = true;
    }
    driver_set_deadline(c, driver_final_reserve(c));
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
    driver_set_deadline(c, draws ? 0.5 * driver_final_reserve(c) : driver_closing_reserve(c));
    status = chain_answer_advance(c->answer, &c->stop);
    c->is_cut |= c->answer->is_cut;
    return status;
}

int driver_advance_chains(collapsed_run *c)
{
    if (c->joint)
        return advance_joint(c);
    if (is_ill_defined(c))
        return replace_chains(c);
    if (driver_needs_joint(c))
        return follow_chains(c);
    return c->chains->rounds.is_done ? advance_answer(c) : advance_chains(c);
}

int driver_report_chains(collapsed_run *c, run_report *out)
{
    const chain_round *now = &driver_chain_rounds(c)->round[c->chains_reported++];
    if (c->joint)
        joint_round_words(out->text, c->chains_reported, now, c->joint);
    else
        chain_round_words(out->text, c->chains_reported, now, c->chains);
    out->step = (int64_t)now->blocks;
    out->metrics = chain_round_json(now);
    return out->metrics ? ART_OK : ART_ERR_NOMEM;
}

int driver_chain_fields(collapsed_run *c, saved_state *s)
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
        if (has_chains && has_joint && !has_answer)
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
    if (state_loaded(s) && driver_chain_rounds(c))
        c->chains_reported = driver_chain_rounds(c)->count;
    if (!s->status && has_answer)
        chain_answer_fields(c->answer, s);
    return s->status;
}

static int finish_chains(collapsed_run *c, answer *out)
{
    int status = chain_answer_finish(c->answer, &out->evidence, &out->posterior, &c->check);
    if (!status)
        chain_verdict(&out->verdict, &c->check, chain_rounds_last(&c->chains->rounds),
                      &out->evidence, &c->set, c->is_cut, c->is_cut && driver_may_follow(c));
    if (!status && c->joint)
        failed_joint_verdict(&out->verdict, chain_rounds_last(&c->joint->rounds), c->is_cut);
    return status;
}

/* Where chains took over from the table, the evidence is its own, and what it lacks is lacking in
 * the chains too, which began there. */
static int add_table(collapsed_run *c, answer *out)
{
    answer found;
    int status = final_sampling_finish(c->final, &found);
    out->evidence = found.evidence;
    posterior_free(&found.posterior);
    verdict_of_search(&out->verdict, &out->evidence);
    driver_judge_climbs(&out->verdict, c);
    return status;
}

/* The same where they took over from other chains. */
static int add_chains(collapsed_run *c, answer *out)
{
    posterior other;
    int status = chain_answer_finish(c->answer, &out->evidence, &other, &c->check);
    posterior_free(&other);
    draws_verdict(&out->verdict, &c->check, &c->set.judgement, c->is_cut);
    return status;
}

double driver_other_modes(const collapsed_run *c)
{
    return c->final    ? other_modes_share(&c->final->modes)
           : c->answer ? other_modes_share(&c->answer->modes)
                       : 0;
}

static int finish_joint(collapsed_run *c, answer *out)
{
    int status = joint_stage_finish(c->joint, c->problem.names, c->set.sampler.sample,
                                    &out->evidence, &out->posterior);
    if (!status && c->final)
        status = add_table(c, out);
    if (!status && c->answer)
        status = add_chains(c, out);
    joint_verdict(&out->verdict, chain_rounds_last(&c->joint->rounds), &out->evidence, &c->set,
                  driver_other_modes(c) > c->set.modes.left_out, c->is_cut);
    return status;
}

bool driver_joint_failed(const collapsed_run *c)
{
    if (!c->joint || !has_other_answer(c) || !c->joint->rounds.is_done)
        return false;
    const chain_round *last = chain_rounds_last(&c->joint->rounds);
    return !chains_are_good(last, &c->set.judgement) &&
           chain_round_ess(last) <= (c->final ? tree_sampler_ess(c->final->sampler)
                                              : fmin(log_mean_ess(&c->answer->ratio),
                                                     chain_answer_pool_size(c->answer)));
}

int driver_finish_chains(collapsed_run *c, answer *out)
{
    memset(out, 0, sizeof *out);
    verdict_init(&out->verdict);
    const int status =
        c->joint && !driver_joint_failed(c) ? finish_joint(c, out) : finish_chains(c, out);
    if (!c->final) /* the table has its own rule */
        driver_judge_starts(&out->verdict, c);
    return status;
}
