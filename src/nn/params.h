/* params.h: the parameters of a model as one block of numbers and one table of names and
 * shapes. The table is the contents of checkpoints and model files; values, gradients and
 * optimiser moments are blocks of the same layout. */
#ifndef NN_PARAMS_H
#define NN_PARAMS_H

#include "base/real.h"

#include <stddef.h>

enum { PARAM_NAME = 64 };

typedef struct param {
    char name[PARAM_NAME]; /* as in the model file, for example "tree.mlp.0.weight" */
    int rank;              /* 1 or 2 */
    size_t shape[2];       /* rows, columns; row-major as torch stores it */
    size_t offset;         /* of its first number in a block */
    size_t size;           /* how many numbers */
} param;

typedef struct params {
    param *entry; /* [count] */
    int count;
    size_t total; /* numbers in a block, padding included */
    real *value;  /* [total] */
    real *grad;   /* [total]; backward passes add, the caller clears */
} params;

#endif
