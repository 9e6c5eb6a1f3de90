/* interrupt.h: a request to end a long piece of work early.
 *
 *     interrupt stop;
 *     interrupt_init(&stop);
 *     ... in a signal handler or another thread: interrupt_ask(&stop);
 *     ... in the loops of the work: if (interrupt_is_due(&stop)) give up;
 *
 * A piece of work that is given up leaves its state as it was before the piece, and returns
 * ART_ERR_STOPPED. A run that is continued does the piece again, so that its results do not depend
 * on when it was interrupted. */
#ifndef BASE_INTERRUPT_H
#define BASE_INTERRUPT_H

#include "base/host.h"

#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef struct interrupt {
    atomic_bool asked;
    double deadline; /* of clock_seconds; set between pieces of work */
} interrupt;

static inline void interrupt_init(interrupt *i)
{
    atomic_init(&i->asked, false);
    i->deadline = (double)INFINITY;
}

/* Safe in a signal handler. */
static inline void interrupt_ask(interrupt *i)
{
    atomic_store_explicit(&i->asked, true, memory_order_relaxed);
}

/* Asked for, or past the deadline. NULL is never due. Tens of nanoseconds. */
static inline bool interrupt_is_due(const interrupt *i)
{
    return i && (atomic_load_explicit(&i->asked, memory_order_relaxed) ||
                 (isfinite(i->deadline) && clock_seconds() >= i->deadline));
}

#endif
