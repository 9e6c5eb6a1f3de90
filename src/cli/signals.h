/* signals.h: a run that can be told to save or to stop.
 *
 * SIGUSR1 asks for a checkpoint; SIGINT and SIGTERM (and SIGHUP, when a terminal closes) ask to
 * stop, and the second of them ends the program at once. The signals are blocked in every
 * thread; one thread waits for them and sets a flag that the run looks at between two steps.
 * Nothing else happens when a signal arrives, so nothing can be interrupted half-way.
 *
 * Call signals_start before any other thread is made: threads inherit what is blocked. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <stdbool.h>

typedef struct signals signals;

int signals_start(signals **out);

/* Stops listening; NULL is fine. The signals stay blocked: the program is about to end, and its
 * exit code says what the run came to, not that a signal arrived a moment too late. */
void signals_end(signals *s);

bool signals_stop(const signals *s); /* a stop was asked for */
bool signals_save(signals *s);       /* a checkpoint was asked for since the last call */

#endif
