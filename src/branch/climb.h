/* climb.h: from a topology uphill in the diagonal Laplace approximation of the evidence,
 * g (topology_evidence.h), to a peak: a tree that no interchange and no subtree move improves.
 *
 *     status = branch_solver_create(&solver, &problem);
 *     status = branch_moves_create(&moves, &problem, radius);
 *     climb_settings set = climb_defaults();
 *     status = climb_create(&c, solver, moves, &set);          solver and moves are borrowed
 *     status = climb_run(c, &tree, stop);                      any number of times
 *     status = climb_shake(c, &tree, stream, 100, NULL, stop); if a better peak nearby is wanted
 *     climb_free(c);
 *
 * What makes it fast with hundreds of taxa: moves are scored from the partials of the tree
 * (branch_moves.h) and only the branches near a change are fitted again (local_fit.h). First come
 * sweeps of interchanges, in which all that improve the tree and do not touch each other are made
 * at once; if that does not improve the tree, the better half of them, and so on. Then the parts of
 * the tree, below and above every branch, one after the other: the best places for each within the
 * radius are tried. A part is looked at again when something near it has changed. At the end all
 * lengths are fitted and all interchanges are looked at once more.
 *
 * The result depends on the arguments alone. Nothing is allocated after create. */
#ifndef BRANCH_CLIMB_H
#define BRANCH_CLIMB_H

#include "base/rng.h"
#include "branch/branch_moves.h"

typedef struct climb_settings {
    double uphill;    /* nats: a step that gains less is none */
    double tolerance; /* nats, of the fit at the end */
    double coarse;    /* nats per branch, of the fit at the beginning */
    double near;      /* nats, of fits near a change .. */
    int rings;        /* .. which begin with the branches so near to it (local_fit_near) */
    int radius;       /* branches, of subtree moves; the moves object has its own upper limit */
    double valley;    /* nats: beyond a place so much worse than the tree no better one is sought */
    double margin;    /* nats by which a fit may improve on the score of a subtree move */
    int tries;        /* places that are fitted for a part, at most CLIMB_MOST_TRIES */
    double felt;      /* share of the cube root of a length: more is a change that is felt nearby */
    int spread;       /* branches: how far from a change parts are looked at again */
    double shaken;    /* nats: a piece of climb_shake that gains less is taken back; above what
                         fits near a change leave undone */
    /* For climb_shake, where most of the tree is as good as it can be: */
    int shake_radius;
    double shake_valley;
} climb_settings;

enum { CLIMB_MOST_TRIES = 8 };

climb_settings climb_defaults(void);

/* A topology with its lengths and g; the caller's memory. */
typedef struct climb_tree {
    int32_t *decision; /* [N-3] */
    double *length;    /* [E] */
    double laplace;
} climb_tree;

/* Since create. */
typedef struct climb_counts {
    int64_t scored;       /* moves */
    int64_t fitted;       /* trees, near a change or as a whole */
    int64_t interchanges; /* made, in sweeps */
    int64_t moves;        /* of subtrees, made */
    int64_t shaken;       /* pieces of climb_shake that ended higher */
} climb_counts;

typedef struct climb climb;

/* The solver and the moves, of the same problem, are borrowed; others may use them between calls,
 * but no other local_fit of this solver may be in use. ART_ERR_USAGE for settings that are none. */
int climb_create(climb **out, branch_solver *s, branch_moves *m, const climb_settings *set);
void climb_free(climb *c); /* NULL is fine */

/* t, of which topology and lengths are given, becomes the peak above it. stop (may be NULL) is
 * looked at many times a second. If the result is not ART_OK, t is as it was: ART_ERR_STOPPED if
 * stop was due, ART_ERR_NUMERIC if the tree cannot be fitted. */
int climb_run(climb *c, climb_tree *t, const interrupt *stop);

/* Peaks that are met on the way: the solver is there, with lengths that were fitted near changes.
 */
typedef struct climb_visits {
    double window; /* only those at most so many nats below the best until then */
    void (*visit)(void *context, const branch_solver *s);
    void *context;
} climb_visits;

/* Goes on from a peak: `pieces` times a few random interchanges around a random branch, then uphill
 * from there; what does not end higher is visited (visits may be NULL) and taken back. Costs much
 * less than a climb for each piece, because all that is far away stays as it is. The result as that
 * of climb_run. */
int climb_shake(climb *c, climb_tree *t, rng stream, int pieces, const climb_visits *visits,
                const interrupt *stop);

const climb_counts *climb_count(const climb *c);

#endif
