#include "branch/evidence_batch.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <stdlib.h>

struct evidence_batch {
    pool *threads;
    topology_evidence **worker; /* [threads] */
    evidence_job *job;
    const interrupt *stop; /* of the jobs that run */
};

int evidence_batch_create(evidence_batch **out, const branch_posterior *problem, pool *threads)
{
    *out = NULL;
    evidence_batch *t = mem_zeros(1, sizeof *t);
    if (!t)
        return ART_ERR_NOMEM;
    int status = ART_ERR_NOMEM;
    t->threads = threads;
    t->worker = mem_zeros((size_t)pool_threads(threads), sizeof *t->worker);
    if (!t->worker)
        goto out;
    for (int i = 0; i < pool_threads(threads); i++)
        if ((status = topology_evidence_create(&t->worker[i], problem)))
            goto out;
    *out = t;
    return ART_OK;
out:
    evidence_batch_free(t);
    return status;
}

void evidence_batch_free(evidence_batch *t)
{
    if (!t)
        return;
    for (int i = 0; t->worker && i < pool_threads(t->threads); i++)
        topology_evidence_free(t->worker[i]);
    free(t->worker);
    free(t);
}

static void run_job(void *context, int task, int index)
{
    evidence_batch *batch = context;
    evidence_job *job = &batch->job[task];
    topology_evidence *t = batch->worker[index];
    t->solver->stop = batch->stop;
    job->status = interrupt_is_due(batch->stop)
                      ? ART_ERR_STOPPED
                      : topology_evidence_mode(t, job->decision, job->length, job->tolerance);
    if (job->status)
        return;
    job->laplace = t->laplace;
    if (job->shape == EVIDENCE_DIAGONAL && !job->draws)
        return; /* all that was asked for */
    t->wants_common = job->draws < PARAMETER_OWN_DRAWS;
    job->status = topology_evidence_proposal(t, job->shape);
    if (job->status)
        return;
    job->shrink = t->gauss.shrink;
    job->full_laplace = t->full_laplace;
    job->status = topology_evidence_sample(t, &job->weights, job->out, job->draws, job->stream);
}

int evidence_batch_run(evidence_batch *t, evidence_job *job, int count, const interrupt *stop)
{
    t->job = job;
    t->stop = stop;
    pool_run(t->threads, count, run_job, t);
    int done = 0;
    while (done < count && job[done].status != ART_ERR_STOPPED)
        done++;
    return done;
}
