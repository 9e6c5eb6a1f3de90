/* trace.h: how a number went during training, from the lines of <prefix>.metrics.jsonl. */
#ifndef RESULTS_TRACE_H
#define RESULTS_TRACE_H

#include <stddef.h>

typedef struct trace_point {
    double step, value;
} trace_point;

typedef struct trace {
    size_t count;
    trace_point *point; /* [count]; owned */
} trace;

/* The number of the given name in every line that is about steps in which the data had their
 * whole weight: "anneal" is 1 there and in the line before. Lines without these numbers are passed
 * over; where there is no such file, or it is no table, there are no points. */
int trace_read(trace *t, const char *path, const char *name);
void trace_free(trace *t); /* safe on a zeroed or half-built one */

#endif
