/* signals.h: a run that can be told to save or to stop.
 *
 * SIGUSR1 asks for a checkpoint; SIGINT and SIGTERM (and SIGHUP, when a terminal closes) ask to
 * stop, and a second one ends the program at once. (Not within a tenth of a second, that is the
 * same wish: `timeout`, for one, signals a process and then its group.)
 *
 * A signal sets a flag that the run looks at between two steps. Nothing else happens, in whatever
 * thread it arrives, and system calls go on, so nothing can be interrupted half-way. A program that
 * listens never stops to: a signal that comes when the results are there changes nothing. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <stdbool.h>

void signals_listen(void);

bool signals_stop(void); /* a stop was asked for */
bool signals_save(void); /* a checkpoint was asked for since the last call */

#endif
