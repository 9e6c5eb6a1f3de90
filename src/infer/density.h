/* density.h: the task of `fit`: maximum likelihood on weighted trees. Every step draws a batch
 * from the weights and minimises minus its mean log q. */
#ifndef INFER_DENSITY_H
#define INFER_DENSITY_H

#include "infer/task.h"

/* decision [count][N-3] is borrowed; weight [count] is normalised here and copied; batch >= 1.
 * *out is freed through its ops. */
int density_create(task **out, topology_model *trees, const int32_t *decision, const double *weight,
                   size_t count, int batch, uint64_t seed);

#endif
