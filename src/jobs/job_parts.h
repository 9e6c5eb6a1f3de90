/* job_parts.h: what the jobs are made of: models, the target that judges trees, and the training of
 * the models. Each job has those that it needs. */
#ifndef JOBS_JOB_PARTS_H
#define JOBS_JOB_PARTS_H

#include "density/factory.h"
#include "train/run.h"
#include "train/target.h"
#include "train/trainer.h"

/* All NULL at first; owned. */
typedef struct job_parts {
    topology_model *trees;
    branch_model *branches;
    target *goal;
    task *task;
    trainer *trainer;
    run *run; /* works on the others */
} job_parts;

void job_parts_free(job_parts *p); /* safe on a zeroed or half-built one */

/* Frees the run and the target, which hold on to the models and their threads: the models can then
 * be given away. */
void job_parts_release(job_parts *p);

#endif
