/* chain_verdict.h: whether the results of chains and draws (chain_answer.h), or of chains alone
 * (joint_stage.h), can be relied on. */
#ifndef COLLAPSED_CHAIN_VERDICT_H
#define COLLAPSED_CHAIN_VERDICT_H

#include "collapsed/chain_answer.h"
#include "results/verdict.h"

/* Judges by the last round of the chains and by how chains and draws agree. v is initialised.
 * is_cut, also below: a time limit ended the chains, the draws or the picks, so that more time
 * would help; may_follow: as for modes_verdict. */
void chain_verdict(verdict *v, const chain_check *check, const chain_round *last, const evidence *e,
                   const collapsed_settings *set, bool is_cut, bool may_follow);

/* Judges chains over topologies with their lengths by their last round. v is initialised; e may
 * have an estimate of the evidence from elsewhere, with its Pareto k; leaves_modes: of one mode of
 * the branch lengths where trees have several. */
void joint_verdict(verdict *v, const chain_round *last, const evidence *e,
                   const collapsed_settings *set, bool leaves_modes, bool is_cut);

/* Whether chains and independent draws of the density tell the same sum over all trees. */
void draws_verdict(verdict *v, const chain_check *check, const chain_judgement *set, bool is_cut);

/* Says that trees have modes of their branch lengths that were left out, if they hold too much of
 * the posterior. may_follow: chains with branch lengths could help, given time. */
void modes_verdict(verdict *v, double left_out, const mode_settings *set, bool may_follow);

/* What chains with lengths showed that were to help where a table cannot be relied on, and could
 * not. */
void failed_joint_verdict(verdict *v, const chain_round *last, bool is_cut);

/* Whether chains agree and are worth enough by their last round. */
bool chains_are_good(const chain_round *last, const chain_judgement *set);

#endif
