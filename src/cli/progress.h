/* progress.h: the progress line of a long job.
 *
 *     progress p;
 *     progress_start(&p, &s->log, "fitting", "steps", 20000, 0);
 *     for (step...)
 *         progress_update(&p, step, "bound %.3f", bound);
 *     progress_end(&p);
 *
 * On a terminal one line overwrites itself a few times a second; elsewhere a plain line appears
 * every half minute:
 *
 *     fitting: 1 200 of 20 000 steps (6 %), 412/s, 46 s left; bound -7120.314
 *
 * An update that is not due only reads the clock. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "base/host.h"
#include "cli/log.h"

typedef struct progress {
    logger *log;             /* borrowed */
    const char *what, *unit; /* borrowed */
    double total;            /* 0 if unknown */
    double first;            /* where this session started; not 0 for a resumed run */
    double started;          /* seconds of the monotonic clock */
    double next;             /* when the next line is due */
} progress;

void progress_start(progress *p, logger *log, const char *what, const char *unit, double total,
                    double first);

/* The text after the numbers may be empty (""). */
void progress_update(progress *p, double done, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Erases the line. */
void progress_end(progress *p); /* safe on a zeroed one */

#endif
