/* state.h: saved states (io/saved_state.h) that go through the bytes of a file, whole or damaged.
 */
#ifndef SUPPORT_STATE_H
#define SUPPORT_STATE_H

#include "io/saved_state.h"

/* What was saved becomes a state that loads, as after reading a file. Fails the test if it cannot
 * be written. d may be NULL. */
void state_turn(saved_state *s, diag *d);

/* A copy of a state that loads, from which nothing was loaded yet; in it, number `at` of a field
 * has another value. name NULL: a copy without change. */
void state_damaged(saved_state *copy, const saved_state *s, const char *name, size_t at,
                   double value);

/* The same without that field. */
void state_without(saved_state *copy, const saved_state *s, const char *name);

#endif
