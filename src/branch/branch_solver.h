/* branch_solver.h: the branch lengths of one topology: their likelihood, and the mode of their
 * posterior on the scale x of length_scale.h.
 *
 * A solver is the workspace of one thread. It holds a topology, its lengths and the partials
 * (partials.h) of every node on both sides of its branch; nothing is allocated after create.
 *
 *     branch_solver *s;
 *     status = branch_solver_create(&s, &problem);
 *     branch_solver_set(s, decision, length);
 *     status = branch_solver_mode(s, BRANCH_TOLERANCE);
 *     ... s->log_density, s->laplace; branch_solver_lengths(length, s) ...
 *     branch_solver_free(s);
 *
 * The tree is rooted at taxon 0 (tree/topology.h); the branch above node v is identified by v
 * internally and by its edge number externally. */
#ifndef BRANCH_BRANCH_SOLVER_H
#define BRANCH_BRANCH_SOLVER_H

#include "base/interrupt.h"
#include "branch/branch_edge.h"
#include "branch/length_prior.h"
#include "tree/topology.h"

typedef struct branch_solver {
    const branch_posterior *problem;
    topology tree;
    int32_t *order;       /* [E] nodes, children before parents */
    int32_t *tour;        /* [2E] depth-first walk: v where it enters node v, ~v where it leaves */
    branch_state *branch; /* [nodes]; node 0 has none */
    double *transition;   /* [nodes][transition], of all blocks */
    partial *down;        /* [nodes] of what is below v, at v */
    partial *up;          /* [nodes] of what is not below v, at the upper end of v's branch */
    partial_store store;  /* memory of down and up, except down of the leaves */
    branch_edge edge;
    double total;          /* of all lengths, while they are fitted; 0 if the prior does not ask */
    const interrupt *stop; /* NULL, or what ends a search for the mode early; borrowed */
    /* Results of branch_solver_mode. */
    double log_likelihood; /* at the mode */
    double log_density;    /* f at the mode */
    double laplace;        /* the diagonal Laplace approximation of the evidence */
    int sweeps;            /* how many it took */
} branch_solver;

static inline const double *branch_transition_at(const branch_solver *s, int32_t v)
{
    return s->transition + (size_t)v * s->problem->total.transition;
}

/* The partial at the upper end of the branch above v; above the top node there is only taxon 0. */
static inline const partial *branch_outside(const branch_solver *s, int32_t v)
{
    return s->tree.parent[v] == 0 ? &s->down[0] : &s->up[v];
}

/* The problem is borrowed. */
int branch_solver_create(branch_solver **out, const branch_posterior *problem);
void branch_solver_free(branch_solver *s); /* NULL is fine */

/* Bytes that a solver allocates for a problem. */
size_t branch_solver_memory(const branch_posterior *problem);

/* A topology, decision [N-3], and lengths [E] by edge number, forced into the range
 * BRANCH_SHORTEST .. BRANCH_LONGEST. O(N). */
void branch_solver_set(branch_solver *s, const int32_t *decision, const double *length);

/* Sets other lengths of the same topology, as cube roots [E] by edge number, which must be
 * positive.  O(N). */
void branch_solver_move(branch_solver *s, const double *cbrt_length);

/* The lengths [E] by edge number. */
void branch_solver_lengths(double *length, const branch_solver *s);

/* The log-likelihood of the present topology and lengths: one pass up the tree. -inf where a
 * pattern is impossible. Leaves all of `down` current. */
double branch_solver_value(branch_solver *s);

/* The log density f at the current lengths, given the log-likelihood there. O(N). */
double branch_solver_density(const branch_solver *s, double log_likelihood);

/* Maximises f from the present lengths by sweeps of Newton steps, one branch after the other.
 * A sweep predicts its own gain, sum over branches of slope^2 / (2 curvature); the last one is
 * the first whose prediction is below tolerance (in nats; BRANCH_TOLERANCE of settings.h is usual).
 * The same result on any number of threads: solvers are independent. ART_ERR_NUMERIC if a result is
 * not finite; ART_ERR_STOPPED, with lengths anywhere on the way, if s->stop was due. */
int branch_solver_mode(branch_solver *s, double tolerance);

/* Makes all of `up` and `down` current, as branch_hessian.h requires. */
void branch_solver_refresh(branch_solver *s);

/* The same, with the slopes and curvatures of all branches and the results of branch_solver_mode
 * for the current lengths, as branch_moves.h requires: lengths that are already a mode need no
 * sweep. ART_ERR_NUMERIC as there. */
int branch_solver_inspect(branch_solver *s);

/* The first two derivatives of the log-likelihood with respect to the length of the branch above v;
 * needs current up[v] and down[v]. */
void branch_solver_slopes(double out[2], branch_solver *s, int32_t v);

/* The slopes of f along the branch above v, with x shorter by `step` and longer by it; needs
 * current up[v] and down[v], and branch_solver_measure. */
void branch_solver_slopes_around(double out[2], branch_solver *s, int32_t v, double step);

/* The parts of which the above is made, for those who change a tree a little at a time and know
 * which partials are current (local_fit.h). */

/* After s->tree was rearranged in place: the orders of its nodes. O(N). */
void branch_solver_rearranged(branch_solver *s);

/* The length of the branch above v. */
void branch_solver_set_branch(branch_solver *s, int32_t v, double cbrt_length);

/* Makes up[v] (v not the top) or down[v] (v no leaf) from the two partials that it is made of. */
void branch_solver_join(branch_solver *s, int32_t v, int up);

/* The length of the present tree. O(N). */
double branch_solver_length(const branch_solver *s);

/* Length and spread of the present tree with the curvatures last seen. O(N). */
length_total branch_solver_total(const branch_solver *s);

/* Before branch_solver_improve, whenever lengths were set other than by it: the length of the tree,
 * if the prior depends on it. O(N). */
void branch_solver_measure(branch_solver *s);

/* branch_edge_improve of the branch above v, whose two partials are current. */
double branch_solver_improve(branch_solver *s, int32_t v, double enough);

/* The results of branch_solver_mode for the present lengths and the curvatures last seen, the
 * likelihood taken at the branch above v, whose two partials are current. O(N). */
int branch_solver_conclude(branch_solver *s, int32_t v);

#endif
