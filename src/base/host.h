/* host.h: the machine and this process: clock, cores, memory. */
#ifndef BASE_HOST_H
#define BASE_HOST_H

#include <stddef.h>

/* Seconds of the monotonic clock. */
double clock_seconds(void);

/* Number of cores that this process may use. */
int host_cores(void);

/* The processor's name; "unknown" if the system does not provide it. Truncated to size. */
const char *host_processor(char *name, size_t size);

/* Bytes of memory of this machine; 0 if unknown. */
double host_memory(void);

/* Largest resident memory of this process so far, bytes. */
double peak_memory(void);

/* User and system time of this process so far, seconds. */
double cpu_seconds(void);

#endif
