/* tree_optimum.h: the best branch lengths and free parameters of given topologies: by the
 * likelihood (parameter_likelihood.h) or by the posterior density (parameter_mode.h). Parallel over
 * trees.
 *
 *     tree_optimum *t;
 *     status = tree_optimum_create(&t, &problem, OPTIMUM_LIKELIHOOD, threads);
 *     optimum_job job[n] = {{.decision = .., .length = ..}, ..};
 *     tree_optimum_run(t, job, n);
 *     tree_optimum_free(t);
 *
 * Both are local searches, and there may be several maxima. So lengths are first fitted, at the
 * parameters where searches start, from those given, from equal ones, short, usual and long, and
 * from a tree 8 times as long as the best. From each maximum that this finds parameters are
 * searched for and, if rates differ among sites, once more from the best with
 *
 *     very unequal rates, few invariant sites         and a tree 8 times as long
 *     nearly equal rates, many invariant sites        with +I+G
 *
 * roughly, and the best of these searches is finished.
 *
 * Jobs are independent: results do not depend on the number of threads or on the other jobs.
 * Nothing is allocated after create. */
#ifndef BRANCH_TREE_OPTIMUM_H
#define BRANCH_TREE_OPTIMUM_H

#include "base/pool.h"
#include "branch/branch_posterior.h"

/* Nats that the last step may still promise to gain. */
#define OPTIMUM_TOLERANCE 1e-7

typedef enum optimum_kind {
    OPTIMUM_LIKELIHOOD,
    OPTIMUM_POSTERIOR, /* the density f(x, z) of branch_posterior.h */
} optimum_kind;

typedef struct optimum_job {
    const int32_t *decision; /* [N-3] */
    double *length;          /* [E] where a search starts, NaN if not known; becomes the optimum */
    /* Results. */
    int status;            /* ART_ERR_NUMERIC: none was found; the rest is then undefined */
    double *z;             /* [p] the parameters; borrowed, may be NULL if there are none */
    double log_likelihood; /* there */
    double value;          /* of what was maximised */
} optimum_job;

typedef struct tree_optimum tree_optimum;

/* The problem and the threads (may be NULL) are borrowed. */
int tree_optimum_create(tree_optimum **out, const branch_posterior *problem, optimum_kind kind,
                        pool *threads);
void tree_optimum_free(tree_optimum *t); /* NULL is fine */

void tree_optimum_run(tree_optimum *t, optimum_job *job, int count);

#endif
