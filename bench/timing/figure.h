/* figure.h: the paper's timing figure: node embeddings and message passing of 128 trees
 * against the number of taxa, iterated against projected. */
#ifndef TIMING_FIGURE_H
#define TIMING_FIGURE_H

#include "timing/scaling.h"

enum { FIGURE_TREES = 128, FIGURE_CURVES = 5 };

/* The four ways to the embedding in the order of enum embedding_method, then what the network
 * does next on the nodes, which is the same for all of them. */
typedef struct figure {
    int sizes;
    bench_result curve[FIGURE_CURVES][SCALING_SIZES]; /* repeats, seconds and peak */
} figure;

extern const char *const FIGURE_NAME[FIGURE_CURVES];

/* Up to `repeats` measurements of each, as many as begin within `limit` seconds. */
int figure_run(figure *out, session *s, uint64_t seed, int sizes, int threads, int repeats,
               double limit);

/* Writes it as an SVG file. */
int figure_write(const figure *f, const char *path, int threads, diag *d);

#endif
