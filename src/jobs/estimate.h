/* estimate.h: the time and memory that an inference will need, measured on a small part of it. */
#ifndef JOBS_ESTIMATE_H
#define JOBS_ESTIMATE_H

#include "base/pool.h"
#include "density/factory.h"
#include "jobs/chain_estimate.h"
#include "seq/alignment.h"

typedef struct estimate_sizes {
    topology_config trees;
    branch_config branches;
    int batch;     /* trees of a step of fitting */
    int particles; /* of a step of vbpi */
} estimate_sizes;

/* Bytes are those of the whole process. The numbers of trees and steps needed depend on the
 * data. */
typedef struct estimate {
    double fit_seconds; /* of a step of fitting the network, when no work is shared */
    /* Of a run whose posterior is concentrated, .. */
    double table_bytes; /* without the table of topologies */
    double table_seconds;
    /* .. and diffuse. */
    double chain_bytes;
    chain_estimate chains;
    double vbpi_bytes;
    double vbpi_step_seconds; /* at the start, when no work is shared */
} estimate;

/* Creates the models of `infer` as configured, runs a few steps and fits a few trees. With more
 * than ESTIMATE_TAXA taxa the networks are run on the first ESTIMATE_TAXA only and the results are
 * scaled up: time and memory of a step grow with the square of the number of taxa. */
enum { ESTIMATE_TAXA = 60 };
int estimate_infer(estimate *out, const estimate_subject *subject, const estimate_sizes *sizes,
                   pool *threads);

#endif
