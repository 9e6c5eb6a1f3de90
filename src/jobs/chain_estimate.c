#include "jobs/chain_estimate.h"

#include "artreeformer.h"
#include "base/host.h"
#include "base/mem.h"
#include "branch/evidence_batch.h"
#include "branch/settings.h"
#include "chain/tree_chains.h"
#include "collapsed/affordable.h"
#include "collapsed/chain_answer.h"
#include "collapsed/joint_stage.h"
#include "collapsed/parameter_stage.h"
#include "collapsed/search.h"
#include "collapsed/search_worker.h"
#include "pars/stepwise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    TREES = 16,
    ROOM = 20000,  /* trees in the table of a trial */
    NEIGHBOURS = 6 /* new ones of a tree that is expanded, about */
};
static const double SECONDS = 0.5;      /* of every kind of operation, at least one of them */
static const double START_LENGTH = 0.1; /* from which the first fits start */

enum { BLOCK_TAXA = 200, CLIMB_TAXA = 60 }; /* at most: what takes a few seconds */

/* The part of the data on which is measured: some of the sequences. */
typedef struct trial {
    alignment part;
    int taxon[BLOCK_TAXA]; /* their rows, spread over all */
    double taxa;           /* how many times more taxa .. */
    double sites;          /* .. and site patterns the whole has */
    collapsed_settings set;
    branch_posterior problem;
    pool *threads;
    evidence_batch *team;
    int32_t *decision; /* [TREES][N-3] parsimonious trees */
    double *length;    /* [TREES][E] */
} trial;

static void trial_free(trial *t)
{
    evidence_batch_free(t->team);
    branch_posterior_free(&t->problem);
    free(t->decision);
    free(t->length);
}

/* At the parameters that the whole has. */
static int trial_init(trial *t, const branch_posterior *whole, const estimate_subject *subject,
                      int most_taxa, pool *threads)
{
    const alignment *a = subject->alignment;
    *t = (trial){.part = *a, .set = collapsed_defaults(1), .threads = threads};
    if (t->part.n_taxa > most_taxa)
        t->part.n_taxa = most_taxa;
    for (int i = 0; i < t->part.n_taxa; i++)
        t->taxon[i] = (int)((int64_t)i * a->n_taxa / t->part.n_taxa);
    const size_t n_decisions = (size_t)t->part.n_taxa - 3, edges = 2 * (size_t)t->part.n_taxa - 3;
    stepwise *s = NULL;
    int status =
        branch_posterior_init_free(&t->problem, &t->part, t->taxon, subject->model, subject->prior);
    if (!status)
        branch_posterior_recentre(&t->problem, whole->centre, whole->spread);
    t->taxa = (double)a->n_taxa / t->part.n_taxa;
    t->sites = status ? 1 : (double)whole->total.tiles / (double)t->problem.total.tiles;
    if (!status)
        status = evidence_batch_create(&t->team, &t->problem, threads);
    if (!status)
        status = stepwise_create(&s, &t->part, t->taxon);
    t->decision = mem_zeros(TREES * n_decisions + 1, sizeof *t->decision);
    t->length = mem_zeros(TREES * edges, sizeof *t->length);
    if (!status && (!t->decision || !t->length))
        status = ART_ERR_NOMEM;
    for (uint32_t i = 0; i < TREES && !status; i++)
        stepwise_tree(s, t->decision + i * n_decisions, rng_at(1, RNG_START, 0, i), NULL);
    for (size_t i = 0; i < TREES * edges && !status; i++)
        t->length[i] = START_LENGTH;
    stepwise_free(s);
    return status;
}

/* Seconds of a tree; afterwards lengths are at the modes. */
static double time_fits(trial *t, evidence_shape shape, int draws)
{
    evidence_job job[TREES];
    const size_t n_decisions = (size_t)t->part.n_taxa - 3, edges = 2 * (size_t)t->part.n_taxa - 3;
    for (uint32_t i = 0; i < TREES; i++)
        job[i] = (evidence_job){.decision = t->decision + i * n_decisions,
                                .length = t->length + i * edges,
                                .tolerance = t->set.answer.tolerance,
                                .shape = shape,
                                .draws = draws,
                                .stream = rng_at(1, RNG_TREE_LENGTHS, 0, i)};
    const double begun = clock_seconds();
    evidence_batch_run(t->team, job, TREES, NULL);
    return (clock_seconds() - begun) / TREES;
}

static chains_settings chains_of(const collapsed_settings *set)
{
    chains_settings plan = {set->chains.chain, set->seed, .ladders = set->chains.chains,
                            .temperatures = 1};
    plan.chain.jump = plan.chain.redraw = 0; /* there is no density yet */
    return plan;
}

/* The first tree becomes the peak above it: chains begin at peaks, and from lower trees nearly
 * every step of theirs changes much, and takes longer than later ones. */
static int climb_once(trial *t)
{
    search_worker w;
    fitted_tree peak = {0}, first = {.decision = t->decision, .length = t->length};
    int64_t scored = 0;
    int status = search_worker_init(&w, &t->problem, &t->part, t->taxon, &t->set.search);
    if (status)
        return status;
    status = fitted_tree_init(&peak, &t->problem);
    if (!status && search_climb(&w, &peak, rng_at(1, RNG_START, 0, 0), &scored, NULL) >= 0 &&
        peak.status == ART_OK)
        fitted_tree_copy(&first, &peak, &t->problem);
    fitted_tree_free(&peak);
    search_worker_free(&w);
    return status;
}

static int time_blocks(double *seconds, trial *t)
{
    const chains_settings plan = chains_of(&t->set);
    tree_chains *x = NULL;
    int blocks = 0;
    int status = climb_once(t);
    if (!status)
        status = tree_chains_create(&x, &t->problem, &plan, t->threads);
    for (int i = 0; i < plan.ladders && !status; i++)
        status = tree_chains_start(x, i, t->decision, t->length);
    const double begun = clock_seconds();
    double used = 0;
    for (; !status && used < SECONDS; blocks++) {
        status = tree_chains_run(x, 1, NULL, NULL, NULL);
        used = clock_seconds() - begun;
    }
    *seconds = used / fmax(1, blocks);
    tree_chains_free(x);
    return status;
}

/* The same of chains with branch lengths. */
static int time_joint_blocks(double *seconds, trial *t)
{
    joint_stage *s = NULL;
    int status = joint_stage_create(&s, &t->problem, &t->set.joint, 1, t->threads);
    if (!status) /* there are as many parsimonious trees */
        status = joint_stage_start(s, t->decision, t->length);
    const double begun = clock_seconds();
    double used = 0;
    while (!status && used < SECONDS) {
        status = joint_stage_advance(s, NULL);
        used = clock_seconds() - begun;
    }
    if (!status)
        *seconds = used / fmax(1, (double)s->rounds.blocks);
    joint_stage_free(s);
    return status;
}

static bool is_joint(const collapsed_settings *set, int n_taxa)
{
    return n_taxa > set->joint.taxa;
}

/* The first stage without its climbs, which are timed later: a parsimony tree gives the parameters,
 * also those of the whole, and is the reference of all others. Every climb is followed by as many
 * fits. */
static int time_parameters(double *seconds, branch_posterior *whole, trial *t)
{
    const int climbs = parameter_stage_climbs(whole->n_taxa);
    parameter_stage *s = NULL;
    int status =
        parameter_stage_create(&s, &t->problem, &t->part, t->taxon, &t->set.search, t->set.seed);
    if (!status)
        s->most_climbs = 0;
    const double begun = clock_seconds();
    if (!status)
        status = parameter_stage_advance(s, NULL);
    const double fitted = clock_seconds();
    while (!status && !s->is_done)
        status = parameter_stage_advance(s, NULL);
    if (!status) {
        *seconds = (1 + climbs) * (fitted - begun) + clock_seconds() - fitted;
        branch_posterior_recentre(whole, t->problem.centre, t->problem.spread);
    }
    parameter_stage_free(s);
    return status;
}

/* Free parameters, which become those of the whole; fits and blocks. */
static int time_chains(chain_estimate *out, branch_posterior *whole,
                       const estimate_subject *subject, pool *threads)
{
    trial t = {0};
    const alignment *a = subject->alignment;
    int status = trial_init(&t, whole, subject, BLOCK_TAXA, threads);
    const double scale = t.taxa * t.sites;
    if (!status && whole->free.n_free)
        status = time_parameters(&out->parameters, whole, &t);
    out->parameters *= scale;
    if (!status) {
        const bool is_full = a->n_taxa <= t.set.answer.full_taxa;
        out->fit = scale * time_fits(&t, EVIDENCE_DIAGONAL, 0);
        out->evaluate =
            scale * t.taxa *
            time_fits(&t, is_full ? EVIDENCE_SKEWED : EVIDENCE_DIAGONAL, t.set.answer.length_draws);
        status = is_joint(&t.set, a->n_taxa) ? time_joint_blocks(&out->block, &t)
                                             : time_blocks(&out->block, &t);
        out->block *= scale;
        if (is_joint(&t.set, a->n_taxa)) /* blocks have fewer steps */
            out->block *= (double)joint_stage_block(&t.set.joint, a->n_taxa) /
                          joint_stage_block(&t.set.joint, t.problem.n_taxa);
    }
    trial_free(&t);
    return status;
}

/* Climbs, as many at a time as the search makes, then the neighbours of some of the best trees. */
static int run_search(chain_estimate *out, trial *t)
{
    tree_table table = {0};
    tree_search *x = NULL;
    int64_t found;
    out->reached = INFINITY;
    int status = tree_table_init(&table, t->part.n_taxa, ROOM);
    if (!status)
        status =
            tree_search_create(&x, &t->problem, &t->part, t->taxon, &table, &t->set, t->threads);
    const int climbs = pool_threads(t->threads);
    double begun = clock_seconds();
    if (!status)
        status = tree_search_start(x, climbs);
    out->climb = (clock_seconds() - begun) / climbs;
    begun = clock_seconds();
    double used = 0;
    while (!status && used < SECONDS) {
        const int64_t before = tree_search_counts(x)->expanded;
        status = tree_search_expand(x, &found);
        used = clock_seconds() - begun;
        if (!status && tree_search_counts(x)->expanded == before) {
            out->reached = (double)before;
            break;
        }
    }
    if (!status)
        out->expand = used / fmax(1, (double)tree_search_counts(x)->expanded);
    tree_search_free(x);
    tree_table_free(&table);
    return status;
}

static int time_search(chain_estimate *out, const branch_posterior *whole,
                       const estimate_subject *subject, pool *threads)
{
    trial t = {0};
    int status = trial_init(&t, whole, subject, CLIMB_TAXA, threads);
    if (!status)
        status = run_search(out, &t);
    if (t.taxa > 1)
        out->reached = INFINITY;
    out->climb *= t.taxa * t.taxa * t.sites;
    out->expand *= t.taxa * t.sites;
    if (whole->free.n_free) /* one at a time */
        out->parameters +=
            parameter_stage_climbs(whole->n_taxa) * pool_threads(threads) * out->climb;
    trial_free(&t);
    return status;
}

static double affordable(const collapsed_settings *set, int most, int least, int n_taxa)
{
    const affordable_settings limit = {set->affordable.taxa, (size_t)least};
    return (double)affordable_trees(&limit, (size_t)most, n_taxa, 2);
}

/* Draws of a pass. */
static double pass_draws(const collapsed_settings *set, int n_taxa)
{
    return affordable(set, set->answer.draws, set->answer.least_draws, n_taxa);
}

/* Climbs that are enough if all of them find the top. */
static int least_climbs(const collapsed_settings *set, int n_taxa)
{
    return n_taxa > set->route.table_taxa ? set->route.starts + set->route.start_batch
                                          : set->search.starts;
}

/* The whole, with so many blocks of every chain and passes of draws. */
static double in_all(const chain_estimate *e, const collapsed_settings *set, int n_taxa,
                     double blocks, double passes)
{
    const chain_stage_settings *c = &set->chains;
    const chain_answer_settings *answer = &set->answer;
    const double expanded = n_taxa > set->route.table_taxa ? 0 : (double)set->route.expansions;
    const double rounds = 1 + log2(fmax(1, blocks / (double)c->rounds.first_blocks));
    const double draws = pass_draws(set, n_taxa) * passes;
    const double evaluated = affordable(set, answer->evaluated, answer->least_evaluated, n_taxa);
    const int climbs = least_climbs(set, n_taxa);
    if (is_joint(set, n_taxa))
        return e->parameters + climbs * e->climb + blocks * e->block;
    return e->parameters + climbs * e->climb + expanded * e->expand + blocks * e->block +
           (rounds * c->pilot_draws + draws) * e->fit + evaluated * e->evaluate;
}

/* Bytes of the trees that are met: the table of the search, kept states and draws, the set of those
 * that differ, the density of clades, and the text of the files. */
static double met_bytes(const collapsed_settings *set, int n_taxa)
{
    const chain_stage_settings *c = &set->chains;
    const double key = 4.0 * (n_taxa - 3) + 8, text = 12.0 * n_taxa;
    const double room = (double)c->room.memory / (c->chains * key);
    const double states = c->chains * fmax((double)c->room.least, fmin(room, (double)c->room.most));
    const double table =
        n_taxa > set->route.table_taxa
            ? 0
            : (double)set->route.expansions * NEIGHBOURS * (double)tree_table_bytes(n_taxa);
    return table + (states + ESTIMATE_PASSES * pass_draws(set, n_taxa)) * (6 * key + text);
}

int estimate_chains(chain_estimate *out, const estimate_subject *subject, pool *threads)
{
    const alignment *a = subject->alignment;
    branch_posterior whole = {0};
    const collapsed_settings set = collapsed_defaults(1);
    const chains_settings plan = chains_of(&set);
    const double most = (double)set.chains.rounds.most_blocks;
    const int n_threads = pool_threads(threads);
    *out = (chain_estimate){0};
    if (a->n_taxa < 4) /* there is but one tree */
        return ART_OK;
    int status = branch_posterior_init_free(&whole, a, NULL, subject->model, subject->prior);
    if (!status)
        status = time_chains(out, &whole, subject, threads);
    if (!status)
        status = time_search(out, &whole, subject, threads);
    if (!status) {
        out->seconds = in_all(out, &set, a->n_taxa, fmin(ESTIMATE_BLOCKS, most), ESTIMATE_PASSES);
        out->most_seconds = in_all(out, &set, a->n_taxa, most, set.answer.passes);
        const double search = (double)tree_search_memory(&whole, &set.search, n_threads);
        const double fits = n_threads * (double)topology_evidence_memory(&whole);
        const bool joint = is_joint(&set, a->n_taxa);
        const double chains = joint ? (double)joint_stage_memory(&whole, &set.joint)
                                    : (double)tree_chains_memory(&whole, &plan);
        out->search_bytes = search + fits;
        /* the search gives its memory back before chains begin */
        out->bytes = fits + fmax(search, chains) + (joint ? 0 : met_bytes(&set, a->n_taxa));
    }
    branch_posterior_free(&whole);
    return status;
}
