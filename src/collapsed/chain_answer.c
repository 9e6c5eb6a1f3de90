#include "collapsed/chain_answer.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "collapsed/affordable.h"
#include "collapsed/chain_lengths.h"
#include "tree/saved_trees.h"

#include <math.h>
#include <stdlib.h>

enum { LEAST_PIECE = 4 }; /* trees, where each takes longest */

size_t chain_answer_trees(const chain_answer *a)
{
    const chain_states *x = &a->chains->states;
    return a->n_draws + (size_t)x->n_chains * (x->count - chain_stage_fresh(a->chains));
}

pooled_tree chain_answer_tree(const chain_answer *a, size_t i)
{
    const chain_states *x = &a->chains->states;
    if (i < a->n_draws) {
        const double share = (1 - a->bridge.share) / (double)a->n_draws;
        return (pooled_tree){.decision = a->decision + i * chain_answer_decisions(a),
                             .laplace = a->laplace[i],
                             .weight =
                                 share * bridge_weight(&a->bridge, a->laplace[i] - a->log_q[i])};
    }
    const size_t fresh = chain_stage_fresh(a->chains), each = x->count - fresh;
    const size_t k = i - a->n_draws, at = fresh + k % each;
    const int chain = (int)(k / each);
    const double share = a->bridge.share / (double)(each * (size_t)x->n_chains);
    return (pooled_tree){.decision = chain_states_tree(x, chain, at),
                         .laplace = chain_states_value(x, chain, at),
                         .weight = share * bridge_weight(&a->bridge, a->state_weight[k]),
                         .part = posterior_chain_part(chain, k % each, each)};
}

/* Fewer trees where each costs more, by the square of the taxa. */
static int fewer(const collapsed_settings *set, int most, int least, int n_taxa)
{
    const affordable_settings bound = {.taxa = set->affordable.taxa, .least = (size_t)least};
    return (int)affordable_trees(&bound, (size_t)most, n_taxa, 2);
}

int chain_answer_affordable(const chain_answer *a, int most, int least)
{
    return fewer(&a->set, most, least, a->chains->problem->n_taxa);
}

int chain_answer_pass(const collapsed_settings *set, int n_taxa)
{
    return fewer(set, set->answer.draws, set->answer.least_draws, n_taxa);
}

int chain_answer_create(chain_answer **out, chain_stage *chains, const taxa *names,
                        const collapsed_settings *set)
{
    *out = NULL;
    chain_answer *a = mem_zeros(1, sizeof *a);
    if (!a)
        return ART_ERR_NOMEM;
    a->chains = chains;
    a->names = names;
    a->set = *set;
    a->pass_draws = chain_answer_pass(set, chains->problem->n_taxa);
    int status =
        posterior_init(&a->posterior, names, set->sampler.sample, ROWS_BY_WEIGHT, true, set->seed);
    if (!status && chains->problem->free.n_free)
        status = posterior_set_parameters(&a->posterior, &chains->problem->free);
    if (!status)
        status = posterior_set_chains(&a->posterior, chains->set.chains);
    if (status)
        chain_answer_free(a);
    else
        *out = a;
    return status;
}

void chain_answer_free(chain_answer *a)
{
    if (!a)
        return;
    free(a->decision);
    free(a->laplace);
    free(a->log_q);
    free(a->state_weight);
    free(a->pick);
    posterior_free(&a->posterior);
    free(a);
}

void chain_answer_end_lengths(chain_answer *a)
{
    a->end_draws = a->end_lengths = true;
}

static int make_room(chain_answer *a, size_t room)
{
    if (room <= a->room)
        return ART_OK;
    int32_t *decision = mem_resize(a->decision, room * chain_answer_decisions(a), sizeof *decision);
    if (decision)
        a->decision = decision;
    double *laplace = mem_resize(a->laplace, room, sizeof *laplace);
    if (laplace)
        a->laplace = laplace;
    double *log_q = mem_resize(a->log_q, room, sizeof *log_q);
    if (log_q)
        a->log_q = log_q;
    if (!decision || !laplace || !log_q)
        return ART_ERR_NOMEM;
    a->room = room;
    return ART_OK;
}

size_t chain_answer_piece(const chain_answer *a, size_t left)
{
    const size_t n = (size_t)chain_answer_affordable(a, ANSWER_PIECE, LEAST_PIECE);
    return left < n ? left : n;
}

/* Runs `count` jobs, those that there must be whether stop is due or not; returns how many are
 * done. */
static size_t run_jobs(chain_answer *a, evidence_job *job, size_t count, size_t must,
                       const interrupt *stop)
{
    const size_t done = (size_t)evidence_batch_run(a->chains->team, job, (int)count, stop);
    if (done >= must || done == count)
        return done;
    for (size_t i = done; i < must; i++)
        job[i].weights = (log_mean){0};
    evidence_batch_run(a->chains->team, job + done, (int)(must - done), NULL);
    return must;
}

static int draw_trees(chain_answer *a, const interrupt *stop)
{
    const size_t edges = (size_t)a->chains->problem->n_edges, first = a->n_draws;
    const size_t in_pass = (size_t)a->pass_draws, must = (size_t)a->set.answer.late_draws;
    size_t count = chain_answer_piece(a, in_pass - first % in_pass);
    evidence_job job[ANSWER_PIECE];
    double *length = mem_zeros(ANSWER_PIECE * edges, sizeof *length);
    int status = length ? make_room(a, (first / in_pass + 1) * in_pass) : ART_ERR_NOMEM;
    for (size_t i = 0; i < count && !status; i++) {
        int32_t *decision = a->decision + (first + i) * chain_answer_decisions(a);
        rng stream = rng_at(a->set.seed, RNG_PROPOSAL, 0, (uint32_t)(first + i));
        a->log_q[first + i] = tree_proposal_sample(a->chains->proposal, decision, &stream);
        length_guess_fill(length + i * edges, a->chains->guess, decision);
        job[i] = (evidence_job){.decision = decision,
                                .length = length + i * edges,
                                .tolerance = a->set.answer.tolerance,
                                .shape = EVIDENCE_DIAGONAL};
    }
    if (!status)
        count = run_jobs(a, job, count, first < must ? must - first : 0, stop);
    for (size_t i = 0; i < count && !status; i++) {
        a->failed += job[i].status != ART_OK;
        a->laplace[first + i] = job[i].status ? -HUGE_VAL : job[i].laplace;
        log_mean_add(&a->mean, a->laplace[first + i] - a->log_q[first + i]);
    }
    if (!status)
        a->n_draws += count;
    free(length);
    return status;
}

int chain_answer_bridge(bridge_estimate *out, const chain_answer *a)
{
    double *weight = mem_zeros(a->n_draws + 1, sizeof *weight);
    if (!weight)
        return ART_ERR_NOMEM;
    for (size_t i = 0; i < a->n_draws; i++)
        weight[i] = a->laplace[i] - a->log_q[i];
    int status = chain_stage_bridge(out, a->chains, weight, a->n_draws, (double)a->n_draws);
    free(weight);
    return status;
}

/* After a pass: whether it was the last. Half of the variance that is wanted is left to the trees
 * that are picked; and draws cannot make up for states that are too few. */
static int is_enough(chain_answer *a, bool *enough)
{
    const chain_answer_settings *set = &a->set.answer;
    const int passes = (int)(a->n_draws / (size_t)a->pass_draws);
    int status = chain_answer_bridge(&a->bridge, a);
    const bridge_estimate *b = &a->bridge;
    *enough = passes >= set->passes ||
              (passes >= set->least_passes &&
               (b->error <= a->set.error * M_SQRT1_2 || b->draw_error <= b->state_error / 2 ||
                log_mean_ess(&a->mean) < set->hopeless));
    return status;
}

int chain_answer_advance(chain_answer *a, const interrupt *stop)
{
    bool enough = false;
    int status = ART_OK;
    switch (a->stage) {
    case CHAIN_ANSWER_DRAWS:
        status = draw_trees(a, stop);
        a->end_draws |= interrupt_is_due(stop);
        if (!status && a->n_draws % (size_t)a->pass_draws == 0)
            status = is_enough(a, &enough);
        a->is_cut |= a->end_draws && !enough;
        return status || !(enough || a->end_draws) ? status : chain_lengths_begin(a);
    case CHAIN_ANSWER_LENGTHS:
        return chain_lengths_advance(a, stop);
    case CHAIN_ANSWER_DONE:
        break;
    }
    return status;
}

bool chain_answer_lengths_failed(const chain_answer *a)
{
    const double k = chain_answer_pareto(a);
    return other_modes_share(&a->modes) > a->set.modes.left_out ||
           (k >= a->set.joint.pareto_k && k < HUGE_VAL); /* of too few it says nothing */
}

double chain_answer_error(const chain_answer *a)
{
    const double trees = a->bridge.states > 0 ? a->bridge.error : HUGE_VAL;
    return hypot(trees, a->ratio.count > 1 ? log_mean_error(&a->ratio) : 0);
}

int chain_answer_fields(chain_answer *a, saved_state *s)
{
    const size_t before = state_group(s, "answer");
    bool picks = a->stage != CHAIN_ANSWER_DRAWS, is_done = a->stage == CHAIN_ANSWER_DONE;
    state_bool(s, "picks", &picks);
    state_bool(s, "is_done", &is_done);
    state_i64_in(s, "failed", &a->failed, 0, INT64_MAX);
    state_log_mean(s, "mean", &a->mean);
    a->n_draws = state_rows(s, "laplace", a->n_draws, 1);
    if (state_loaded(s))
        state_fail(s, make_room(a, a->n_draws + (size_t)a->pass_draws));
    if (!s->status) {
        state_trees(s, "decision", a->decision, a->n_draws, a->chains->problem->n_taxa);
        state_log_array(s, "laplace", a->laplace, a->n_draws, 1);
        state_f64_array(s, "log_q", a->log_q, a->n_draws, 1);
    }
    if (!s->status && picks)
        chain_lengths_fields(a, s);
    if (state_loaded(s) && is_done && a->next == 0)
        state_refuse(s, "results without a single tree");
    else if (state_loaded(s) && is_done)
        a->stage = CHAIN_ANSWER_DONE;
    state_group_end(s, before);
    return s->status;
}
