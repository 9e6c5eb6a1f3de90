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

enum { DRAW_CHUNK = 256 }; /* draws that are dealt with at a time */

int rounds_create(rounds **out, const branch_posterior *problem, const alignment *a,
                  const int *taxon, topology_model *trees, const collapsed_settings *settings,
                  pool *threads)
{
    *out = NULL;
    if (settings->rounds.draws < 1 || settings->rounds.rounds < 1 ||
        settings->rounds.rounds > ROUNDS_MOST || settings->fit.batch < 1)
        return ART_ERR_USAGE;
    rounds *c = mem_zeros(1, sizeof *c);
    if (!c)
        return ART_ERR_NOMEM;
    c->problem = problem;
    c->trees = trees;
    c->set = *settings;
    c->threads = threads;
    network_fit_init(&c->fit, trees, settings, threads);
    const size_t n_decisions = (size_t)problem->n_taxa - 3, draws = (size_t)settings->rounds.draws;
    c->drawn = mem_zeros(draws * n_decisions, sizeof *c->drawn);
    c->log_q = mem_zeros(draws, sizeof *c->log_q);
    int status = c->drawn && c->log_q
                     ? tree_table_init(&c->table, problem->n_taxa, settings->table.capacity)
                     : ART_ERR_NOMEM;
    c->table.set = settings->table;
    if (!status)
        status =
            tree_search_create(&c->tree_search, problem, a, taxon, &c->table, settings, threads);
    if (!status)
        status = evidence_batch_create(&c->team, problem, threads);
    if (status)
        rounds_free(c);
    else
        *out = c;
    return status;
}

void rounds_free(rounds *c)
{
    if (!c)
        return;
    network_fit_free(&c->fit);
    evidence_batch_free(c->team);
    tree_search_free(c->tree_search);
    tree_table_free(&c->table);
    free(c->drawn);
    free(c->log_q);
    free(c);
}

void rounds_finish_now(rounds *c)
{
    c->finish_now = true;
}

double rounds_log_table(const rounds *c)
{
    return tree_table_log_sum(&c->table, 0, 0) - log_topologies(c->problem->n_taxa);
}

double rounds_answer_draws(const rounds *c)
{
    const final_settings *set = &c->set.final;
    return set->least_network * set->least_passes * SAMPLER_REPEATS * c->set.sampler.particles;
}

static int explore(rounds *c)
{
    int done = 0;
    const int64_t expanded = tree_search_counts(c->tree_search)->expanded - c->expanded_before;
    int status = ART_OK;
    if (expanded >= c->set.rounds.expansions || (c->finish_now && c->table.count > 0))
        done = 1;
    else
        status = tree_search_advance(c->tree_search, &done);
    if (done)
        c->stage = ROUNDS_IMPROVE;
    return status;
}

/* No infinity in a file. */
static double bounded(double x)
{
    return fmax(-DBL_MAX, fmin(x, DBL_MAX));
}

static int improve(rounds *c)
{
    table_improvement found;
    blend_settings set = c->set.blend;
    set.most = affordable_trees(&c->set.affordable, set.most, c->problem->n_taxa, 2);
    int status =
        table_improve(&found, &c->table, c->team, &set, c->set.seed, (uint32_t)c->n_rounds);
    c->improved = found.trees;
    c->inside = bounded(sqrt(found.full.variance));
    return status;
}

static int begin_fit(rounds *c)
{
    int status = improve(c);
    if (!status)
        status = network_fit_begin(&c->fit, &c->table, c->ended);
    if (!status)
        c->stage = c->ended ? ROUNDS_POLISH : ROUNDS_FIT;
    return status;
}

static void begin_draws(rounds *c)
{
    c->stage = ROUNDS_DRAW;
    c->looked = c->found = 0;
    for (size_t i = 0; i < c->table.count; i++)
        c->table.mark[i] &= (uint8_t)~TREE_DRAWN;
    c->weights = c->outside = c->missed = (log_mean){0};
    c->has_draws = false;
    c->round[c->n_rounds] =
        (round_figures){.fit_kl = c->fit.fit_kl, .log_table = rounds_log_table(c)};
}

static int fit(rounds *c, diag *d)
{
    bool over;
    int status = network_fit_step(&c->fit, c->finish_now, &over, d);
    if (!status && over && c->stage == ROUNDS_FIT)
        begin_draws(c);
    else if (!status && over)
        c->stage = ROUNDS_DONE;
    return status;
}

/* Draws all of the round's trees. */
static int make_draws(rounds *c)
{
    network_fit_swap(&c->fit);
    int status = c->trees->ops->sample(c->trees, c->drawn, c->log_q, c->set.rounds.draws,
                                       c->set.seed, RNG_TOPOLOGY, (uint32_t)c->n_rounds, 0);
    network_fit_swap(&c->fit);
    c->has_draws = status == ART_OK;
    return status;
}

bool rounds_is_complete(const rounds *c, const round_figures *r)
{
    const double apart = fabs(r->log_table - r->log_network - log1p(-r->missed));
    return r->new_mass <= c->set.rounds.new_mass && r->network_error < DBL_MAX &&
           apart <= fmax(c->set.rounds.agree, c->set.rounds.agree_errors * r->network_error);
}

/* What the draws of the round have shown, once all are dealt with. */
static void end_round(rounds *c)
{
    round_figures *r = &c->round[c->n_rounds++];
    const log_mean *all = &c->weights, *out = &c->outside;
    const double scale = log_mean_value(out) - r->log_table; /* log of the weight outside / Z */
    const double outside = exp(scale) / (1 + exp(scale));
    const double missed = exp(log_mean_value(&c->missed) - log_mean_value(out));
    r->trees = (double)c->table.count;
    r->steps = (double)network_fit_steps(&c->fit);
    r->log_network = bounded(log_mean_value(all));
    r->network_error = bounded(log_mean_error(all));
    r->new_trees = (double)c->found;
    r->missed = outside > 0 ? outside * missed : 0;
    r->new_mass = outside - r->missed;
    r->spread = isfinite(scale) ? log_mean_error(out) * sqrt((double)out->count) * exp(scale) : 0;
    r->error = r->spread / sqrt(rounds_answer_draws(c));
    /* more rounds do not lower the error that comes of what a full table cannot take */
    r->done = rounds_is_complete(c, r) && (r->error <= c->set.error || r->missed > 0);
    c->expanded_before = tree_search_counts(c->tree_search)->expanded;
    const bool is_rough = c->set.fit.polish > 0 && c->fit.fit_kl > c->set.fit.polish;
    c->ended = r->done != 0 || c->finish_now || c->n_rounds >= c->set.rounds.rounds;
    if (!c->ended)
        c->stage = ROUNDS_EXPLORE;
    else
        c->stage = is_rough && !c->finish_now ? ROUNDS_IMPROVE : ROUNDS_DONE;
}

/* Deals with some of the draws: what is new enters the table. */
static int look_at_draws(rounds *c)
{
    int status = c->has_draws ? ART_OK : make_draws(c);
    const size_t n_decisions = c->table.n_decisions;
    const double prior = log_topologies(c->problem->n_taxa);
    const int64_t left = c->set.rounds.draws - c->looked;
    const int count = left < DRAW_CHUNK ? (int)left : DRAW_CHUNK;
    const int32_t *drawn = c->drawn + (size_t)c->looked * n_decisions;
    const double *log_q = c->log_q + c->looked;
    bool is_new[DRAW_CHUNK];
    double g[DRAW_CHUNK];
    int64_t found = 0;
    for (int i = 0; i < count && !status; i++) {
        const int64_t at = tree_table_find(&c->table, drawn + (size_t)i * n_decisions);
        is_new[i] = at < 0 || c->table.mark[at] & TREE_DRAWN;
    }
    if (!status)
        status = tree_search_add(c->tree_search, g, drawn, (size_t)count, &found);
    for (int i = 0; i < count && !status; i++) {
        const double weight = g[i] - prior - log_q[i];
        const bool is_missed = tree_table_find(&c->table, drawn + (size_t)i * n_decisions) < 0;
        log_mean_add(&c->weights, weight);
        log_mean_add(&c->outside, is_new[i] ? weight : -HUGE_VAL);
        log_mean_add(&c->missed, is_new[i] && is_missed ? weight : -HUGE_VAL);
    }
    c->looked += count;
    c->found += found;
    if (!status && c->looked == c->set.rounds.draws)
        end_round(c);
    return status;
}

int rounds_advance(rounds *c, diag *d)
{
    switch (c->stage) {
    case ROUNDS_EXPLORE:
        return explore(c);
    case ROUNDS_IMPROVE:
        return begin_fit(c);
    case ROUNDS_FIT:
    case ROUNDS_POLISH:
        return fit(c, d);
    case ROUNDS_DRAW:
        return look_at_draws(c);
    case ROUNDS_DONE:
        break;
    }
    return ART_OK;
}

void rounds_use_averaged_weights(rounds *c)
{
    if (!c->is_settled)
        network_fit_swap(&c->fit);
    c->is_settled = true;
}

/* What a checkpoint holds of it, beside its parts. */
enum { ROUND = sizeof(round_figures) / sizeof(double), PARTS = 3 };

static void list_parts(tensor_part out[PARTS], rounds *c)
{
    out[0] = (tensor_part){"collapsed.counts", TENSOR_I64, 1, ROUNDS_COUNTS, c->saved_counts};
    out[1] = (tensor_part){"collapsed.levels", TENSOR_F64, 1, ROUNDS_LEVELS, c->saved_levels};
    out[2] = (tensor_part){"collapsed.rounds", TENSOR_F64, ROUNDS_MOST, ROUND, c->round};
}

int rounds_save(rounds *c, safetensors *s)
{
    const int64_t counts[ROUNDS_COUNTS] = {c->stage, c->n_rounds, c->expanded_before, c->looked,
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
        status = tree_table_save(&c->table, s);
    if (!status)
        status = tree_search_save(c->tree_search, s);
    return status ? status : network_fit_save(&c->fit, s);
}

/* Whether the counts of a checkpoint lead nowhere that does not exist. */
static bool counts_are_right(const rounds *c)
{
    const int64_t *n = c->saved_counts;
    const int64_t stage = n[0], made = n[1], looked = n[3];
    const bool is_after =
        stage == ROUNDS_DONE || stage == ROUNDS_POLISH || (stage == ROUNDS_IMPROVE && n[5] != 0);
    return stage >= ROUNDS_EXPLORE && stage <= ROUNDS_DONE && looked >= 0 &&
           looked <= c->set.rounds.draws && made >= is_after && made < ROUNDS_MOST + is_after;
}

static int load_state(rounds *c, safetensors *s, const char *file, diag *d)
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
    c->stage = (rounds_stage)n[0];
    c->n_rounds = (int)n[1];
    c->expanded_before = n[2];
    c->looked = n[3];
    c->found = n[4];
    c->ended = n[5] != 0;
    c->is_settled = n[6] != 0;
    c->has_draws = false;
    return ART_OK;
}

int rounds_load(rounds *c, safetensors *s, const char *file, diag *d)
{
    int status = load_state(c, s, file, d);
    if (!status)
        status = tree_table_load(&c->table, s, file, d);
    if (!status)
        status = tree_search_load(c->tree_search, s, file, d);
    if (!status)
        status = network_fit_load(&c->fit, &c->table, s, file, d);
    if (!status && c->stage > ROUNDS_IMPROVE && !c->fit.trainer)
        status = tensor_parts_error(d, file, "a stage without its fit");
    return status;
}
