#include "collapsed/joint_stage.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "collapsed/chain_splits.h"
#include "tree/saved_trees.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 64 }; /* states that are added to the posterior at a time */

int joint_stage_block(const joint_stage_settings *set, int n_taxa)
{
    int64_t steps = set->chain.block;
    if (n_taxa > set->most_whole)
        steps = steps * set->most_whole / n_taxa;
    else if (n_taxa < set->least_whole)
        steps = steps * n_taxa / set->least_whole;
    return steps > set->least_block ? (int)steps : set->least_block;
}

/* Steps of the parameters in a block, each of which takes the time of a number of others that grows
 * with the taxa. */
static int parameter_steps(const joint_stage_settings *set, int block, int n_taxa)
{
    const int steps = block * set->parameter_taxa / n_taxa;
    return steps > set->chain.parameters ? steps : set->chain.parameters;
}

static int create_chains(joint_stage *s)
{
    joint_settings chain = s->set.chain;
    chain.block = joint_stage_block(&s->set, s->problem->n_taxa);
    chain.parameters = parameter_steps(&s->set, chain.block, s->problem->n_taxa);
    int status = ART_OK;
    for (int i = 0; i < s->set.chains && !status; i++)
        status = joint_chain_create(&s->chain[i], s->problem, &chain);
    return status;
}

int joint_stage_create(joint_stage **out, const branch_posterior *problem,
                       const joint_stage_settings *set, uint64_t seed, pool *threads)
{
    *out = NULL;
    if (set->chains < 2 || set->chains > CHAINS_MOST || !chain_rounds_are_valid(&set->rounds) ||
        set->room.most < 16)
        return ART_ERR_USAGE;
    joint_stage *s = mem_zeros(1, sizeof *s);
    if (!s)
        return ART_ERR_NOMEM;
    s->problem = problem;
    s->set = *set;
    s->seed = seed;
    s->threads = threads;
    s->rounds = chain_rounds_first(&set->rounds);
    s->chain = mem_zeros((size_t)set->chains, sizeof *s->chain);
    s->status = mem_zeros((size_t)set->chains, sizeof *s->status);
    s->length = mem_zeros((size_t)problem->n_edges, sizeof *s->length);
    int status = s->chain && s->status && s->length
                     ? chain_states_init(&s->states, problem, set->chains, &set->room, true)
                     : ART_ERR_NOMEM;
    if (!status)
        status = create_chains(s);
    if (status)
        joint_stage_free(s);
    else
        *out = s;
    return status;
}

void joint_stage_free(joint_stage *s)
{
    if (!s)
        return;
    for (int i = 0; s->chain && i < s->set.chains; i++)
        joint_chain_free(s->chain[i]);
    free(s->chain);
    free(s->status);
    free(s->length);
    chain_states_free(&s->states);
    free(s);
}

size_t joint_stage_memory(const branch_posterior *p, const joint_stage_settings *set)
{
    const size_t each = joint_chain_memory(p, &set->chain);
    return (size_t)set->chains * each + set->room.memory;
}

int joint_stage_start(joint_stage *s, const int32_t *decision, const double *length)
{
    int status = ART_OK;
    for (int i = 0; i < s->set.chains && !status; i++)
        status = joint_chain_start(s->chain[i], decision + (size_t)i * s->states.n_decisions,
                                   length + (size_t)i * s->states.n_edges);
    return status;
}

/* ---- the chains ---- */

static void run_block(void *context, int task, int worker)
{
    joint_stage *s = context;
    (void)worker;
    s->status[task] = joint_chain_block(s->chain[task], s->seed, (uint32_t)task, s->stop);
}

/* Keeps the states that the chains have. */
static void keep_states(joint_stage *s)
{
    for (int i = 0; i < s->set.chains; i++) {
        const joint_chain *c = s->chain[i];
        joint_chain_lengths(s->length, c);
        chain_states_keep(&s->states, &(kept_state){.chain = i,
                                                    .block = s->rounds.blocks,
                                                    .decision = joint_chain_decision(c),
                                                    .value = joint_chain_log_likelihood(c),
                                                    .length = s->length,
                                                    .parameter = joint_chain_parameters(c)});
    }
}

static int run_blocks(joint_stage *s)
{
    chain_rounds *x = &s->rounds;
    const int64_t piece = x->blocks + chain_piece_blocks(s->problem);
    const int64_t end = piece < x->wanted ? piece : x->wanted;
    do {
        pool_run(s->threads, s->set.chains, run_block, s);
        for (int i = 0; i < s->set.chains; i++)
            if (s->status[i])
                return s->status[i];
        x->blocks++;
        keep_states(s);
    } while (x->blocks < end && !interrupt_is_due(s->stop));
    return ART_OK;
}

bool joint_stage_is_enough(const joint_stage *s, const chain_round *r)
{
    return chain_round_agrees(r, &s->set.rounds) && chain_round_ess(r) >= s->set.ess;
}

static int end_round(joint_stage *s)
{
    chain_round r = {.blocks = (double)s->rounds.blocks, .log_sum = NAN, .error = HUGE_VAL};
    const int status = chain_round_compare(&r, &s->states, s->problem->n_taxa);
    if (!status)
        chain_rounds_end(&s->rounds, &s->set.rounds, &r, joint_stage_is_enough(s, &r));
    return status;
}

int joint_stage_advance(joint_stage *s, const interrupt *stop)
{
    if (s->rounds.is_done)
        return ART_OK;
    s->stop = stop;
    return chain_rounds_is_over(&s->rounds, &s->set.rounds, s->states.count) ? end_round(s)
                                                                             : run_blocks(s);
}

/* ---- the posterior ---- */

static int add_states(posterior *out, const joint_stage *s, int chain)
{
    const branch_posterior *p = s->problem;
    const chain_states *x = &s->states;
    particles batch = {0};
    int status = particles_init(&batch, BATCH, p->n_taxa, 0);
    if (!status)
        status = particles_add_parameters(&batch, p->free.n_free);
    const size_t first = chain_states_first(x);
    size_t next = first;
    while (!status && next < x->count) {
        for (batch.k = 0; batch.k < BATCH && next < x->count; batch.k++, next++) {
            const size_t at = chain_states_at(x, chain, next), to = (size_t)batch.k;
            const int32_t *decision = x->decision + at * x->n_decisions;
            const double *length = x->length + at * x->n_edges;
            const double *z = x->parameter + at * x->n_free;
            memcpy(batch.decision + to * x->n_decisions, decision,
                   x->n_decisions * sizeof *decision);
            memcpy(batch.length + to * x->n_edges, length, x->n_edges * sizeof *length);
            if (x->n_free)
                memcpy(batch.parameter + to * x->n_free, z, x->n_free * sizeof *z);
            batch.value[to] = x->value[at];
            batch.part[to] = posterior_chain_part(chain, next - first, x->count - first);
            batch.log_prior[to] = log_prior(decision, length, p->n_taxa, p->prior) +
                                  block_parameters_stated_prior(&p->free, z);
            batch.log_weight[to] = batch.log_q[to] = batch.log_b[to] = 0;
        }
        status = posterior_add(out, &batch);
    }
    particles_free(&batch);
    return status;
}

/* The share of the posterior that the topologies have that were met: Good and Turing's estimate, by
 * how many were met once. */
static double share_met(const tree_set *trees, double states)
{
    double once = 0;
    for (size_t i = 0; i < trees->count; i++)
        once += trees->weight[i] < 1.5;
    return 1 - once / states;
}

int joint_stage_finish(const joint_stage *s, const taxa *names, int rows, evidence *e,
                       posterior *out)
{
    const chain_round *last = chain_rounds_last(&s->rounds);
    const double states = last->states * s->set.chains, ess = fmin(chain_round_ess(last), states);
    int status = posterior_init(out, names, rows, ROWS_EVENLY, true, s->seed);
    out->expected = (int64_t)states;
    if (!status && s->problem->free.n_free)
        status = posterior_set_parameters(out, &s->problem->free);
    if (!status)
        status = posterior_set_chains(out, s->set.chains);
    for (int c = 0; c < s->set.chains && !status; c++)
        status = add_states(out, s, c);
    if (!status)
        status = chain_splits_of_states(&out->splits, &s->states, ess);
    const double share = status ? 0 : share_met(&out->trees, states);
    if (!status)
        status = posterior_finish(out);
    out->trees.share = share;
    out->sample_ess = fmin(out->sample_ess, ess);
    *e = (evidence){.log_evidence = NAN,
                    .log_evidence_sd = NAN,
                    .log_evidence_se = NAN,
                    .log_mean_weight = NAN,
                    .lower_bound_1 = NAN,
                    .lower_bound_10 = NAN,
                    .lower_bound_k = NAN,
                    .ess = ess,
                    .pareto_k = NAN,
                    .total = (long)states,
                    .outside = NAN,
                    .outside_se = NAN};
    return status;
}

/* ---- saved ---- */

static void counts_fields(joint_counts *n, saved_state *to)
{
    state_i64(to, "steps", &n->steps);
    state_i64(to, "blocks", &n->blocks);
    state_i64(to, "moved", &n->moved);
    for (int k = 0; k < JOINT_KINDS; k++) {
        char name[STATE_NAME];
        snprintf(name, sizeof name, "tried.%d", k);
        state_i64(to, name, &n->tried[k]);
        snprintf(name, sizeof name, "accepted.%d", k);
        state_i64(to, name, &n->accepted[k]);
    }
}

static void chain_fields(joint_stage *s, int i, saved_state *to)
{
    const size_t edges = (size_t)s->problem->n_edges, free = (size_t)s->problem->free.n_free;
    char name[STATE_NAME];
    joint_state c = {.decision = state_memory(to, s->states.n_decisions, sizeof *c.decision),
                     .cbrt_length = state_memory(to, edges, sizeof *c.cbrt_length),
                     .parameter = state_memory(to, free + 1, sizeof *c.parameter)};
    if (to->status)
        return;
    if (!to->is_loading)
        joint_chain_save(&c, s->chain[i]);
    snprintf(name, sizeof name, "%d", i);
    const size_t before = state_group(to, name);
    state_trees(to, "decision", c.decision, 1, s->problem->n_taxa);
    state_f64_array(to, "cbrt_length", c.cbrt_length, edges, 1);
    if (free)
        state_f64_array(to, "parameter", c.parameter, free, 1);
    state_f64(to, "log_likelihood", &c.log_likelihood);
    counts_fields(&c.counts, to);
    state_group_end(to, before);
    if (state_loaded(to) && joint_chain_load(s->chain[i], &c))
        state_refuse(to, "a chain has an impossible state");
}

int joint_stage_fields(joint_stage *s, saved_state *to)
{
    const size_t before = state_group(to, "joint");
    chain_rounds_fields(&s->rounds, &s->set.rounds, to);
    for (int i = 0; i < s->set.chains && !to->status; i++)
        chain_fields(s, i, to);
    chain_states_fields(&s->states, to);
    if (state_loaded(to) && s->rounds.is_done && (!s->rounds.count || !s->states.count))
        state_refuse(to, "chains have ended without a round");
    state_group_end(to, before);
    return to->status;
}
