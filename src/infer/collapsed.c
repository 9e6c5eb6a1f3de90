#include "infer/collapsed.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "infer/density.h"
#include "infer/particles.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    DRAW_CHUNK = 256, /* draws that are dealt with at a time */
    LOOK_EVERY = 100, /* steps between two looks at the gap */
    MOST_TARGETS = 50000,
    MOST_IMPROVED = 300, /* trees that get a Hessian and draws in a round .. */
    IMPROVE_DRAWS = 20,  /* .. so many each */
    GAP_TREES = 1024,    /* that the gap is measured on */
    FEW_TAXA = 40,       /* for more, the two above are less */
    FIT_LEAST = 200,     /* steps of fitting in a round at least */
    POLISH_GROWTH = 10,  /* of the batch, at most */
    POLISH_WINDOW = 300, /* steps in which the gap must fall by POLISH_GAIN, or the rate does; .. */
    POLISH_PART = 5,     /* .. later this part of the steps before */
    POLISH_RECENT = 10,  /* part of the steps that the average of the weights is over */
    POLISH_STEADY = 1000, /* steps at the full rate; then it goes with one over their root */
};

static const double FIT_FALL = 0.95; /* what a hundred steps must make of the gap */
static const double IMPROVE_SHARE = 0.99;
static const double POLISH_GAIN = 0.1, POLISH_DECAY = 0.6, POLISH_LEAST = 1e-5; /* of the rate */
static const double POLISH_LOST = 2; /* times the least gap: back to the weights that had it */
static const double AVERAGE = 0.99;  /* of the weights that are drawn from, from .. */
enum { AVERAGE_FROM = 100 };         /* .. this step on */

collapsed_settings collapsed_defaults(uint64_t seed)
{
    return (collapsed_settings){
        .seed = seed,
        .explore = explore_defaults(seed),
        .capacity = 1000000,
        .expansions = 40000,
        .batch = COLLAPSED_BATCH,
        .rate = COLLAPSED_RATE,
        .steps = COLLAPSED_STEPS,
        .draws = 2048,
        .rounds = COLLAPSED_USUAL_ROUNDS,
        .news = COLLAPSED_NEWS,
        .agree = 0.05,
        .gap = 0.4,
        .error = COLLAPSED_ERROR,
        .sampled = 10000,
        .polish_batch = 100,
    };
}

int collapsed_create(collapsed **out, const branch_problem *problem, const alignment *a,
                     const int *taxon, topology_model *trees, const collapsed_settings *settings,
                     pool *threads)
{
    *out = NULL;
    if (settings->draws < 1 || settings->rounds < 1 || settings->rounds > COLLAPSED_ROUNDS ||
        settings->batch < 1)
        return ART_ERR_USAGE;
    collapsed *c = mem_zeros(1, sizeof *c);
    if (!c)
        return ART_ERR_NOMEM;
    c->problem = problem;
    c->trees = trees;
    c->set = *settings;
    c->threads = threads;
    c->rate = settings->rate;
    const size_t n_decisions = (size_t)problem->n_taxa - 3, draws = (size_t)settings->draws;
    c->drawn = mem_zeros(draws * n_decisions, sizeof *c->drawn);
    c->log_q = mem_zeros(draws, sizeof *c->log_q);
    int status = c->drawn && c->log_q
                     ? topology_table_init(&c->table, problem->n_taxa, settings->capacity)
                     : ART_ERR_NOMEM;
    if (!status)
        status = explorer_create(&c->explorer, problem, a, taxon, &c->table, &settings->explore,
                                 threads);
    if (!status)
        status = evidence_team_create(&c->team, problem, threads);
    if (status)
        collapsed_free(c);
    else
        *out = c;
    return status;
}

static void forget_fit(collapsed *c)
{
    if (c->fit)
        c->fit->ops->free(c->fit);
    c->fit = NULL;
    fit_targets_free(&c->targets);
}

void collapsed_free(collapsed *c)
{
    if (!c)
        return;
    trainer_free(c->trainer);
    forget_fit(c);
    evidence_team_free(c->team);
    explorer_free(c->explorer);
    topology_table_free(&c->table);
    free(c->drawn);
    free(c->log_q);
    free(c->best);
    free(c);
}

void collapsed_hurry(collapsed *c)
{
    c->hurry = true;
}

double collapsed_log_table(const collapsed *c)
{
    return topology_table_log_sum(&c->table, 0, 0) - log_topologies(c->problem->n_taxa);
}

static int explore(collapsed *c)
{
    int done = 0;
    const int64_t expanded = explorer_counts(c->explorer)->expanded - c->expanded_before;
    int status = ART_OK;
    if (expanded >= c->set.expansions || (c->hurry && c->table.count > 0))
        done = 1;
    else
        status = explorer_advance(c->explorer, &done);
    if (done)
        c->stage = COLLAPSED_IMPROVE;
    return status;
}

/* Distinct trees of a systematic batch, expected. */
static double expected_distinct(const fit_targets *f, int batch)
{
    double sum = 0;
    for (size_t i = 0; i < f->count; i++)
        sum += fmin(1, batch * f->weight[i]);
    return sum;
}

/* Trees of a step of polishing: a step costs what its distinct trees cost, so where few trees have
 * most of the weight a batch may be larger. */
static int polish_batch(const collapsed *c)
{
    int batch = POLISH_GROWTH * c->set.polish_batch;
    while (batch > c->set.polish_batch &&
           expected_distinct(&c->targets, batch) > c->set.polish_batch)
        batch /= 2;
    return batch > c->set.polish_batch ? batch : c->set.polish_batch;
}

static int make_best(collapsed *c)
{
    c->best = mem_zeros(c->trees->params.total, sizeof *c->best);
    return c->best ? ART_OK : ART_ERR_NOMEM;
}

static int begin_fit(collapsed *c)
{
    const fit_targets *to = &c->targets;
    forget_fit(c);
    int status = fit_targets_choose(&c->targets, &c->table, MOST_TARGETS);
    const int batch = c->stage == COLLAPSED_POLISH ? polish_batch(c) : c->set.batch;
    if (!status)
        status = density_create(&c->fit, c->trees, to->decision, to->weight, to->count, batch,
                                PICKS_SYSTEMATIC, c->set.seed);
    if (status)
        return status;
    if (c->trainer) {
        c->trainer->job = c->fit;
        c->trainer->trees.settings.rate = c->rate;
        return ART_OK;
    }
    train_settings plan = train_defaults();
    plan.tree_rate = c->rate;
    plan.decay = 1;
    plan.average = AVERAGE;
    plan.average_from = AVERAGE_FROM;
    plan.clip = 100;
    return trainer_create(&c->trainer, c->fit, &plan, c->threads);
}

/* No infinity in a file. */
static double bounded(double x)
{
    return fmax(-DBL_MAX, fmin(x, DBL_MAX));
}

/* Fewer trees where each costs more, for a piece of work to take a second or two. */
static size_t fewer(const collapsed *c, size_t trees)
{
    const size_t n = (size_t)c->problem->n_taxa;
    return n <= FEW_TAXA ? trees : trees * FEW_TAXA * FEW_TAXA / (n * n);
}

static int improve(collapsed *c)
{
    table_improvement found;
    int status = table_improve(&found, &c->table, c->team, IMPROVE_SHARE, fewer(c, MOST_IMPROVED),
                               IMPROVE_DRAWS, c->set.seed, (uint32_t)c->n_rounds);
    c->inside = bounded(sqrt(found.full.variance));
    return status;
}

static int begin_round(collapsed *c)
{
    int status = improve(c);
    if (!status)
        status = begin_fit(c);
    if (status)
        return status;
    c->round[c->n_rounds] = (collapsed_round){.gap = DBL_MAX};
    c->gap_before = DBL_MAX;
    c->steps_before = c->trainer->step;
    c->stage = COLLAPSED_FIT;
    return ART_OK;
}

/* KL(table || q) with the average weights. */
static int measure_gap(collapsed *c, double *gap)
{
    trainer_swap_average(c->trainer);
    int status = fit_targets_gap(gap, &c->targets, c->trees, fewer(c, GAP_TREES));
    trainer_swap_average(c->trainer);
    return status;
}

/* A step; looks at the gap now and then. The fit of a round ends when the gap is as wanted, or
 * does not fall any more. */
static int fit(collapsed *c, diag *d)
{
    int status = c->hurry && c->trainer->step > 0 ? ART_OK : trainer_advance(c->trainer, d);
    const int64_t steps = c->trainer->step - c->steps_before;
    collapsed_round *r = &c->round[c->n_rounds];
    bool over = c->hurry || steps >= c->set.steps;
    if (!status && (over || steps % LOOK_EVERY == 0)) {
        status = measure_gap(c, &r->gap);
        over |= r->gap <= c->set.gap || (steps >= FIT_LEAST && r->gap > FIT_FALL * c->gap_before);
        c->gap_before = r->gap;
    }
    if (status || !over)
        return status;
    c->stage = COLLAPSED_DRAW;
    c->looked = c->found = 0;
    for (size_t i = 0; i < c->table.count; i++)
        c->table.mark[i] &= (uint8_t)~TABLE_DRAWN;
    c->weights = c->outside = (log_mean){0};
    c->has_draws = false;
    r->log_table = collapsed_log_table(c);
    return ART_OK;
}

/* The gap falls like one over the steps: the windows grow with them. */
static bool window_ends(int64_t steps)
{
    int64_t end = POLISH_WINDOW;
    while (end < steps) {
        const int64_t part = end / POLISH_PART / LOOK_EVERY * LOOK_EVERY;
        end += part > POLISH_WINDOW ? part : POLISH_WINDOW;
    }
    return end == steps;
}

/* The average weights now are the best. */
static void keep_best(collapsed *c)
{
    memcpy(c->best, c->trainer->trees.average, c->trees->params.total * sizeof *c->best);
    c->best_gap = c->gap;
}

/* Weights and average are the best again. The optimiser's means stay: those of the squares are
 * large after an accident, and the next steps small. */
static void return_to_best(collapsed *c)
{
    const size_t bytes = c->trees->params.total * sizeof *c->best;
    memcpy(c->trainer->trees.average, c->best, bytes);
    memcpy(c->trees->params.value, c->best, bytes);
    c->trees->ops->changed(c->trees);
    c->gap = c->best_gap;
}

/* A larger batch has less noise: the rate may be higher. */
static int begin_polish(collapsed *c)
{
    int status = improve(c);
    if (!status)
        status = begin_fit(c);
    if (!status && !c->best)
        status = make_best(c);
    if (!status) {
        c->rate = c->set.rate * sqrt((double)polish_batch(c) / c->set.polish_batch);
        keep_best(c);
    }
    return status;
}

/* The gap is measured; if the weights went astray they come back, and go on more slowly. */
static int look_at_gap(collapsed *c)
{
    int status = measure_gap(c, &c->gap);
    if (status)
        return status;
    if (c->gap < c->best_gap) {
        keep_best(c);
    } else if (!(c->gap <= POLISH_LOST * c->best_gap)) {
        return_to_best(c);
        c->rate *= POLISH_DECAY;
    }
    return ART_OK;
}

/* One step; the rate falls where the gap does not. */
static int polish(collapsed *c, diag *d)
{
    const int64_t before = c->trainer->step - c->steps_before, steps = before + 1;
    if (c->hurry || c->gap <= c->set.polish || c->rate < POLISH_LEAST) {
        if (before > 0)
            return_to_best(c);
        c->stage = COLLAPSED_DONE;
        return ART_OK;
    }
    int status = before == 0 ? begin_polish(c) : ART_OK;
    if (status)
        return status;
    optim_settings *set = &c->trainer->trees.settings;
    set->rate = c->rate * fmin(1, sqrt(POLISH_STEADY / (double)steps));
    set->average = fmax(AVERAGE, 1 - POLISH_RECENT / (double)steps);
    status = trainer_advance(c->trainer, d);
    if (!status && steps % LOOK_EVERY == 0)
        status = look_at_gap(c);
    if (status || !window_ends(steps))
        return status;
    if (c->gap > (1 - POLISH_GAIN) * c->gap_before)
        c->rate *= POLISH_DECAY;
    c->gap_before = c->gap;
    return ART_OK;
}

/* Draws all of the round's trees. */
static int make_draws(collapsed *c)
{
    trainer_swap_average(c->trainer);
    int status = c->trees->ops->sample(c->trees, c->drawn, c->log_q, c->set.draws, c->set.seed,
                                       RNG_TOPOLOGY, (uint32_t)c->n_rounds, 0);
    trainer_swap_average(c->trainer);
    c->has_draws = status == ART_OK;
    return status;
}

bool collapsed_is_complete(const collapsed *c, const collapsed_round *r)
{
    const double apart = fabs(r->log_table - r->log_network);
    return r->news <= c->set.news && apart <= fmax(c->set.agree, 3 * r->network_error);
}

/* What the draws of the round have shown, once all are dealt with. */
static void end_round(collapsed *c)
{
    collapsed_round *r = &c->round[c->n_rounds++];
    const log_mean *all = &c->weights, *out = &c->outside;
    const double scale = log_mean_value(out) - r->log_table; /* log of the weight outside / Z */
    r->trees = (double)c->table.count;
    r->steps = (double)c->trainer->step;
    r->log_network = bounded(log_mean_value(all));
    r->network_error = bounded(log_mean_error(all));
    r->new_trees = (double)c->found;
    r->news = exp(scale) / (1 + exp(scale));
    r->spread = isfinite(scale) ? log_mean_error(out) * sqrt((double)out->count) * exp(scale) : 0;
    r->error = r->spread / sqrt(c->set.sampled);
    r->done = collapsed_is_complete(c, r) && r->error <= c->set.error;
    c->expanded_before = explorer_counts(c->explorer)->expanded;
    c->gap = c->gap_before = r->gap;
    c->steps_before = c->trainer->step;
    if (r->done == 0 && !c->hurry && c->n_rounds < c->set.rounds)
        c->stage = COLLAPSED_EXPLORE;
    else
        c->stage = c->set.polish > 0 ? COLLAPSED_POLISH : COLLAPSED_DONE;
}

/* Deals with some of the draws: what is new enters the table. */
static int look_at_draws(collapsed *c)
{
    int status = c->has_draws ? ART_OK : make_draws(c);
    const size_t n_decisions = c->table.n_decisions;
    const double prior = log_topologies(c->problem->n_taxa);
    const int64_t left = c->set.draws - c->looked;
    const int64_t count = left < DRAW_CHUNK ? left : DRAW_CHUNK;
    int64_t found = 0;
    if (!status)
        status = explorer_add(c->explorer, c->drawn + (size_t)c->looked * n_decisions,
                              (size_t)count, &found);
    for (int64_t i = c->looked; i < c->looked + count && !status; i++) {
        const int64_t at = topology_table_find(&c->table, c->drawn + (size_t)i * n_decisions);
        const double weight = at < 0 ? -HUGE_VAL : c->table.g[at] - prior - c->log_q[i];
        log_mean_add(&c->weights, weight);
        const bool is_new = at >= 0 && c->table.mark[at] & TABLE_DRAWN;
        log_mean_add(&c->outside, is_new ? weight : -HUGE_VAL);
    }
    c->looked += count;
    c->found += found;
    if (!status && c->looked == c->set.draws)
        end_round(c);
    return status;
}

int collapsed_advance(collapsed *c, diag *d)
{
    switch (c->stage) {
    case COLLAPSED_EXPLORE:
        return explore(c);
    case COLLAPSED_IMPROVE:
        return begin_round(c);
    case COLLAPSED_FIT:
        return fit(c, d);
    case COLLAPSED_DRAW:
        return look_at_draws(c);
    case COLLAPSED_POLISH:
        return polish(c, d);
    case COLLAPSED_DONE:
        break;
    }
    return ART_OK;
}

void collapsed_settle(collapsed *c)
{
    trainer_swap_average(c->trainer);
}

enum { ROUND = sizeof(collapsed_round) / sizeof(double) };
static const char BEST[] = "best."; /* of the tensors' names */

int collapsed_save(collapsed *c, safetensors *s)
{
    const int64_t counts[COLLAPSED_COUNTS] = {c->stage,         c->n_rounds,    c->expanded_before,
                                              c->steps_before,  c->looked,      c->found,
                                              c->weights.count, c->best != NULL};
    const double levels[COLLAPSED_LEVELS] = {c->weights.top, c->weights.sum, c->weights.squares,
                                             c->outside.top, c->outside.sum, c->outside.squares,
                                             c->rate,        c->gap,         c->gap_before,
                                             c->inside,      c->best_gap};
    memcpy(c->saved_counts, counts, sizeof counts);
    memcpy(c->saved_levels, levels, sizeof levels);
    const size_t rounds = (size_t)c->n_rounds + (c->n_rounds < COLLAPSED_ROUNDS);
    int status = safetensors_add(s, "collapsed.counts", TENSOR_I64, 1, (size_t[]){COLLAPSED_COUNTS},
                                 c->saved_counts);
    if (!status)
        status = safetensors_add(s, "collapsed.levels", TENSOR_F64, 1, (size_t[]){COLLAPSED_LEVELS},
                                 c->saved_levels);
    if (!status)
        status = safetensors_add(s, "collapsed.rounds", TENSOR_F64, 2, (size_t[]){rounds, ROUND},
                                 c->round);
    if (!status)
        status = topology_table_save(&c->table, s);
    if (!status)
        status = explorer_save(c->explorer, s);
    if (!status && c->best)
        status = params_store(s, &c->trees->params, c->best, BEST);
    return status || !c->trainer ? status : trainer_save(c->trainer, s);
}

static int load_state(collapsed *c, safetensors *s, const char *file, diag *d)
{
    const tensor *counts = safetensors_use(s, "collapsed.counts");
    const tensor *levels = safetensors_use(s, "collapsed.levels");
    const tensor *rounds = safetensors_use(s, "collapsed.rounds");
    if (!counts || counts->dtype != TENSOR_I64 || counts->count != COLLAPSED_COUNTS || !levels ||
        levels->dtype != TENSOR_F64 || levels->count != COLLAPSED_LEVELS || !rounds ||
        rounds->dtype != TENSOR_F64 || rounds->rank != 2 || rounds->shape[1] != ROUND ||
        rounds->shape[0] > COLLAPSED_ROUNDS)
        return diag_error(d, ART_ERR_MISMATCH, (diag_place){.file = file},
                          "the counters of the rounds are not there -- start anew with --redo");
    const int64_t *n = counts->data;
    const double *m = levels->data;
    if (n[0] < COLLAPSED_EXPLORE || n[0] > COLLAPSED_DONE || n[1] < 0 ||
        n[1] > (int64_t)rounds->shape[0])
        return diag_error(d, ART_ERR_MISMATCH, (diag_place){.file = file},
                          "a stage that does not exist -- start anew with --redo");
    c->stage = (collapsed_stage)n[0];
    c->n_rounds = (int)n[1];
    c->expanded_before = n[2];
    c->steps_before = n[3];
    c->looked = n[4];
    c->found = n[5];
    c->weights = (log_mean){n[6], m[0], m[1], m[2]};
    c->outside = (log_mean){n[6], m[3], m[4], m[5]};
    c->rate = m[6];
    c->gap = m[7];
    c->gap_before = m[8];
    c->inside = m[9];
    c->best_gap = m[10];
    c->has_draws = false;
    memcpy(c->round, rounds->data, rounds->count * sizeof(double));
    return n[7] ? make_best(c) : ART_OK;
}

int collapsed_load(collapsed *c, safetensors *s, const char *file, diag *d)
{
    int status = load_state(c, s, file, d);
    if (!status)
        status = topology_table_load(&c->table, s, file, d);
    if (!status)
        status = explorer_load(c->explorer, s, file, d);
    if (status || !safetensors_find(s, "train.counts"))
        return status;
    if (c->table.count == 0)
        return diag_error(d, ART_ERR_MISMATCH, (diag_place){.file = file},
                          "a fit without trees -- start anew with --redo");
    status = begin_fit(c);
    if (!status && c->best)
        status = params_load(c->best, &c->trees->params, s, BEST, file, d);
    return status ? status : trainer_load(c->trainer, s, file, d);
}
