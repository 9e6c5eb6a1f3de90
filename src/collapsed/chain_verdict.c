#include "collapsed/chain_verdict.h"

#include <math.h>

/* Chains that do not agree, or say too little. */
static void judge_chains(verdict *v, const chain_round *last, const chain_judgement *set,
                         bool is_cut)
{
    const char *remedy = verdict_remedy(is_cut);
    const double ess = chain_round_ess(last);
    if (last->asdsf > set->asdsf)
        verdict_warn(
            v, true,
            "Independent chains disagree about splits: the average standard deviation of "
            "their frequencies is %.3f (below %.2f is customary). Do not rely on the split "
            "probabilities. %s",
            last->asdsf, VERDICT_ASDSF, remedy);
    if (!(last->r_hat <= set->r_hat))
        verdict_warn(v, true,
                     "Independent chains are in different parts of the posterior: R-hat of the log "
                     "density is %.2f (below %.2f is customary). %s",
                     last->r_hat, VERDICT_R_HAT, remedy);
    if (!(ess >= set->ess))
        verdict_warn(v, true,
                     "The chains are worth only %.0f independent trees (%d are customary): "
                     "probabilities of splits and their errors are rough. %s",
                     ess, VERDICT_ESS, remedy);
}

void draws_verdict(verdict *v, const chain_check *check, const chain_judgement *set, bool is_cut)
{
    const double error = hypot(check->forward_error, check->tree_error);
    const double most_k = check->forward < 0 ? set->finite_variance : VERDICT_PARETO_K;
    if (check->overlap >= set->overlap && check->pareto_k < most_k &&
        fabs(check->forward) > fmax(set->errors * error, set->least_difference))
        verdict_warn(v, true,
                     "Chains and independent draws disagree about the log marginal likelihood by "
                     "%.2f, %.0f standard errors: part of the posterior may be missing. %s",
                     check->forward, fabs(check->forward) / error, verdict_remedy(is_cut));
}

void modes_verdict(verdict *v, double left_out, const mode_settings *set, bool may_follow)
{
    if (left_out <= set->left_out)
        return;
    verdict_warn(v, true,
                 "The branch lengths of many trees can be explained in more than one way, and only "
                 "one of them is known: about %.0f %% of the posterior is left out. "
                 "Probabilities of splits and the log marginal likelihood may be off.%s",
                 100 * left_out,
                 may_follow ? " Allow more time: chains that draw branch lengths too can follow "
                              "then."
                            : "");
}

/* What the log marginal likelihood is worth. */
static void judge_evidence(verdict *v, const chain_check *check, const chain_judgement *set,
                           bool is_cut)
{
    draws_verdict(v, check, set, is_cut);
    if (check->overlap < set->overlap) {
        verdict_warn(
            v, false,
            "Do not use the log marginal likelihood, nor the probabilities of whole trees: draws "
            "of the density of clades are too different from the chains (overlap %.2g), so it "
            "may be off by several units. The probabilities of splits do not depend on it.",
            check->overlap);
        v->has_evidence_error = false;
    }
    if (check->ratio_k >= VERDICT_PARETO_K) {
        if (isinf(check->ratio_k))
            verdict_warn(
                v, false,
                "The log marginal likelihood has no error bar: branch lengths were drawn for "
                "too few trees. %s",
                verdict_remedy(is_cut));
        else
            verdict_warn(v, true,
                         "The branch lengths or parameters of some trees are far from the "
                         "approximation that they are drawn from (Pareto k %.2f; below 0.7 is "
                         "needed), so their means, and probabilities with them, may be off. %s",
                         check->ratio_k,
                         is_cut ? "Allow more time: chains that need no approximation can follow "
                                  "then."
                                : verdict_remedy(false));
        v->has_evidence_error = false;
    }
}

static void set_figures(verdict *v, const chain_round *last)
{
    v->asdsf = last->asdsf;
    v->largest_deviation = last->largest;
    v->r_hat = last->r_hat;
    v->ess_log_density = last->ess_values;
    v->ess_splits = chain_round_ess(last);
}

void failed_joint_verdict(verdict *v, const chain_round *last, bool is_cut)
{
    set_figures(v, last);
    verdict_warn(v, true,
                 "Chains over topologies with their branch lengths, which were tried because of "
                 "that, do not agree either (average standard deviation of split frequencies %.3f, "
                 "R-hat %.2f). %s",
                 last->asdsf, last->r_hat, verdict_remedy(is_cut));
}

bool chains_are_good(const chain_round *last, const chain_judgement *set)
{
    verdict v;
    verdict_init(&v);
    judge_chains(&v, last, set, false);
    return v.converged;
}

void joint_verdict(verdict *v, const chain_round *last, const evidence *e,
                   const collapsed_settings *set, bool leaves_modes, bool is_cut)
{
    set_figures(v, last);
    judge_chains(v, last, &set->judgement, is_cut);
    if (isfinite(e->log_evidence) && leaves_modes)
        verdict_warn(
            v, false,
            "The log marginal likelihood has no error bar, and is probably too low: the branch "
            "lengths of many trees can be explained in more than one way, of which it has only "
            "one. Probabilities of splits, branch lengths and parameters do not need it: they are "
            "those of the chains.");
    else if (isfinite(e->log_evidence))
        verdict_warn(
            v, false,
            "The log marginal likelihood has no error bar, and may be too low: much of the "
            "weight of the draws for it is on a few of them (Pareto k %.2f; below 0.7 is "
            "needed). Probabilities of splits, branch lengths and parameters do not need "
            "it: they are those of the chains.",
            e->pareto_k);
    else
        verdict_warn(
            v, false,
            "There is no log marginal likelihood: with so many branches, or so many that "
            "the data leave open, lengths cannot be integrated out reliably. Probabilities "
            "of splits, branch lengths and parameters do not need it.");
    v->has_evidence_error = false;
}

void chain_verdict(verdict *v, const chain_check *check, const chain_round *last, const evidence *e,
                   const collapsed_settings *set, bool is_cut, bool may_follow)
{
    set_figures(v, last);
    judge_chains(v, last, &set->judgement, is_cut);
    judge_evidence(v, check, &set->judgement, is_cut);
    modes_verdict(v, check->other_modes, &set->modes, may_follow);
    if (e->failed)
        verdict_warn(v, false,
                     "For some draws no mode of the branch lengths was found; their weight is 0.");
    if (v->converged && v->has_evidence_error && e->log_evidence_se > set->error)
        verdict_warn(v, false,
                     "%s: the standard error of the log marginal likelihood is %.3f, not %.3f. "
                     "That error can be relied on%s.",
                     is_cut ? "The time limit was reached before the requested precision"
                            : "The requested precision was not reached",
                     e->log_evidence_se, set->error, is_cut ? "; more time makes it smaller" : "");
}
