/* estimate.h: what an inference will need, found out by doing a little of it. */
#ifndef CLI_ESTIMATE_H
#define CLI_ESTIMATE_H

#include "base/pool.h"
#include "seq/alignment.h"

typedef struct estimate {
    double step_seconds; /* of one training step at the start, when no work is shared */
    double bytes;        /* of the whole process */
} estimate;

/* Makes the models of `infer` with the given sizes and runs a few steps. Of more than
 * ESTIMATE_TAXA taxa it takes the first so many and scales up: time and memory of a step grow
 * with the square of the number of taxa. */
enum { ESTIMATE_TAXA = 60 };
int estimate_infer(estimate *out, const alignment *a, int hidden, int heads, int branch_hidden,
                   int k, pool *threads);

#endif
