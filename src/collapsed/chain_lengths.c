#include "collapsed/chain_lengths.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Times that a tree counts as picked, at most, when its lengths are drawn. */
enum { JOB_LENGTHS = 8 };

/* Draws of lengths in a job, at most: those of JOB_LENGTHS picks. */
static size_t job_lengths(const chain_answer *a)
{
    return (size_t)(JOB_LENGTHS * a->set.answer.length_draws);
}

/* Memory of a piece of work. */
typedef struct piece {
    evidence_job job[ANSWER_PIECE];
    double *length;     /* [ANSWER_PIECE][E] modes */
    double *drawn;      /* [ANSWER_PIECE][job_lengths][E] */
    double *log_weight; /* [ANSWER_PIECE][job_lengths] */
    double *log_likelihood;
    double *parameter; /* [ANSWER_PIECE][job_lengths][p] */
} piece;

static void piece_free(piece *p)
{
    free(p->length);
    free(p->drawn);
    free(p->log_weight);
    free(p->parameter);
}

static size_t n_free(const chain_answer *a)
{
    return (size_t)a->chains->problem->free.n_free;
}

static int piece_init(piece *p, const chain_answer *a)
{
    const size_t lengths = job_lengths(a);
    memset(p, 0, sizeof *p);
    const size_t edges = (size_t)a->chains->problem->n_edges;
    p->length = mem_zeros(ANSWER_PIECE * edges, sizeof *p->length);
    p->drawn = mem_zeros(ANSWER_PIECE * lengths * edges, sizeof *p->drawn);
    p->log_weight = mem_zeros(2 * ANSWER_PIECE * lengths, sizeof *p->log_weight);
    p->log_likelihood = p->log_weight ? p->log_weight + ANSWER_PIECE * lengths : NULL;
    p->parameter = mem_zeros(ANSWER_PIECE * lengths * n_free(a) + 1, sizeof *p->parameter);
    if (p->length && p->drawn && p->log_weight && p->parameter)
        return ART_OK;
    piece_free(p);
    return ART_ERR_NOMEM;
}

/* Picks trees of both samples in proportion to their weights, one in each of equal steps of the sum
 * of the weights, and brings them in random order. Each time others; every tree has the same chance
 * each time, so that what a tree stands for is the same but for a factor common to all. */
static int pick_trees(chain_answer *a)
{
    const size_t all = chain_answer_trees(a), first = a->n_picks;
    const chain_answer_settings *set = &a->set.answer;
    const size_t wanted = (size_t)chain_answer_affordable(a, set->evaluated, set->least_evaluated);
    rng stream = rng_at(a->set.seed, RNG_CHOICE, 0, (uint32_t)a->passes);
    picked_tree *pick = mem_resize(a->pick, first + wanted, sizeof *a->pick);
    if (!pick)
        return ART_ERR_NOMEM;
    a->pick = pick;
    a->passes++;
    double sum = 0, total = 0;
    for (size_t i = 0; i < all; i++)
        total += chain_answer_tree(a, i).weight;
    double next = rng_uniform(&stream) * total / (double)wanted;
    for (size_t i = 0; i < all; i++) {
        const double weight = chain_answer_tree(a, i).weight;
        int times = 0;
        for (sum += weight; next < sum; next += total / (double)wanted)
            times++;
        if (times && a->n_picks < first + wanted)
            a->pick[a->n_picks++] =
                (picked_tree){(int64_t)i, times, fmin(1, weight / total * (double)wanted), NAN, 0};
    }
    for (size_t i = a->n_picks - first; i > 1; i--) {
        const size_t j = first + rng_below(&stream, (uint32_t)i), last = first + i - 1;
        const picked_tree other = a->pick[j];
        a->pick[j] = a->pick[last];
        a->pick[last] = other;
    }
    return ART_OK;
}

/* log w of the states. */
static int weigh_states(chain_answer *a)
{
    const size_t n = chain_answer_trees(a) - a->n_draws;
    a->state_weight = mem_zeros(n + 1, sizeof *a->state_weight);
    if (!a->state_weight)
        return ART_ERR_NOMEM;
    for (size_t i = 0; i < n; i++) {
        const pooled_tree t = chain_answer_tree(a, a->n_draws + i);
        a->state_weight[i] = t.laplace - tree_proposal_log_q(a->chains->proposal, t.decision);
    }
    return ART_OK;
}

int chain_lengths_begin(chain_answer *a)
{
    int status = weigh_states(a);
    if (!status)
        status = chain_answer_bridge(&a->bridge, a);
    if (!status)
        status = pick_trees(a);
    a->stage = CHAIN_ANSWER_LENGTHS;
    return status;
}

/* How a tree's lengths are drawn. */
typedef struct length_plan {
    evidence_shape shape;
    int most; /* draws of them */
} length_plan;

/* As many for each time that it was picked. */
static int lengths_of(const chain_answer *a, const length_plan *plan, const picked_tree *t)
{
    const int most = plan->most / a->set.answer.length_draws;
    return a->set.answer.length_draws * (t->times < most ? t->times : most);
}

/* The results for one tree become draws of the posterior, as many as it was picked. */
static void collect(chain_answer *a, particles *out, size_t number, const evidence_job *job,
                    const piece *p, size_t at)
{
    const branch_posterior *problem = a->chains->problem;
    const size_t edges = (size_t)problem->n_edges;
    picked_tree *t = &a->pick[number];
    const int lengths = job->draws, parts = lengths / a->set.answer.length_draws;
    const pooled_tree from_pool = chain_answer_tree(a, (size_t)t->tree);
    const double whole = job->status ? -HUGE_VAL : log_mean_value(&job->weights);
    const double error = job->status ? HUGE_VAL : log_mean_error(&job->weights);
    t->log_ratio = whole - from_pool.laplace;
    t->variance = isfinite(error) ? error * error : 0;
    a->failed += job->status != ART_OK;
    log_mean_add(&a->ratio, t->log_ratio);
    if (!isfinite(whole))
        return;
    rng stream = rng_at(a->set.seed, RNG_POSTERIOR, 0, (uint32_t)number);
    const double weight = log(from_pool.weight / t->inclusion / parts) + t->log_ratio;
    for (int k = 0; k < parts; k++) {
        const size_t from = at + (size_t)rng_choose(&stream, p->log_weight + at, lengths);
        const size_t to = (size_t)out->k++;
        memcpy(out->decision + to * chain_answer_decisions(a), job->decision,
               chain_answer_decisions(a) * sizeof *out->decision);
        memcpy(out->length + to * edges, p->drawn + from * edges, edges * sizeof *out->length);
        const double *z = p->parameter + from * n_free(a);
        memcpy(out->parameter + to * n_free(a), z, n_free(a) * sizeof *z);
        out->value[to] = p->log_likelihood[from];
        out->log_prior[to] =
            log_prior(job->decision, out->length + to * edges, problem->n_taxa, problem->prior) +
            block_parameters_stated_prior(&problem->free, z);
        out->log_weight[to] = weight;
        out->part[to] = from_pool.part;
        out->log_q[to] = from_pool.laplace;
        out->log_b[to] = 0;
    }
}

/* The jobs of a piece, for the trees from a->next on. */
static void prepare_lengths(chain_answer *a, piece *p, size_t count, const length_plan *plan)
{
    const size_t edges = (size_t)a->chains->problem->n_edges;
    const size_t lengths = job_lengths(a);
    for (size_t i = 0; i < count; i++) {
        const picked_tree *t = &a->pick[a->next + i];
        const size_t at = i * lengths;
        const int32_t *decision = chain_answer_tree(a, (size_t)t->tree).decision;
        length_guess_fill(p->length + i * edges, a->chains->guess, decision);
        p->job[i] = (evidence_job){
            .decision = decision,
            .length = p->length + i * edges,
            .tolerance = a->set.answer.tolerance,
            .shape = plan->shape,
            .draws = lengths_of(a, plan, t),
            .stream = rng_at(a->set.seed, RNG_EVIDENCE_BRANCH, 0, (uint32_t)(a->next + i)),
            .out = {p->drawn + at * edges, p->log_weight + at, p->log_likelihood + at,
                    p->parameter + at * n_free(a)}};
    }
}

/* Returns how many trees are done. If there are none at all, a few are evaluated as fast as it
 * can be. */
static size_t run_lengths(chain_answer *a, piece *p, size_t count, const interrupt *stop)
{
    const length_plan rough = {EVIDENCE_ROUGH, a->set.answer.length_draws};
    const size_t must = (size_t)a->set.answer.late_lengths;
    const bool is_full = a->chains->problem->n_taxa <= a->set.answer.full_taxa;
    const length_plan usual = {is_full ? EVIDENCE_SKEWED : EVIDENCE_DIAGONAL, (int)job_lengths(a)};
    prepare_lengths(a, p, count, &usual);
    const size_t done = (size_t)evidence_batch_run(a->chains->team, p->job, (int)count, stop);
    if (done > 0 || a->next > 0)
        return done;
    count = must < count ? must : count;
    prepare_lengths(a, p, count, &rough);
    return (size_t)evidence_batch_run(a->chains->team, p->job, (int)count, NULL);
}

static int draw_lengths(chain_answer *a, const interrupt *stop)
{
    const branch_posterior *problem = a->chains->problem;
    const size_t lengths = job_lengths(a);
    size_t count = chain_answer_piece(a, a->n_picks - a->next);
    piece p;
    particles out = {0};
    int status = piece_init(&p, a);
    if (status)
        return status;
    status = particles_init(&out, ANSWER_PIECE * JOB_LENGTHS, problem->n_taxa, 0);
    if (!status)
        status = particles_add_parameters(&out, problem->free.n_free);
    if (!status) {
        count = run_lengths(a, &p, count, stop);
        out.k = 0;
        for (size_t i = 0; i < count; i++)
            collect(a, &out, a->next + i, &p.job[i], &p, i * lengths);
        a->next += count;
        status = posterior_add(&a->posterior, &out);
    }
    particles_free(&out);
    piece_free(&p);
    return status;
}

/* Whether more trees would gain nothing, or have been picked often enough: their lengths have half
 * of the variance that is wanted, and cannot make up for an error of Z; or chains with branch
 * lengths should have the time. */
static bool has_enough_lengths(const chain_answer *a)
{
    const chain_answer_settings *set = &a->set.answer;
    const double error = log_mean_error(&a->ratio);
    return a->passes >= set->pick_passes || error <= a->set.error * M_SQRT1_2 ||
           error <= a->bridge.error / 2 ||
           (a->passes >= set->trial_passes && chain_answer_lengths_failed(a));
}

/* How many of the trees that were picked are looked at. */
static size_t to_look_at(const chain_answer *a)
{
    const size_t most = other_modes_trees(&a->set, a->chains->problem->n_taxa);
    return a->n_picks < most ? a->n_picks : most;
}

static int look_for_modes(chain_answer *a, const interrupt *stop)
{
    const size_t edges = (size_t)a->chains->problem->n_edges;
    const size_t count = chain_answer_piece(a, to_look_at(a) - a->modes.looked);
    const picked_tree *pick = a->pick + a->modes.looked;
    const mode_starts start = {a->set.modes, a->set.seed, edges,
                               mean_length(a->chains->guess_length, edges)};
    known_mode known[ANSWER_PIECE];
    for (size_t i = 0; i < count; i++) {
        const pooled_tree t = chain_answer_tree(a, (size_t)pick[i].tree);
        known[i] = (known_mode){t.decision, t.laplace};
    }
    return other_modes_look(&a->modes, a->chains->team, known, count, &start, stop);
}

int chain_lengths_advance(chain_answer *a, const interrupt *stop)
{
    int status = ART_OK;
    if (a->modes.looked < to_look_at(a) && !a->end_lengths) /* first: what is late is cut */
        status = look_for_modes(a, stop);
    else if (a->next < a->n_picks)
        status = draw_lengths(a, stop);
    a->end_lengths |= interrupt_is_due(stop);
    const bool pass_ended = a->next == a->n_picks || (a->end_lengths && a->next > 0);
    if (status || !pass_ended)
        return status;
    const bool is_enough = a->next == a->n_picks && has_enough_lengths(a);
    if (!is_enough && !a->end_lengths)
        return pick_trees(a);
    a->is_cut |= !is_enough;
    a->stage = CHAIN_ANSWER_DONE;
    return ART_OK;
}

void chain_lengths_fields(chain_answer *a, saved_state *s)
{
    int64_t next = (int64_t)a->next, passes = a->passes;
    state_i64_in(s, "passes", &passes, 1, a->set.answer.pick_passes);
    if (state_loaded(s))
        state_fail(s, chain_lengths_begin(a));
    while (!s->status && a->passes < passes)
        state_fail(s, pick_trees(a));
    if (s->status)
        return;
    state_i64_in(s, "evaluated", &next, 0, (int64_t)a->n_picks);
    a->next = (size_t)next;
    double *ratio = state_memory(s, a->next + 1, sizeof *ratio);
    for (size_t i = 0; ratio && i < a->next; i++)
        ratio[i] = a->pick[i].log_ratio;
    if (ratio)
        state_log_array(s, "log_ratio", ratio, a->next, 1);
    for (size_t i = 0; ratio && i < a->next; i++)
        a->pick[i].log_ratio = ratio[i];
    state_f64_column(s, "variance", &a->pick->variance, a->next, sizeof *a->pick);
    for (size_t i = 0; i < a->next && state_loaded(s); i++)
        if (!(a->pick[i].variance >= 0 && isfinite(a->pick[i].variance)))
            state_refuse(s, "a variance that is none");
    state_log_mean(s, "ratio", &a->ratio);
    other_modes_fields(&a->modes, to_look_at(a), s);
    posterior_fields(&a->posterior, s);
}
