/* memory.h: allocations counted, and made to fail.
 *
 * Every test program is linked so that the allocations of our own code pass through here
 * (-Wl,--wrap; those inside other libraries do not). */
#ifndef TESTS_MEMORY_H
#define TESTS_MEMORY_H

/* How many allocations there have been. */
long memory_count(void);

/* The k-th allocation from now on fails (1 is the next one), once; 0 takes it back. */
void memory_fail_at(long k);

#endif
