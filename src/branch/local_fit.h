/* local_fit.h: a topology at the mode of its branch lengths (branch_solver.h) that is changed a
 * little at a time.
 *
 * It knows which partials of a solver are current and makes them when they are asked for; after
 * a rearrangement only the branches near it are fitted, and the change can be taken back.
 *
 *     local_fit *l;
 *     status = local_fit_create(&l, solver);          the solver is borrowed, one l for each
 *     branch_solver_set(solver, decision, length);
 *     status = local_fit_whole(l, BRANCH_TOLERANCE);
 *     ... local_fit_around(l, v), then branch_moves_nni(m, v, which, cutoff) ...
 *     local_fit_mark(l);
 *     topology_nni(&solver->tree, v, which);          any rearrangement that keeps node numbers
 *     solver->branch[u].cbrt_length = ..;             lengths to start from
 *     status = local_fit_near(l, 1e-3, 1);             or local_fit_whole
 *     ... solver->laplace ...
 *     local_fit_undo(l);                              or local_fit_keep(l, decision)
 *
 * What near leaves undone. It begins with the branches that the rearrangement touched and those
 * within `rings` branches of them, and sweeps over them as branch_solver_mode does over all, until
 * a sweep promises to gain less than the tolerance. The neighbours of a branch that promised a
 * LOCAL_SHARE of the tolerance join. Branches further away stay as they were, curvatures included;
 * such errors add up over many rearrangements, which is why local_fit_whole is to be called now
 * and then.
 *
 * All numbers depend on the topology, the lengths and the curvatures at the start alone, not on
 * which partials were current. Nothing is allocated after create. */
#ifndef BRANCH_LOCAL_FIT_H
#define BRANCH_LOCAL_FIT_H

#include "branch/branch_solver.h"

#define LOCAL_SHARE 0.1

typedef struct local_fit local_fit;

int local_fit_create(local_fit **out, branch_solver *s);
void local_fit_free(local_fit *l); /* NULL is fine */

/* Bytes that it allocates. */
size_t local_fit_memory(const branch_posterior *problem);

/* No partial is current: after branch_solver_set or branch_solver_move. O(N). */
void local_fit_reset(local_fit *l);

/* Makes current the partial of what is below v (up is 0) or of what is not. */
void local_fit_need(local_fit *l, int32_t v, int up);

/* Makes current what branch_moves_nni(v, ..) reads: v has interchanges. */
void local_fit_around(local_fit *l, int32_t v);

/* Makes current what branch_moves_places(v, up, ..) reads with a radius. */
void local_fit_reach(local_fit *l, int32_t v, int up, int radius);

/* Remembers topology, lengths and results, for undo. O(N). */
void local_fit_mark(local_fit *l);

/* branch_solver_mode of all branches, of a topology that was rearranged or set since the mark. */
int local_fit_whole(local_fit *l, double tolerance);

/* Fits the branches near what was changed since the mark, in the topology or in the lengths, and
 * sets the results of the solver. Between the mark and this call partials must not be asked for.
 * ART_ERR_NUMERIC if numbers cease to be numbers, ART_ERR_STOPPED if the solver's stop is due. */
int local_fit_near(local_fit *l, double tolerance, int rings);

/* Instead of local_fit_near, for lengths that are fitted already: finds out which partials are no
 * longer current. O(N). */
void local_fit_compare(local_fit *l);

/* The cube root of the length of the branch above v at the mark. */
double local_fit_marked(const local_fit *l, int32_t v);

/* Whether the length of the branch above v is another than at the mark. */
int local_fit_has_changed(const local_fit *l, int32_t v);

/* Whether the branch above v leads elsewhere than at the mark, or the cube root of its length has
 * changed by more than a share of itself. */
int local_fit_is_felt(const local_fit *l, int32_t v, double share);

/* Back to the mark. The partials that have changed since are not current then. O(N). */
void local_fit_undo(local_fit *l);

/* Brings the tree to the canonical numbering (tree/topology.h), with all that is known of its
 * branches; decision [N-3] becomes its decisions. Takes the mark away. O(N). */
void local_fit_keep(local_fit *l, int32_t *decision);

/* Without a mark and without a fit, for those who choose lengths themselves: the branch above v
 * gets another length, or topology_nni(v, which) is made; what sees the change is no longer
 * current. */
void local_fit_set_length(local_fit *l, int32_t v, double cbrt_length);
void local_fit_interchange(local_fit *l, int32_t v, int which);

/* Partials made and branches fitted since create. */
typedef struct local_fit_work {
    int64_t joins, fits, sweeps;
} local_fit_work;
const local_fit_work *local_fit_counts(const local_fit *l);

#endif
