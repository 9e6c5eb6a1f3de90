/* branch_solver.h: the branch lengths of one topology: their likelihood, and the mode of their
 * posterior in the scale of branch_problem.h.
 *
 * A solver is the workspace of one thread. It holds a topology, its lengths and the partials
 * (partials.h) of every node seen from both sides; nothing is allocated after create.
 *
 *     branch_solver *s;
 *     status = branch_solver_create(&s, &problem);
 *     branch_solver_set(s, decision, length);
 *     status = branch_solver_mode(s, BRANCH_TOLERANCE);
 *     ... s->length, s->log_density, s->laplace ...
 *     branch_solver_free(s);
 *
 * The tree hangs from taxon 0 (tree/topology.h); the branch above node v is known by v inside
 * and by its edge number outside. */
#ifndef PHYLO_BRANCH_SOLVER_H
#define PHYLO_BRANCH_SOLVER_H

#include "phylo/branch_problem.h"
#include "tree/topology.h"

/* One node's partial. */
typedef struct partial {
    double *value;
    int32_t *shift; /* [tiles][TILE] powers of two that value was multiplied by .. */
    int shifted;    /* .. if any; else shift means nothing */
    int categories; /* C, or 1 for a leaf */
} partial;

/* The power of two of pattern k. */
static inline int32_t partial_shift(const partial *p, size_t k)
{
    return p->shifted ? p->shift[k] : 0;
}

/* A partial from some tile on, seen through a branch. */
static inline partial_arm partial_from(const partial *p, size_t tile, const double *transition)
{
    return (partial_arm){p->value + tile * 4 * TILE * (size_t)p->categories, transition,
                         p->categories};
}

typedef struct branch_solver {
    const branch_problem *problem;
    topology tree;
    int32_t *order;      /* [E] nodes, children before parents */
    int32_t *tour;       /* [2E] a walk around the tree: v on the way down, ~v on the way up */
    double *x;           /* [nodes] cube roots of the lengths; x[0] is not used */
    double *transition;  /* [nodes][edge_terms] */
    partial *down;       /* [nodes] of what is below v, at v */
    partial *up;         /* [nodes] of what is not below v, at the upper end of v's branch */
    double *slope;       /* [nodes] of f by x, when the branch was last visited */
    double *curvature;   /* [nodes] minus the second derivative, then; at least 1 / (2 x^2) */
    double *growth;      /* [3][T] */
    double *coefficient; /* [tiles][1 + T][TILE] */
    double *invariant;   /* [tiles][TILE], scaled as the partials are */
    double *memory;      /* all of the above partials */
    int32_t *shifts;
    /* Results of branch_solver_mode. */
    double log_likelihood; /* at the mode */
    double log_density;    /* f at the mode */
    double laplace;        /* the diagonal Laplace approximation of the evidence */
    int sweeps;            /* how many it took */
} branch_solver;

static inline double *branch_transition_of(const branch_solver *s, int32_t v)
{
    return s->transition + (size_t)v * (size_t)s->problem->edge_terms;
}

/* The partial at the upper end of the branch above v; taxon 0 is all that is above the top. */
static inline const partial *branch_outside(const branch_solver *s, int32_t v)
{
    return s->tree.parent[v] == 0 ? &s->down[0] : &s->up[v];
}

/* The power of two of pattern k where two partials meet. It is limited where the site may be
 * invariant: then it is, and the scaled number is still one. */
int32_t branch_shift(const branch_problem *p, const partial *x, const partial *y, size_t k);

/* The problem is borrowed. */
int branch_solver_create(branch_solver **out, const branch_problem *problem);
void branch_solver_free(branch_solver *s); /* NULL is fine */

/* Bytes that a solver allocates for a problem. */
size_t branch_solver_memory(const branch_problem *problem);

/* A topology, decision [N-3], and lengths [E] by edge number, forced into the range
 * BRANCH_SHORTEST .. BRANCH_LONGEST. O(N). */
void branch_solver_set(branch_solver *s, const int32_t *decision, const double *length);

/* Other lengths of the same topology, as cube roots x [E] by edge number, taken as they are:
 * positive. O(N). */
void branch_solver_move(branch_solver *s, const double *x);

/* The lengths [E] by edge number. */
void branch_solver_lengths(double *length, const branch_solver *s);

#define BRANCH_SHORTEST  1e-12
#define BRANCH_LONGEST   100.0
#define BRANCH_TOLERANCE 1e-3 /* good for screening and for weights: errors of g near 1e-3 */

enum { BRANCH_SWEEPS = 200 }; /* at most */

/* The log-likelihood of the present topology and lengths: one pass up the tree. -inf where a
 * pattern is impossible. Leaves all of `down` current. */
double branch_solver_value(branch_solver *s);

/* The log density f at the present lengths, given the log-likelihood there. O(N). */
double branch_solver_density(const branch_solver *s, double log_likelihood);

/* Maximises f from the present lengths by sweeps of Newton steps, one branch after the other.
 * A sweep predicts its own gain, sum over branches of slope^2 / (2 curvature); the last one is
 * the first whose prediction is below tolerance (in nats). The same result on any number of
 * threads: a solver knows nothing of others. ART_ERR_NUMERIC if numbers cease to be numbers. */
int branch_solver_mode(branch_solver *s, double tolerance);

/* Makes all of `up` and `down` current, as branch_hessian.h and branch_moves.h want it. */
void branch_solver_refresh(branch_solver *s);

/* The first two derivatives of the log-likelihood by the length of the branch above v; needs
 * current up[v] and down[v]. */
void branch_solver_slopes(double out[2], branch_solver *s, int32_t v);

#endif
