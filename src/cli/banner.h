/* banner.h: the first and last messages of a run. */
#ifndef CLI_BANNER_H
#define CLI_BANNER_H

#include "base/host.h"
#include "cli/session.h"

/* Version, host, command, seed and threads (where the command has them). */
void banner_start(session *s);

/* Files written, wall and CPU time, peak memory, what to cite. */
void banner_end(session *s);

/* The text of `artreeformer --version`. */
void banner_version(output *o);

#endif
