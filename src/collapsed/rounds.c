#include "collapsed/rounds.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "collapsed/affordable.h"
#include "train/particles.h"

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
        status = tree_search_create(&c->search, problem, a, taxon, &c->table, settings, threads);
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
    tree_search_free(c->search);
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

double rounds_open_share(const rounds *c)
{
    return c->problem->free.n_free ? c->set.route.open : 0;
}

/* Whether a search has found nearly all there is, though it has not ended: the draws will
 * show what is missing, and later searches look for it. */
static bool is_nearly_whole(const rounds *c, int64_t expanded)
{
    return expanded >= c->set.route.expansions &&
           tree_search_unexpanded(c->search) <= rounds_open_share(c);
}

static int explore(rounds *c)
{
    int done = 0;
    const int64_t expanded = tree_search_counts(c->search)->expanded - c->expanded_before;
    int status = ART_OK;
    if (expanded >= c->set.rounds.expansions || (c->finish_now && c->table.count > 0) ||
        is_nearly_whole(c, expanded))
        done = 1;
    else
        status = tree_search_advance(c->search, &done);
    if (done)
        c->stage = ROUNDS_IMPROVE;
    return status;
}

static int improve(rounds *c)
{
    table_improvement found;
    blend_settings set = c->set.blend;
    c->improved = 0;
    if (c->n_rounds > 0 && interrupt_is_due(c->stop))
        return ART_OK; /* the blend of the last round stays */
    set.most = affordable_trees(&c->set.affordable, set.most, c->problem->n_taxa, 2);
    int status = table_improve(&found, &c->table, c->team, &set, c->set.seed, (uint32_t)c->n_rounds,
                               c->stop);
    c->improved = found.trees;
    c->inside = found.full.variance >= 0 ? sqrt(found.full.variance) : HUGE_VAL;
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
    int status = topology_model_sample(c->trees, c->drawn, c->log_q, c->set.rounds.draws,
                                       c->set.seed, RNG_TOPOLOGY, (uint32_t)c->n_rounds, 0);
    network_fit_swap(&c->fit);
    c->has_draws = status == ART_OK;
    return status;
}

bool rounds_is_complete(const rounds *c, const round_figures *r)
{
    const double apart = fabs(r->log_table - r->log_network - log1p(-r->missed));
    return r->new_mass <= c->set.rounds.new_mass && isfinite(r->network_error) &&
           apart <= fmax(c->set.rounds.agree, c->set.rounds.agree_errors * r->network_error);
}

/* The results of the draws of the round, once all are processed. */
static void end_round(rounds *c)
{
    round_figures *r = &c->round[c->n_rounds++];
    const log_mean *all = &c->weights, *out = &c->outside;
    const double scale = log_mean_value(out) - r->log_table; /* log of the weight outside / Z */
    const double outside = exp(scale) / (1 + exp(scale));
    const double missed = exp(log_mean_value(&c->missed) - log_mean_value(out));
    r->trees = (double)c->table.count;
    r->steps = (double)network_fit_steps(&c->fit);
    r->log_network = log_mean_value(all);
    r->network_error = log_mean_error(all);
    r->new_trees = (double)c->found;
    r->missed = outside > 0 ? outside * missed : 0;
    r->new_mass = outside - r->missed;
    r->spread = isfinite(scale) ? log_mean_error(out) * sqrt((double)out->count) * exp(scale) : 0;
    r->error = r->spread / sqrt(rounds_answer_draws(c));
    /* more rounds do not lower the error that comes of what a full table cannot take */
    r->done = rounds_is_complete(c, r) && (r->error <= c->set.error || r->missed > 0);
    c->expanded_before = tree_search_counts(c->search)->expanded;
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
        status = tree_search_add(c->search, g, drawn, (size_t)count, &found);
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

void rounds_set_stop(rounds *c, const interrupt *stop)
{
    c->stop = stop;
    tree_search_set_stop(c->search, stop);
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

/* The figures of all rounds; those of rounds to come are 0. */
static void figures_fields(rounds *c, saved_state *s)
{
    round_figures *r = c->round;
    const struct {
        const char *name;
        double *first;
    } column[] = {
        {"trees", &r->trees},
        {"steps", &r->steps},
        {"log_table", &r->log_table},
        {"log_network", &r->log_network},
        {"network_error", &r->network_error},
        {"new_trees", &r->new_trees},
        {"new_mass", &r->new_mass},
        {"missed", &r->missed},
        {"spread", &r->spread},
        {"fit_kl", &r->fit_kl},
        {"error", &r->error},
        {"done", &r->done},
    };
    const size_t before = state_group(s, "round");
    for (size_t i = 0; i < sizeof column / sizeof column[0]; i++)
        state_f64_column(s, column[i].name, column[i].first, ROUNDS_MOST, sizeof *r);
    state_group_end(s, before);
}

/* Whether this stage is possible after this many rounds. */
static bool stage_is_right(const rounds *c)
{
    const bool is_after = c->stage == ROUNDS_DONE || c->stage == ROUNDS_POLISH ||
                          (c->stage == ROUNDS_IMPROVE && c->ended);
    return c->n_rounds >= is_after && c->n_rounds < ROUNDS_MOST + is_after;
}

int rounds_fields(rounds *c, saved_state *s)
{
    c->stage = (rounds_stage)state_choice(s, "rounds.stage", (int)c->stage, ROUNDS_DONE + 1);
    state_int_in(s, "rounds.made", &c->n_rounds, 0, ROUNDS_MOST);
    state_i64_in(s, "rounds.expanded_before", &c->expanded_before, 0, INT64_MAX);
    state_i64_in(s, "rounds.looked", &c->looked, 0, c->set.rounds.draws);
    state_i64_in(s, "rounds.found", &c->found, 0, INT64_MAX);
    state_bool(s, "rounds.ended", &c->ended);
    state_bool(s, "rounds.is_settled", &c->is_settled);
    state_f64(s, "rounds.inside", &c->inside);
    state_log_mean(s, "rounds.weights", &c->weights);
    state_log_mean(s, "rounds.outside", &c->outside);
    state_log_mean(s, "rounds.missed", &c->missed);
    figures_fields(c, s);
    if (state_loaded(s) && !stage_is_right(c))
        state_refuse(s, "stage %d after %d rounds, which is impossible", (int)c->stage,
                     c->n_rounds);
    if (s->is_loading)
        c->has_draws = false; /* they are a function of the round */
    tree_table_fields(&c->table, s);
    tree_search_fields(c->search, s);
    network_fit_fields(&c->fit, &c->table, s);
    if (state_loaded(s) && c->stage > ROUNDS_IMPROVE && !c->fit.trainer)
        state_refuse(s, "a stage without its fit");
    return s->status;
}
