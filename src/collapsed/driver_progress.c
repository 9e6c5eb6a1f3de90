#include "collapsed/driver_parts.h"

#include "base/format.h"

#include <math.h>
#include <stdio.h>

static const char *const STAGE[] = {"exploring", "weighing",  "fitting",
                                    "drawing",   "polishing", "done"};
static const char *const UNIT[] = {"trees", "trees", "steps", "draws", "steps", ""};

static void rounds_progress(const collapsed_run *c, run_progress *out)
{
    const rounds *r = c->rounds;
    const bool fits = r->stage == ROUNDS_FIT || r->stage == ROUNDS_POLISH;
    char trees[FORMAT_ITEMS];
    out->stage = STAGE[r->stage];
    out->unit = UNIT[r->stage];
    out->done = fits                      ? (double)network_fit_steps(&r->fit)
                : r->stage == ROUNDS_DRAW ? (double)r->looked
                                          : (double)r->table.count;
    out->total = r->stage == ROUNDS_FIT    ? (double)(r->fit.before + r->set.fit.steps)
                 : r->stage == ROUNDS_DRAW ? r->set.rounds.draws
                                           : 0;
    if (fits && isfinite(r->fit.fit_kl))
        snprintf(out->detail, sizeof out->detail, "%.4f nats from the table", r->fit.fit_kl);
    else
        snprintf(out->detail, sizeof out->detail, "round %d", r->n_rounds + 1);
    snprintf(out->place, sizeof out->place, "round %d, %s, %s", r->n_rounds + 1, STAGE[r->stage],
             format_items(trees, sizeof trees, r->table.count, "tree", "trees"));
}

static void final_progress(const collapsed_run *c, run_progress *out)
{
    const final_sampling *f = c->final;
    const bool fits = f && f->stage > FINAL_PASSES;
    char draws[FORMAT_ITEMS];
    if (f && f->stage == FINAL_MODES) {
        out->stage = "branch lengths";
        out->unit = "trees";
        out->done = (double)f->modes.looked;
        snprintf(out->place, sizeof out->place, "looking for other modes of branch lengths");
        return;
    }
    out->is_done = f && f->stage == FINAL_DONE && !driver_needs_joint(c);
    out->stage = fits ? "fitting branch lengths" : "evidence";
    out->unit = fits ? "steps" : "draws";
    if (fits && f->trainer)
        out->done = (double)f->trainer->step;
    else if (f && !fits)
        out->done = tree_sampler_draws(f->sampler);
    out->total = fits ? (double)c->set.final.length_steps : 0;
    if (f && !fits)
        snprintf(out->detail, sizeof out->detail, "standard error %.4f (target %.4f)",
                 tree_sampler_error(f->sampler), c->set.error);
    if (fits)
        snprintf(out->place, sizeof out->place, "step %.0f of %.0f of fitting branch lengths",
                 out->done, out->total);
    else
        snprintf(out->place, sizeof out->place, "final sampling, %s",
                 format_items(draws, sizeof draws, (uint64_t)out->done, "draw", "draws"));
}

/* Chains of either kind. */
static void blocks_progress(run_progress *out, const chain_rounds *x, double asdsf)
{
    const chain_round *last = chain_rounds_last(x);
    out->stage = "chains";
    out->unit = "blocks";
    out->done = (double)x->blocks;
    out->total = (double)x->wanted;
    if (last)
        snprintf(out->detail, sizeof out->detail,
                 "split frequencies of the chains differ by %.3f (target %.3f)", last->asdsf,
                 asdsf);
    snprintf(out->place, sizeof out->place, "chains, round %d, %lld %s", x->count + 1,
             (long long)x->blocks, format_noun((uint64_t)x->blocks, "block", "blocks"));
}

static void chains_progress(const collapsed_run *c, run_progress *out)
{
    blocks_progress(out, &c->chains->rounds, c->set.chains.rounds.asdsf);
}

static void joint_progress(const collapsed_run *c, run_progress *out)
{
    blocks_progress(out, &c->joint->rounds, c->set.joint.rounds.asdsf);
    out->is_done = c->joint->rounds.is_done;
}

static void answer_progress(const collapsed_run *c, run_progress *out)
{
    const chain_answer *a = c->answer;
    const bool draws = !a || a->stage == CHAIN_ANSWER_DRAWS;
    out->is_done = a && a->stage == CHAIN_ANSWER_DONE && !driver_needs_joint(c);
    out->stage = draws ? "evidence" : "branch lengths";
    out->unit = draws ? "draws" : "trees";
    out->done = !a ? 0 : draws ? (double)a->n_draws : (double)a->next;
    out->total = 0; /* more are drawn and picked until the error is as wanted */
    if (a && a->n_draws)
        snprintf(out->detail, sizeof out->detail, "standard error %.4f (target %.4f)",
                 chain_answer_error(a), c->set.error);
    snprintf(out->place, sizeof out->place, "%s, %.0f %s", out->stage, out->done, out->unit);
}

static void parameters_progress(const collapsed_run *c, run_progress *out)
{
    const parameter_stage *s = c->parameters;
    out->stage = "fitting the substitution model";
    out->unit = "trees";
    out->done = s->climbs + s->has_first;
    out->total = 1 + parameter_stage_climbs(c->problem.posterior->n_taxa);
    out->is_resumable = false;
    snprintf(out->place, sizeof out->place, "fitting the substitution model, %.0f tree%s",
             out->done, out->done == 1 ? "" : "s");
}

void driver_progress(const run *r, run_progress *out)
{
    const collapsed_run *c = (const collapsed_run *)r;
    *out = (run_progress){.value = c->value, .is_resumable = true, .is_cut = c->is_cut};
    if (c->parameters)
        parameters_progress(c, out);
    else if (c->joint)
        joint_progress(c, out);
    else if (c->chains && !c->chains->rounds.is_done)
        chains_progress(c, out);
    else if (c->chains)
        answer_progress(c, out);
    else if (c->rounds->stage == ROUNDS_DONE)
        final_progress(c, out);
    else
        rounds_progress(c, out);
}
