/* signals.h: signals that tell a run to save or to stop.
 *
 * SIGUSR1 asks for a checkpoint; SIGINT and SIGTERM (and SIGHUP, when a terminal closes) ask to
 * stop, and a second one ends the program at once. (Signals within a tenth of a second count as
 * one: `timeout`, for example, signals a process and then its group.)
 *
 * A signal sets a flag that the run checks between two pieces of work, and is answered at once by a
 * line on the standard error. Nothing else happens, in whichever thread it arrives, and system
 * calls are restarted, so nothing is interrupted halfway. If the piece of work has not ended a few
 * seconds after a request to stop, the program ends as if it were killed: the last checkpoint, from
 * which the run is resumed, is then the one before that piece. The handlers are never removed: a
 * signal that arrives when the results are complete changes nothing. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <stdbool.h>

void signals_listen(void);

bool signals_stop(void); /* a stop was requested; from now on nothing ends the program but a second
                            one: there is time to save */
void signals_done(void); /* the work has ended, only files are to be written: no request to stop is
                            answered any more */
bool signals_save(void); /* a checkpoint was requested since the last call */

#endif
