/* trace.h: the course of a quantity during training, from the lines of <prefix>.metrics.jsonl. */
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

/* The values of the given name in all lines after the end of annealing: "anneal" is 1 in the line
 * and in the one before. Lines without these numbers are skipped; if there is no such file, or it
 * is not a table, there are no points. */
int trace_read(trace *t, const char *path, const char *name);
void trace_free(trace *t); /* safe on a zeroed or half-built one */

#endif
