#include "collapsed/rounds.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "io/tensor_parts.h"
#include "collapsed/affordable.h"
#include "train/particles.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    DRAW_CHUNK = 256, /* draws that are dealt with at a time */
    MOST_IMPROVED =
        300,            /* trees that get a Hessian and draws in a round, fewer with many taxa .. */
    IMPROVE_DRAWS = 20, /* .. so many each */
};

static const double IMPROVE_SHARE = 0.99;

collapsed_settings collapsed_defaults(uint64_t seed)
{
    return (collapsed_settings){
        .seed = seed,
        .explore = explore_defaults(seed),
        .fit = table_fit_defaults(seed),
        .capacity = 1000000,
        .expansions = 40000,
        .draws = 2048,
        .rounds = COLLAPSED_USUAL_ROUNDS,
        .news = COLLAPSED_NEWS,
        .agree = 0.05,
        .error = COLLAPSED_ERROR,
        .sampled = 10000,
    };
}

int collapsed_create(collapsed **out, const branch_problem *problem, const alignment *a,
                     const int *taxon, topology_model *trees, const collapsed_settings *settings,
                     pool *threads)
{
    *out = NULL;
    if (settings->draws < 1 || settings->rounds < 1 || settings->rounds > COLLAPSED_ROUNDS ||
        settings->fit.batch < 1)
        return ART_ERR_USAGE;
    collapsed *c = mem_zeros(1, sizeof *c);
    if (!c)
        return ART_ERR_NOMEM;
    c->problem = problem;
    c->trees = trees;
    c->set = *settings;
    c->threads = threads;
    table_fit_init(&c->fit, trees, &settings->fit, threads);
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

void collapsed_free(collapsed *c)
{
    if (!c)
        return;
    table_fit_free(&c->fit);
    evidence_team_free(c->team);
    explorer_free(c->explorer);
    topology_table_free(&c->table);
    free(c->drawn);
    free(c->log_q);
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

/* No infinity in a file. */
static double bounded(double x)
{
    return fmax(-DBL_MAX, fmin(x, DBL_MAX));
}

static int improve(collapsed *c)
{
    table_improvement found;
    int status = table_improve(&found, &c->table, c->team, IMPROVE_SHARE,
                               affordable_trees(MOST_IMPROVED, c->problem->n_taxa, 2),
                               IMPROVE_DRAWS, c->set.seed, (uint32_t)c->n_rounds);
    c->improved = found.trees;
    c->inside = bounded(sqrt(found.full.variance));
    return status;
}

static int begin_fit(collapsed *c)
{
    int status = improve(c);
    if (!status)
        status = table_fit_begin(&c->fit, &c->table, c->ended);
    if (!status)
        c->stage = c->ended ? COLLAPSED_POLISH : COLLAPSED_FIT;
    return status;
}

static void begin_draws(collapsed *c)
{
    c->stage = COLLAPSED_DRAW;
    c->looked = c->found = 0;
    for (size_t i = 0; i < c->table.count; i++)
        c->table.mark[i] &= (uint8_t)~TABLE_DRAWN;
    c->weights = c->outside = c->missed = (log_mean){0};
    c->has_draws = false;
    c->round[c->n_rounds] =
        (collapsed_round){.gap = c->fit.gap, .log_table = collapsed_log_table(c)};
}

static int fit(collapsed *c, diag *d)
{
    bool over;
    int status = table_fit_step(&c->fit, c->hurry, &over, d);
    if (!status && over && c->stage == COLLAPSED_FIT)
        begin_draws(c);
    else if (!status && over)
        c->stage = COLLAPSED_DONE;
    return status;
}

/* Draws all of the round's trees. */
static int make_draws(collapsed *c)
{
    table_fit_swap(&c->fit);
    int status = c->trees->ops->sample(c->trees, c->drawn, c->log_q, c->set.draws, c->set.seed,
                                       RNG_TOPOLOGY, (uint32_t)c->n_rounds, 0);
    table_fit_swap(&c->fit);
    c->has_draws = status == ART_OK;
    return status;
}

bool collapsed_is_complete(const collapsed *c, const collapsed_round *r)
{
    const double apart = fabs(r->log_table - r->log_network - log1p(-r->missed));
    return r->news <= c->set.news && r->network_error < DBL_MAX &&
           apart <= fmax(c->set.agree, 3 * r->network_error);
}

/* What the draws of the round have shown, once all are dealt with. */
static void end_round(collapsed *c)
{
    collapsed_round *r = &c->round[c->n_rounds++];
    const log_mean *all = &c->weights, *out = &c->outside;
    const double scale = log_mean_value(out) - r->log_table; /* log of the weight outside / Z */
    const double outside = exp(scale) / (1 + exp(scale));
    const double missed = exp(log_mean_value(&c->missed) - log_mean_value(out));
    r->trees = (double)c->table.count;
    r->steps = (double)table_fit_steps(&c->fit);
    r->log_network = bounded(log_mean_value(all));
    r->network_error = bounded(log_mean_error(all));
    r->new_trees = (double)c->found;
    r->missed = outside > 0 ? outside * missed : 0;
    r->news = outside - r->missed;
    r->spread = isfinite(scale) ? log_mean_error(out) * sqrt((double)out->count) * exp(scale) : 0;
    r->error = r->spread / sqrt(c->set.sampled);
    /* more rounds do not lower the error that comes of what a full table cannot take */
    r->done = collapsed_is_complete(c, r) && (r->error <= c->set.error || r->missed > 0);
    c->expanded_before = explorer_counts(c->explorer)->expanded;
    const bool is_rough = c->set.fit.polish > 0 && c->fit.gap > c->set.fit.polish;
    c->ended = r->done != 0 || c->hurry || c->n_rounds >= c->set.rounds;
    if (!c->ended)
        c->stage = COLLAPSED_EXPLORE;
    else
        c->stage = is_rough && !c->hurry ? COLLAPSED_IMPROVE : COLLAPSED_DONE;
}

/* Deals with some of the draws: what is new enters the table. */
static int look_at_draws(collapsed *c)
{
    int status = c->has_draws ? ART_OK : make_draws(c);
    const size_t n_decisions = c->table.n_decisions;
    const double prior = log_topologies(c->problem->n_taxa);
    const int64_t left = c->set.draws - c->looked;
    const int count = left < DRAW_CHUNK ? (int)left : DRAW_CHUNK;
    const int32_t *drawn = c->drawn + (size_t)c->looked * n_decisions;
    const double *log_q = c->log_q + c->looked;
    bool is_new[DRAW_CHUNK];
    double g[DRAW_CHUNK];
    int64_t found = 0;
    for (int i = 0; i < count && !status; i++) {
        const int64_t at = topology_table_find(&c->table, drawn + (size_t)i * n_decisions);
        is_new[i] = at < 0 || c->table.mark[at] & TABLE_DRAWN;
    }
    if (!status)
        status = explorer_add(c->explorer, g, drawn, (size_t)count, &found);
    for (int i = 0; i < count && !status; i++) {
        const double weight = g[i] - prior - log_q[i];
        const bool is_missed = topology_table_find(&c->table, drawn + (size_t)i * n_decisions) < 0;
        log_mean_add(&c->weights, weight);
        log_mean_add(&c->outside, is_new[i] ? weight : -HUGE_VAL);
        log_mean_add(&c->missed, is_new[i] && is_missed ? weight : -HUGE_VAL);
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
        return begin_fit(c);
    case COLLAPSED_FIT:
    case COLLAPSED_POLISH:
        return fit(c, d);
    case COLLAPSED_DRAW:
        return look_at_draws(c);
    case COLLAPSED_DONE:
        break;
    }
    return ART_OK;
}

void collapsed_settle(collapsed *c)
{
    if (!c->is_settled)
        table_fit_swap(&c->fit);
    c->is_settled = true;
}

/* What a checkpoint holds of it, beside its parts. */
enum { ROUND = sizeof(collapsed_round) / sizeof(double), PARTS = 3 };

static void list_parts(tensor_part out[PARTS], collapsed *c)
{
    out[0] = (tensor_part){"collapsed.counts", TENSOR_I64, 1, COLLAPSED_COUNTS, c->saved_counts};
    out[1] = (tensor_part){"collapsed.levels", TENSOR_F64, 1, COLLAPSED_LEVELS, c->saved_levels};
    out[2] = (tensor_part){"collapsed.rounds", TENSOR_F64, COLLAPSED_ROUNDS, ROUND, c->round};
}

int collapsed_save(collapsed *c, safetensors *s)
{
    const int64_t counts[COLLAPSED_COUNTS] = {c->stage, c->n_rounds, c->expanded_before, c->looked,
                                              c->found, c->ended,    c->is_settled};
    tensor_part list[PARTS];
    memcpy(c->saved_counts, counts, sizeof counts);
    c->saved_levels[0] = c->inside;
    log_mean_store(c->saved_levels + 1, &c->weights);
    log_mean_store(c->saved_levels + 1 + LOG_MEAN_NUMBERS, &c->outside);
    log_mean_store(c->saved_levels + 1 + 2 * LOG_MEAN_NUMBERS, &c->missed);
    list_parts(list, c);
    int status = tensor_parts_save(s, list, PARTS);
    if (!status)
        status = topology_table_save(&c->table, s);
    if (!status)
        status = explorer_save(c->explorer, s);
    return status ? status : table_fit_save(&c->fit, s);
}

/* Whether the counts of a checkpoint lead nowhere that does not exist. */
static bool counts_are_right(const collapsed *c)
{
    const int64_t *n = c->saved_counts;
    const int64_t stage = n[0], rounds = n[1], looked = n[3];
    const bool is_after = stage == COLLAPSED_DONE || stage == COLLAPSED_POLISH ||
                          (stage == COLLAPSED_IMPROVE && n[5] != 0);
    return stage >= COLLAPSED_EXPLORE && stage <= COLLAPSED_DONE && looked >= 0 &&
           looked <= c->set.draws && rounds >= is_after && rounds < COLLAPSED_ROUNDS + is_after;
}

static int load_state(collapsed *c, safetensors *s, const char *file, diag *d)
{
    tensor_part list[PARTS];
    list_parts(list, c);
    int status = tensor_parts_load(list, PARTS, s, file, d);
    if (status)
        return status;
    const int64_t *n = c->saved_counts;
    const double *m = c->saved_levels;
    c->inside = m[0];
    if (!counts_are_right(c) || !log_mean_restore(&c->weights, m + 1) ||
        !log_mean_restore(&c->outside, m + 1 + LOG_MEAN_NUMBERS) ||
        !log_mean_restore(&c->missed, m + 1 + 2 * LOG_MEAN_NUMBERS))
        return tensor_parts_error(d, file, "a stage that does not exist");
    c->stage = (collapsed_stage)n[0];
    c->n_rounds = (int)n[1];
    c->expanded_before = n[2];
    c->looked = n[3];
    c->found = n[4];
    c->ended = n[5] != 0;
    c->is_settled = n[6] != 0;
    c->has_draws = false;
    return ART_OK;
}

int collapsed_load(collapsed *c, safetensors *s, const char *file, diag *d)
{
    int status = load_state(c, s, file, d);
    if (!status)
        status = topology_table_load(&c->table, s, file, d);
    if (!status)
        status = explorer_load(c->explorer, s, file, d);
    if (!status)
        status = table_fit_load(&c->fit, &c->table, s, file, d);
    if (!status && c->stage > COLLAPSED_IMPROVE && !c->fit.trainer)
        status = tensor_parts_error(d, file, "a stage without its fit");
    return status;
}
