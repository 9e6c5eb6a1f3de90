/* table_run.h: the fit of a model with tables (density/topology_model.h) as a run: one iteration is
 * a piece. It takes seconds at most, so nothing is saved: a run that is resumed starts again, and
 * one that is asked to finish early goes on to its end. */
#ifndef JOBS_TABLE_RUN_H
#define JOBS_TABLE_RUN_H

#include "density/topology_model.h"
#include "train/run.h"

/* The model is borrowed; topology_model_fit_begin has been called. */
int table_run_create(run **out, topology_model *trees);

/* Iterations so far, and the objective of the last one; NaN if there is none. */
int64_t table_run_steps(const run *r);
double table_run_objective(const run *r);

#endif
