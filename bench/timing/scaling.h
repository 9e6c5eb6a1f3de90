/* scaling.h: how the time of a training step grows with the number of taxa. */
#ifndef TIMING_SCALING_H
#define TIMING_SCALING_H

#include "timing/rows.h"

enum { SCALING_SIZES = 7 };

extern const int SCALING_TAXA[SCALING_SIZES]; /* 25 .. 200 */

/* How many of these are not above a limit, two at least. */
int scaling_sizes(int largest);

typedef struct scaling {
    int sizes;
    bench_result step[SCALING_SIZES];
    double exponent; /* b of seconds = a taxa^b, fitted in logarithms */
} scaling;

/* Steps with random weights, on simulated alignments; of the plan particles, model and seed. */
int scaling_run(scaling *out, session *s, const workbench_plan *plan, int sizes, int threads,
                int repeats, double limit);

#endif
