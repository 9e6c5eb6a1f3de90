#include "jobs/job_parts.h"

#include <string.h>

void job_parts_release(job_parts *p)
{
    if (p->run)
        p->run->ops->free(p->run);
    target_free(p->goal);
    p->run = NULL;
    p->goal = NULL;
}

void job_parts_free(job_parts *p)
{
    job_parts_release(p);
    trainer_free(p->trainer);
    if (p->task)
        p->task->ops->free(p->task);
    branch_model_free(p->branches);
    topology_model_free(p->trees);
    memset(p, 0, sizeof *p);
}
