/* banner.h: what a run says first and last. */
#ifndef CLI_BANNER_H
#define CLI_BANNER_H

#include "cli/session.h"

/* Cores this process may use. */
int host_cores(void);

/* The processor's name; "unknown" where the system does not tell. Cut at size. */
const char *host_processor(char *name, size_t size);

/* Bytes of memory of this machine; 0 if not known. */
double host_memory(void);

/* Largest resident memory of this process so far, bytes. */
double peak_memory(void);

/* User and system time of this process so far, seconds. */
double cpu_seconds(void);

/* Version, host, command, seed and threads (where the command has them). */
void banner_start(session *s);

/* Files written, wall and CPU time, peak memory, what to cite. */
void banner_end(session *s);

/* The text of `artreeformer --version`. */
void banner_version(output *o);

#endif
