#include "collapsed/final_sampling.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "collapsed/affordable.h"
#include "train/density_task.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MODE_CHUNK = 8 }; /* trees that are looked at in a piece of work */

double final_network_share(const rounds *c)
{
    const double outside = c->n_rounds ? c->round[c->n_rounds - 1].spread : 0;
    const double share = outside > 0 ? outside / (outside + c->inside) : 0;
    return fmax(c->set.final.least_network, fmin(share, c->set.final.most_network));
}

double final_pass_trees(const rounds *c)
{
    const tree_table *t = &c->table;
    const double share = final_network_share(c),
                 draws = (double)SAMPLER_REPEATS * c->set.sampler.particles;
    const double all = tree_table_log_sum(t, 0, 0);
    double trees = draws * share; /* if all of them are outside the table */
    for (size_t i = 0; i < t->count; i++)
        trees += fmin(1, draws * (1 - share) * exp(t->log_evidence[i] - all));
    return trees;
}

int final_sampling_create(final_sampling **out, rounds *c, branch_model *branches,
                          const taxa *names)
{
    const final_settings *set = &c->set.final;
    const int k = c->set.sampler.particles;
    *out = NULL;
    if (k < 2 || set->passes < 1 || set->passes > INT32_MAX / SAMPLER_REPEATS / k)
        return ART_ERR_USAGE;
    final_sampling *a = mem_zeros(1, sizeof *a);
    if (!a)
        return ART_ERR_NOMEM;
    a->c = c;
    a->branches = branches;
    a->set = &c->set;
    rounds_use_averaged_weights(c);
    int status = topology_model_freeze(c->trees, set->cache > 0 ? set->cache : 1);
    if (!status && topology_model_can(c->trees, TOPOLOGY_FLATTEN)) /* others propose as they are */
        status = topology_model_flatten(c->trees, set->flatness);
    if (!status)
        status = tree_sampler_create(&a->sampler, c, names, final_network_share(c));
    if (status)
        final_sampling_free(a);
    else
        *out = a;
    return status;
}

void final_sampling_free(final_sampling *a)
{
    if (!a)
        return;
    trainer_free(a->trainer);
    if (a->fit)
        a->fit->ops->free(a->fit);
    tree_sampler_free(a->sampler);
    topology_model_freeze(a->c->trees, 0);
    free(a);
}

void final_sampling_finish_now(final_sampling *a)
{
    a->finish_now = true;
}

bool final_sampling_failed(const final_sampling *a)
{
    const int passes = tree_sampler_passes(a->sampler);
    return (passes >= a->set->final.least_passes &&
            other_modes_share(&a->modes) > a->set->modes.left_out) ||
           (passes >= a->set->final.doubtful_passes &&
            tree_sampler_pareto(a->sampler) >= a->set->joint.pareto_k);
}

static size_t to_look_at(const final_sampling *a)
{
    return other_modes_trees(a->set, a->c->table.n_taxa);
}

/* Number `first` to `first` + n - 1 of `count` trees of the table in proportion to their weight:
 * one in each of equal steps of its sum. */
static void pick_trees(size_t *pick, size_t first, size_t n, size_t count, const tree_table *t)
{
    const double all = tree_table_log_sum(t, 0, 0);
    double sum = exp(t->log_evidence[0] - all);
    for (size_t i = 0, at = 0; i < n; i++) {
        while (at + 1 < t->count && sum < ((double)(first + i) + 0.5) / (double)count)
            sum += exp(t->log_evidence[++at] - all);
        pick[i] = at;
    }
}

/* What the table knows of trees. Of many it has an approximate g only, so that their lengths are
 * fitted from those that it has. */
static void fit_known(known_mode *known, double *length, const size_t *pick, size_t n,
                      const final_sampling *a)
{
    const tree_table *t = &a->c->table;
    evidence_job job[MODE_CHUNK];
    for (size_t i = 0; i < n; i++) {
        tree_table_lengths(length + i * t->n_edges, t, pick[i]);
        job[i] = (evidence_job){.decision = tree_table_decision(t, pick[i]),
                                .length = length + i * t->n_edges,
                                .tolerance = a->set->modes.tolerance,
                                .shape = EVIDENCE_DIAGONAL};
    }
    evidence_batch_run(a->c->team, job, (int)n, NULL);
    for (size_t i = 0; i < n; i++)
        known[i] = (known_mode){job[i].decision, job[i].status ? -HUGE_VAL : job[i].laplace};
}

/* A piece of the trees. */
static int look_for_modes(final_sampling *a)
{
    const tree_table *t = &a->c->table;
    const size_t count = to_look_at(a), first = a->modes.looked;
    const size_t n = count - first < MODE_CHUNK ? count - first : MODE_CHUNK;
    size_t pick[MODE_CHUNK];
    known_mode known[MODE_CHUNK];
    double *length = mem_zeros(MODE_CHUNK * t->n_edges, sizeof *length);
    if (!length)
        return ART_ERR_NOMEM;
    tree_table_lengths(length, t, (size_t)tree_table_best(t));
    const mode_starts start = {a->set->modes, a->set->seed, t->n_edges,
                               mean_length(length, t->n_edges)};
    pick_trees(pick, first, n, count, t);
    fit_known(known, length, pick, n, a);
    const int status = other_modes_look(&a->modes, a->c->team, known, n, &start, NULL);
    if (a->modes.looked == count || a->finish_now)
        a->stage = FINAL_PASSES;
    free(length);
    return status;
}

/* An error that is small because the large weights have not been met yet is none; but there is an
 * end to waiting for them. */
static bool is_enough(const final_sampling *a, int passes)
{
    const final_settings *set = &a->set->final;
    return passes >= set->least_passes && tree_sampler_error(a->sampler) <= a->set->error &&
           (passes >= set->doubtful_passes ||
            !evidence_is_doubtful(tree_sampler_pareto(a->sampler)));
}

/* After a pass: whether it was the last. */
static bool is_over(const final_sampling *a)
{
    const int passes = tree_sampler_passes(a->sampler);
    return passes > 0 && tree_sampler_between(a->sampler) &&
           (a->finish_now || passes >= a->set->final.passes || is_enough(a, passes) ||
            final_sampling_failed(a));
}

static int pass(final_sampling *a)
{
    int status = is_over(a) ? ART_OK : tree_sampler_advance(a->sampler);
    if (!status && is_over(a))
        a->stage = a->set->final.length_steps > 0 ? FINAL_LENGTHS : FINAL_DONE;
    return status;
}

/* The amortised model of branch lengths, for draws beyond the table. */
static int begin_lengths(final_sampling *a)
{
    const particles *draws = tree_sampler_particles(a->sampler);
    const size_t k = (size_t)draws->k;
    const size_t batch =
        affordable_trees(&a->set->affordable, (size_t)a->set->final.length_batch, draws->n_taxa, 1);
    const final_settings *set = &a->set->final;
    train_settings plan = train_defaults();
    plan.steps = set->length_steps;
    plan.branch_rate = set->length_rate;
    plan.decay = set->length_decay;
    plan.decay_every = set->length_steps / set->length_decay_parts;
    double *weight = mem_zeros(k, sizeof *weight), top = -HUGE_VAL;
    if (!weight)
        return ART_ERR_NOMEM;
    for (size_t i = 0; i < k; i++)
        top = fmax(top, draws->log_weight[i]);
    for (size_t i = 0; i < k; i++)
        weight[i] = exp(draws->log_weight[i] - top);
    int status = branch_density_create(&a->fit, a->branches, draws->decision, draws->length, weight,
                                       k, (int)batch, PICKS_INDEPENDENT, a->set->seed);
    free(weight);
    return status ? status : trainer_create(&a->trainer, a->fit, &plan, a->c->threads);
}

static int fit_lengths(final_sampling *a, diag *d)
{
    int status = a->trainer ? ART_OK : begin_lengths(a);
    if (!status && a->trainer->step < a->set->final.length_steps)
        status = trainer_advance(a->trainer, d);
    if (!status && (a->finish_now || a->trainer->step >= a->set->final.length_steps))
        a->stage = FINAL_DONE;
    return status;
}

int final_sampling_advance(final_sampling *a, diag *d)
{
    switch (a->stage) {
    case FINAL_MODES:
        return look_for_modes(a);
    case FINAL_PASSES:
        return pass(a);
    case FINAL_LENGTHS:
        return fit_lengths(a, d);
    case FINAL_DONE:
        break;
    }
    return ART_OK;
}

int final_sampling_fields(final_sampling *a, saved_state *s)
{
    bool fits_lengths = a->trainer && !a->finish_now;
    tree_sampler_fields(a->sampler, s);
    other_modes_fields(&a->modes, to_look_at(a), s);
    if (state_loaded(s))
        a->stage = a->modes.looked < to_look_at(a) ? FINAL_MODES : FINAL_PASSES;
    state_bool(s, "final.fits_lengths", &fits_lengths);
    if (state_loaded(s) && fits_lengths && !is_over(a))
        state_refuse(s, "branch-length model fitted before the last pass");
    if (state_loaded(s) && fits_lengths) {
        a->stage = FINAL_LENGTHS;
        state_fail(s, begin_lengths(a));
    }
    if (s->status || !fits_lengths)
        return s->status;
    const size_t before = state_group(s, "lengths");
    trainer_fields(a->trainer, s);
    state_group_end(s, before);
    return s->status;
}

int final_sampling_finish(final_sampling *a, answer *out)
{
    const rounds *c = a->c;
    memset(out, 0, sizeof *out);
    int status = tree_sampler_finish(a->sampler, &out->evidence, &out->posterior, &out->facts);
    out->evidence.unfinished = !rounds_is_complete(c, &c->round[c->n_rounds - 1]);
    return status;
}
