/* evidence_batch.h: the evidence of many topologies (topology_evidence.h), parallel over trees.
 *
 *     evidence_batch *batch;
 *     status = evidence_batch_create(&batch, &problem, threads);
 *     evidence_job job[n] = {{.decision = .., .length = .., .draws = 20, .stream = ..}, ..};
 *     evidence_batch_run(batch, job, n, NULL);
 *     evidence_batch_free(batch);
 *
 * Jobs are independent: results do not depend on the number of threads or on the other jobs of the
 * batch. Nothing is allocated after create. */
#ifndef BRANCH_EVIDENCE_BATCH_H
#define BRANCH_EVIDENCE_BATCH_H

#include "base/pool.h"
#include "branch/topology_evidence.h"

typedef struct evidence_job {
    /* What is to be done. */
    const int32_t *decision; /* [N-3] */
    double *length;          /* [E] where the search for the mode starts; becomes the mode */
    double tolerance;        /* of the mode (branch_solver_mode) */
    evidence_shape shape;    /* of the proposal; FULL and SKEWED also have the full Laplace */
    int draws;               /* from the proposal; may be 0 */
    rng stream;              /* for them */
    length_draws out;        /* the draws themselves */
    /* Results. */
    int status;          /* ART_ERR_NUMERIC: no mode was found; ART_ERR_STOPPED: it was not done;
                            the rest is then undefined */
    double laplace;      /* diagonal */
    double full_laplace; /* with EVIDENCE_FULL or _SKEWED */
    double shrink;       /* of the proposal (length_proposal.h); 0 if there was none */
    log_mean weights;    /* of the draws, added to those of earlier calls */
} evidence_job;

typedef struct evidence_batch evidence_batch;

/* The problem and the threads (may be NULL) are borrowed. */
int evidence_batch_create(evidence_batch **out, const branch_posterior *problem, pool *threads);
void evidence_batch_free(evidence_batch *t); /* NULL is fine */

/* stop (may be NULL) ends jobs early. Returns how many of them, from the first on, are done: all,
 * unless it was due. */
int evidence_batch_run(evidence_batch *t, evidence_job *job, int count, const interrupt *stop);

#endif
