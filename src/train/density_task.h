/* density_task.h: maximum likelihood on weighted draws: of topologies (the task of `fit`), or of
 * branch lengths given their topologies. Every step draws a batch from the weights and minimises
 * its negative (weighted) mean log q. */
#ifndef TRAIN_DENSITY_TASK_H
#define TRAIN_DENSITY_TASK_H

#include "train/task.h"

typedef enum batch_picks {
    PICKS_INDEPENDENT, /* as published */
    PICKS_SYSTEMATIC,  /* one from each of equal intervals of the cumulative weights: less noise */
    PICKS_THRESHOLD,   /* draws with a weight above a threshold c are always there, with their exact
                          weight; the others are a systematic sample, in which each stands for c. c
                          is such that a batch has the wanted size; if there are no more draws than
                          that, all are there and a step has no noise (Fearnhead and Clifford 2003,
                          J. R. Stat. Soc. B 65:887) */
} batch_picks;

/* decision [count][N-3] is borrowed; weight [count] is normalised here and copied; batch >= 1.
 * ART_ERR_UNSUPPORTED for models without gradient. *out is freed through its ops. */
int density_create(task **out, topology_model *trees, const int32_t *decision, const double *weight,
                   size_t count, int batch, batch_picks picks, uint64_t seed);

/* The same for log q(length_i | tree_i), with length [count][2N-3], borrowed too; a topology may
 * occur any number of times. The task has no topology model. task_step.distinct counts
 * topologies if equal ones stand together in decision. */
int branch_density_create(task **out, branch_model *branches, const int32_t *decision,
                          const double *length, const double *weight, size_t count, int batch,
                          batch_picks picks, uint64_t seed);

#endif
