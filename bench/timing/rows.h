/* rows.h: what `bench` measures, one row each. */
#ifndef TIMING_ROWS_H
#define TIMING_ROWS_H

#include "timing/clock.h"
#include "timing/sgemm.h"
#include "timing/workbench.h"

typedef struct bench_row {
    const char *name;
    int argument;
    bool trained; /* takes too long with random weights, where nothing is shared */
    /* Once before all repeats, and before each of them; not timed; may be NULL. */
    int (*open)(workbench *w, int argument);
    int (*prepare)(workbench *w, int argument);
    int (*work)(workbench *w, int argument);
    int (*close)(workbench *w, int argument);
} bench_row;

extern const bench_row BENCH_ROWS[]; /* ends with a NULL name */

typedef struct bench_result {
    int repeats;
    spread seconds;
    workbench_cost cost;        /* of one repeat, mean */
    double sgemm[SGEMM_PASSES]; /* operations per second, measured just before */
    double peak;                /* memory of the process so far, bytes */
} bench_result;

/* One repeat to warm up, then up to `repeats` timed ones, as many as begin within `limit`
 * seconds; where the first takes longer than that, it alone counts. Every repeat draws its own
 * trees. */
int bench_row_measure(bench_result *out, workbench *w, sgemm_bench *sgemm, const bench_row *row,
                      int repeats, double limit);

/* How much faster a row without open and close is on one workbench than on the other: the median
 * over repeats in turns, so that what disturbs the machine disturbs both. */
int bench_speedup(double *out, workbench *many, workbench *one, const bench_row *row, int repeats,
                  double limit);

const bench_row *bench_row_find(const char *name); /* NULL if there is none */

/* Operations per second; and the same of sgemm on as many operations forward and backward. Both
 * 0 where the work is not products of matrices. */
double bench_rate(const bench_result *r);
double bench_sgemm(const bench_result *r);

#endif
