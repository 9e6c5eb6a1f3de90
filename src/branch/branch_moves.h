/* branch_moves.h: approximate scores of the rearrangements of a topology, without performing them.
 *
 * Around a topology at its mode, every neighbour is scored from the partials of that topology: only
 * the branches affected by a move are fitted, all others keep their lengths. The score is the
 * diagonal Laplace approximation (topology_evidence.h) at these lengths: slightly below the result
 * of a full fit, at a small fraction of its cost. It decides which neighbours are worth a full fit.
 *
 *     status = branch_moves_create(&m, &problem, radius);     one per thread
 *     branch_solver_mode(s, BRANCH_TOLERANCE);
 *     branch_solver_inspect(s);
 *     branch_moves_begin(m, s);
 *     score = branch_moves_nni(m, v, which, cutoff);          for every interchange
 *     branch_moves_spr(m, cutoff, visit, context);            for all subtree moves
 *
 * Moves are named as in tree/rearrange.h. */
#ifndef BRANCH_BRANCH_MOVES_H
#define BRANCH_BRANCH_MOVES_H

#include "branch/local_fit.h"

typedef struct branch_moves branch_moves;

/* Workspace of one thread, for subtree moves over a distance of up to `radius` branches. The
 * problem is borrowed. */
int branch_moves_create(branch_moves **out, const branch_posterior *problem, int radius);
void branch_moves_free(branch_moves *m); /* NULL is fine */

/* Bytes that it allocates. */
size_t branch_moves_memory(const branch_posterior *problem, int radius);

/* The topology that the moves start from: s, at its mode and inspected. s is borrowed and must
 * not change while moves are scored. */
void branch_moves_begin(branch_moves *m, const branch_solver *s);

/* Instead of branch_moves_begin: the tree of a local fit, which is asked for the partials that the
 * scores need. It may change between scores. l and its solver s are borrowed. */
void branch_moves_follow(branch_moves *m, local_fit *l, const branch_solver *s);

/* Has the subtree moves from here on go over up to `radius` branches, at most as many as at
 * create, and not beyond a place that scores more than `valley` nats below the tree (HUGE_VAL for
 * no such limit): the farther places are then mostly worse still, and they are most of them. */
void branch_moves_reach(branch_moves *m, int radius, double valley);

/* The score of topology_nni(v, which): the five branches around the interchange are fitted, one
 * after the other. Where the score is more than nni_slack (settings.h) below cutoff after fitting
 * the middle one alone, that score is returned. Costs 8 joins (partials.h), or 2. */
double branch_moves_nni(branch_moves *m, int32_t v, int which, double cutoff);

enum { NNI_BRANCHES = 5 };

/* The branches that the last interchange fitted: the nodes below them and their lengths. Starting
 * from these lengths, the full fit begins close to its mode. */
void branch_moves_fitted(int32_t node[NNI_BRANCHES], double length[NNI_BRANCHES],
                         const branch_moves *m);

/* The score of the last interchange, or of the subtree move that is being visited, as it was with
 * one branch fitted: what the slacks of settings.h are compared with. */
double branch_moves_rough(const branch_moves *m);

typedef void branch_move_visit(void *context, int32_t v, int32_t w, double score);

/* Visits the subtree moves topology_spr(v, w) over 2 .. radius branches (those over 1 are the
 * interchanges) whose score reaches cutoff, in an order that depends only on the tree; the same
 * tree may occur several times. For each, the moved branch is fitted where it is inserted, and if
 * the score is then near cutoff, so are both halves of the branch it was inserted into. Costs 2
 * joins for most moves. Returns how many it scored. */
int64_t branch_moves_spr(branch_moves *m, double cutoff, branch_move_visit *visit, void *context);

/* Visits all subtree moves over 1 .. radius branches of one part of the tree: of what is below v
 * (up is 0, v's parent is not taxon 0) or of all the rest (up is 1, v is no leaf), in an order
 * that depends on the tree alone. A move that stays far below cutoff with the moved branch fitted
 * has that score. Where the part is now does not come: its score is that of the tree. Of the
 * partials only those need be current that lie within radius + 1 branches. Returns how many. Ends
 * early if the solver's stop is due. */
int64_t branch_moves_places(branch_moves *m, int32_t v, int up, double cutoff,
                            branch_move_visit *visit, void *context);

#endif
