/* sgemm.h: how fast this machine's BLAS multiplies matrices of the network's shapes, on
 * as many threads: what everything else is measured against. */
#ifndef TIMING_SGEMM_H
#define TIMING_SGEMM_H

#include "base/pool.h"
#include "base/real.h"

typedef enum sgemm_pass { SGEMM_FORWARD, SGEMM_BACKWARD, SGEMM_PASSES } sgemm_pass;

/* Every thread has matrices of its own. */
typedef struct sgemm_bench {
    pool *threads; /* borrowed */
    int d;         /* hidden size */
    real *block;
    sgemm_pass pass;
} sgemm_bench;

int sgemm_bench_open(sgemm_bench *b, int d, pool *threads);
void sgemm_bench_close(sgemm_bench *b); /* safe on a zeroed one */

/* Operations per second of all threads together, the median of so many runs of a millisecond (a
 * few at most): the products of the layers d -> d, d -> 2d and 2d -> 2d on tiles of rows; backward,
 * those with the transposed weights and those that give the weights' gradients. */
double sgemm_bench_rate(sgemm_bench *b, sgemm_pass pass, int runs);

#endif
