#include "collapsed/chain_stage.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "tree/saved_trees.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int propose_jump(void *context, int32_t *decision, double *log_q, rng *r)
{
    chain_stage *s = context;
    if (!s->proposal)
        return ART_ERR_USAGE; /* nothing to propose yet */
    *log_q = tree_proposal_sample(s->proposal, decision, r);
    return ART_OK;
}

static double jump_log_q(void *context, const int32_t *decision)
{
    chain_stage *s = context;
    return tree_proposal_log_q(s->proposal, decision);
}

static bool redraw_part(void *context, topology *t, int32_t v, double *log_ratio, rng *r)
{
    chain_stage *s = context;
    return s->proposal && tree_proposal_redraw(s->proposal, t, v, log_ratio, r);
}

/* The number up to set->whole_taxa taxa; with more, less by the given power, but `least`. */
static int scaled(int number, int least, int n_taxa, const chain_stage_settings *set, int power)
{
    double part = number;
    for (int i = 0; i < power && n_taxa > set->whole_taxa; i++)
        part *= (double)set->whole_taxa / n_taxa;
    return part > least ? (int)part : least < number ? least : number;
}

/* The share of steps that are jumps. */
static double jump_share(const chain_stage_settings *set, int n_taxa)
{
    const double part = n_taxa > set->whole_jumps ? (double)set->whole_jumps / n_taxa : 1;
    return n_taxa <= set->jump_taxa ? set->chain.jump * part * part : 0;
}

static int create_chains(chain_stage *s)
{
    chain_settings chain = s->set.chain;
    chain.jump = jump_share(&s->set, s->problem->n_taxa);
    chain.redraw += s->set.chain.jump - chain.jump;
    chain.block = scaled(s->set.chain.block, s->set.least_block, s->problem->n_taxa, &s->set, 1);
    chain.jumps = (chain_jumps){propose_jump, jump_log_q, redraw_part, s};
    const chains_settings set = {
        .chain = chain, .seed = s->seed, .ladders = s->set.chains, .temperatures = 1};
    return tree_chains_create(&s->chains, s->problem, &set, s->threads);
}

int chain_stage_create(chain_stage **out, const branch_posterior *problem,
                       const chain_stage_settings *set, uint64_t seed, evidence_batch *team,
                       pool *threads)
{
    *out = NULL;
    if (set->chains < 2 || set->chains > CHAINS_MOST || !chain_rounds_are_valid(&set->rounds) ||
        set->pilot_draws < 2 || set->room.most < 16)
        return ART_ERR_USAGE;
    chain_stage *s = mem_zeros(1, sizeof *s);
    if (!s)
        return ART_ERR_NOMEM;
    s->problem = problem;
    s->set = *set;
    s->seed = seed;
    s->team = team;
    s->threads = threads;
    s->set.pilot_draws = scaled(set->pilot_draws, set->least_pilots, problem->n_taxa, set, 2);
    s->rounds = chain_rounds_first(&set->rounds);
    s->guess_decision = mem_zeros((size_t)problem->n_taxa - 3, sizeof *s->guess_decision);
    s->guess_length = mem_zeros((size_t)problem->n_edges, sizeof *s->guess_length);
    s->pilot = mem_zeros((size_t)s->set.pilot_draws, sizeof *s->pilot);
    int status = s->guess_decision && s->guess_length && s->pilot
                     ? chain_states_init(&s->states, problem, set->chains, &set->room, false)
                     : ART_ERR_NOMEM;
    if (!status)
        status = length_guess_create(&s->guess, problem->n_taxa);
    if (!status)
        status = create_chains(s);
    if (status)
        chain_stage_free(s);
    else
        *out = s;
    return status;
}

void chain_stage_free(chain_stage *s)
{
    if (!s)
        return;
    tree_chains_free(s->chains);
    tree_proposal_free(s->proposal);
    chain_states_free(&s->states);
    length_guess_free(s->guess);
    free(s->guess_decision);
    free(s->guess_length);
    free(s->pilot);
    free(s->peak);
    free(s->fitted);
    free(s);
}

/* The reference for the lengths of draws: the tree where chain 0 is. */
static void set_guess(chain_stage *s)
{
    const tree_chain *c = tree_chains_at(s->chains, 0);
    memcpy(s->guess_decision, tree_chain_decision(c),
           s->states.n_decisions * sizeof *s->guess_decision);
    tree_chain_lengths(s->guess_length, c);
    length_guess_set(s->guess, s->guess_decision, s->guess_length);
}

int chain_stage_start(chain_stage *s, const int32_t *decision, const double *length)
{
    return tree_chains_start_all(s->chains, decision, length);
}

int chain_stage_set_peaks(chain_stage *s, const int32_t *decision, size_t n)
{
    free(s->peak);
    s->n_peaks = 0;
    s->peak = mem_zeros(n * s->states.n_decisions + 1, sizeof *s->peak);
    if (!s->peak)
        return ART_ERR_NOMEM;
    s->n_peaks = n;
    memcpy(s->peak, decision, n * s->states.n_decisions * sizeof *s->peak);
    return ART_OK;
}

double chain_stage_returned(const chain_stage *s)
{
    double blocks = 0, returned = 0;
    for (int i = 0; i < s->set.chains; i++) {
        const chain_counts *n = tree_chain_counts(tree_chains_at(s->chains, i));
        blocks += (double)n->blocks;
        returned += (double)n->returned;
    }
    return blocks > 0 ? returned / blocks : 0;
}

static int keep_state(void *context, const chain_record *r)
{
    chain_stage *s = context;
    chain_states_keep(&s->states, &(kept_state){.chain = r->chain,
                                                .block = r->block,
                                                .decision = r->decision,
                                                .value = r->laplace});
    return 0;
}

static int make_proposal(chain_stage *s)
{
    tree_proposal_free(s->proposal);
    s->proposal = NULL;
    return tree_proposal_create(&s->proposal, s->problem->n_taxa, s->fitted, s->n_fitted,
                                s->set.chains);
}

static int run_blocks(chain_stage *s, const interrupt *stop)
{
    const int64_t left = s->rounds.wanted - s->rounds.blocks, most = chain_piece_blocks(s->problem);
    const int64_t now = left < most ? left : most;
    int status = ART_OK;
    /* one by one: blocks that are cut short by a stop are no states worth keeping in numbers */
    for (int64_t i = 0; i < now && !status && (i == 0 || !interrupt_is_due(stop)); i++) {
        status = tree_chains_run(s->chains, 1, keep_state, s, stop);
        s->rounds.blocks++;
    }
    return status;
}

/* The states first .. last - 1 of all chains, and the peaks, become what the density is fitted to.
 */
static int fit_density(chain_stage *s, size_t first, size_t last)
{
    const chain_states *x = &s->states;
    const size_t each = last - first, states = each * (size_t)x->n_chains;
    int32_t *grown =
        mem_resize(s->fitted, (states + s->n_peaks) * x->n_decisions, sizeof *s->fitted);
    if (!grown)
        return ART_ERR_NOMEM;
    s->fitted = grown;
    s->n_fitted = states + s->n_peaks;
    if (s->n_peaks)
        memcpy(s->fitted + states * x->n_decisions, s->peak,
               s->n_peaks * x->n_decisions * sizeof *s->fitted);
    for (int c = 0; c < x->n_chains; c++)
        memcpy(s->fitted + (size_t)c * each * x->n_decisions, chain_states_tree(x, c, first),
               each * x->n_decisions * sizeof *s->fitted);
    set_guess(s);
    s->fit_block = (int64_t)last * x->every;
    s->n_fits++;
    return make_proposal(s);
}

/* Draws trees from the density and weighs them. */
static int draw_pilots(chain_stage *s, const interrupt *stop)
{
    size_t n = (size_t)s->set.pilot_draws;
    const size_t edges = (size_t)s->problem->n_edges;
    const size_t n_decisions = s->states.n_decisions;
    evidence_job *job = mem_zeros(n, sizeof *job);
    int32_t *decision = mem_zeros(n * n_decisions, sizeof *decision);
    double *length = mem_zeros(n * edges, sizeof *length);
    int status = job && decision && length ? ART_OK : ART_ERR_NOMEM;
    for (size_t i = 0; i < n && !status; i++) {
        rng stream = rng_at(s->seed, RNG_PILOT, (uint32_t)s->n_fits, (uint32_t)i);
        s->pilot[i] = -tree_proposal_sample(s->proposal, decision + i * n_decisions, &stream);
        length_guess_fill(length + i * edges, s->guess, decision + i * n_decisions);
        job[i] = (evidence_job){.decision = decision + i * n_decisions,
                                .length = length + i * edges,
                                .tolerance = s->set.pilot_tolerance,
                                .shape = EVIDENCE_DIAGONAL};
    }
    if (!status)
        n = (size_t)(s->n_pilots = evidence_batch_run(s->team, job, (int)n, stop));
    for (size_t i = 0; i < n && !status; i++)
        s->pilot[i] = job[i].status ? -HUGE_VAL : job[i].laplace + s->pilot[i];
    free(job);
    free(decision);
    free(length);
    return status;
}

size_t chain_stage_fresh(const chain_stage *s)
{
    const size_t fresh = (size_t)(s->fit_block / s->states.every);
    return fresh < s->states.count ? fresh : s->states.count;
}

int chain_stage_bridge(bridge_estimate *out, const chain_stage *s, const double *draw,
                       size_t n_draws, double planned)
{
    const chain_states *x = &s->states;
    const size_t fresh = chain_stage_fresh(s), each = x->count - fresh;
    double *state = mem_zeros((size_t)x->n_chains * each + 1, sizeof *state);
    if (!state)
        return ART_ERR_NOMEM;
    for (int c = 0; c < x->n_chains; c++)
        for (size_t i = 0; i < each; i++)
            state[(size_t)c * each + i] =
                chain_states_value(x, c, fresh + i) -
                tree_proposal_log_q(s->proposal, chain_states_tree(x, c, fresh + i));
    int status = bridge_of(out, draw, n_draws, planned, state, (size_t)x->n_chains, each);
    free(state);
    return status;
}

/* A density for the next round, and its pilot draws. */
static int refit(chain_stage *s, size_t last, const interrupt *stop)
{
    int status = fit_density(s, chain_states_first(&s->states), last);
    return status ? status : draw_pilots(s, stop);
}

/* Whether there are states enough that the density was not fitted to. */
static bool has_fresh(const chain_stage *s)
{
    return s->proposal && s->states.count - chain_stage_fresh(s) >= s->states.count / 3;
}

bool chain_stage_is_enough(const chain_stage *s, const chain_round *r)
{
    return chain_round_agrees(r, &s->set.rounds) && r->error <= s->set.error;
}

static int end_round(chain_stage *s, const interrupt *stop)
{
    chain_round r = {.blocks = (double)s->rounds.blocks};
    bridge_estimate bridge = {.log_sum = NAN, .error = HUGE_VAL, .state_error = HUGE_VAL};
    const bool is_last = chain_rounds_is_last(&s->rounds, &s->set.rounds);
    int status = chain_round_compare(&r, &s->states, s->problem->n_taxa);
    if (!status && is_last && !has_fresh(s)) /* half of what counts is for the density */
        status = refit(s, s->states.count * 5 / 8, stop);
    if (!status && s->proposal)
        status =
            chain_stage_bridge(&bridge, s, s->pilot, (size_t)s->n_pilots, s->set.planned_draws);
    r.log_sum = bridge.log_sum;
    r.overlap = bridge.overlap;
    r.error = bridge.state_error;
    const bool is_enough = chain_stage_is_enough(s, &r);
    if (!status && !is_last && !is_enough)
        status = refit(s, s->states.count, stop);
    if (!status)
        chain_rounds_end(&s->rounds, &s->set.rounds, &r, is_enough);
    return status;
}

int chain_stage_advance(chain_stage *s, const interrupt *stop)
{
    if (s->rounds.is_done)
        return ART_OK;
    return chain_rounds_is_over(&s->rounds, &s->set.rounds, s->states.count) ? end_round(s, stop)
                                                                             : run_blocks(s, stop);
}

static void counts_fields(chain_counts *n, saved_state *to)
{
    state_i64(to, "steps", &n->steps);
    for (int k = 0; k < CHAIN_KINDS; k++) {
        char name[STATE_NAME];
        snprintf(name, sizeof name, "tried.%d", k);
        state_i64(to, name, &n->tried[k]);
        snprintf(name, sizeof name, "moved.%d", k);
        state_i64(to, name, &n->moved[k]);
        snprintf(name, sizeof name, "accepted.%d", k);
        state_i64(to, name, &n->accepted[k]);
    }
    state_i64(to, "failed", &n->failed);
    state_i64(to, "blocks", &n->blocks);
    state_i64(to, "returned", &n->returned);
    state_f64(to, "drift", &n->drift);
    state_f64(to, "drift_squares", &n->drift_squares);
}

/* The chains. The numbers live until the state is freed. */
static void chains_fields(chain_stage *s, saved_state *to)
{
    const branch_posterior *p = s->problem;
    const size_t decisions = s->states.n_decisions, edges = (size_t)p->n_edges;
    const size_t n = (size_t)s->set.chains;
    chains_state all = {.n_chains = s->set.chains,
                        .chain = state_memory(to, n, sizeof *all.chain),
                        .temperature = state_memory(to, n, sizeof *all.temperature)};
    for (size_t i = 0; i < n && !to->status; i++)
        all.chain[i] = (chain_state){.decision = state_memory(to, decisions, sizeof(int32_t)),
                                     .cbrt_length = state_memory(to, edges, sizeof(double)),
                                     .curvature = state_memory(to, edges, sizeof(double))};
    if (to->status)
        return;
    if (!to->is_loading)
        tree_chains_save(&all, s->chains);
    state_i64_in(to, "blocks", &all.blocks, 0, INT64_MAX);
    for (size_t i = 0; i < n; i++) {
        char name[STATE_NAME];
        chain_state *c = &all.chain[i];
        snprintf(name, sizeof name, "%zu", i);
        const size_t before = state_group(to, name);
        state_trees(to, "decision", c->decision, 1, p->n_taxa);
        state_f64_array(to, "cbrt_length", c->cbrt_length, edges, 1);
        state_f64_array(to, "curvature", c->curvature, edges, 1);
        state_f64(to, "log_likelihood", &c->log_likelihood);
        state_f64(to, "log_density", &c->log_density);
        state_f64(to, "laplace", &c->laplace);
        state_f64(to, "beta", &c->beta);
        counts_fields(&c->counts, to);
        state_group_end(to, before);
    }
    if (state_loaded(to) && tree_chains_load(s->chains, &all))
        state_refuse(to, "the chains have impossible states");
}

/* Trees [n][N-3], as many as were saved. */
static void tree_rows(saved_state *to, const char *name, int32_t **tree, size_t *n, int n_taxa)
{
    const size_t n_decisions = (size_t)n_taxa - 3;
    *n = state_rows(to, name, *n, n_decisions);
    if (state_loaded(to)) {
        free(*tree);
        *tree = mem_zeros(*n * n_decisions + 1, sizeof **tree);
        state_fail(to, *tree ? ART_OK : ART_ERR_NOMEM);
    }
    if (!to->status)
        state_trees(to, name, *tree, *n, n_taxa);
}

int chain_stage_fields(chain_stage *s, saved_state *to)
{
    const size_t before = state_group(to, "chains");
    chain_rounds_fields(&s->rounds, &s->set.rounds, to);
    state_int_in(to, "fits", &s->n_fits, 0, INT32_MAX);
    state_i64_in(to, "fit_block", &s->fit_block, 0, INT64_MAX);
    if (s->n_fits) {
        state_trees(to, "guess.decision", s->guess_decision, 1, s->problem->n_taxa);
        state_f64_array(to, "guess.length", s->guess_length, (size_t)s->problem->n_edges, 1);
    }
    if (state_loaded(to) && s->n_fits)
        length_guess_set(s->guess, s->guess_decision, s->guess_length);
    state_int_in(to, "pilots", &s->n_pilots, 0, s->set.pilot_draws);
    state_log_array(to, "pilot", s->pilot, (size_t)s->n_pilots, 1);
    chains_fields(s, to);
    chain_states_fields(&s->states, to);
    tree_rows(to, "peaks", &s->peak, &s->n_peaks, s->problem->n_taxa);
    tree_rows(to, "fitted", &s->fitted, &s->n_fitted, s->problem->n_taxa);
    if (state_loaded(to) && s->n_fitted)
        state_fail(to, make_proposal(s));
    if (state_loaded(to) && s->rounds.is_done && !s->proposal)
        state_refuse(to, "chains have ended without a density");
    state_group_end(to, before);
    return to->status;
}
