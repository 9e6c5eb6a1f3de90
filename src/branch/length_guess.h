/* length_guess.h: branch lengths for a topology from those of another one, the reference: a branch
 * that divides the taxa as one of the reference does gets its length, the others the typical
 * length of inner branches there. A fit (branch_solver.h) that begins with them takes few steps
 * where the two trees have most splits in common.
 *
 *     length_guess *g;
 *     status = length_guess_create(&g, n_taxa);
 *     length_guess_set(g, decision, length);          the reference
 *     length_guess_fill(length, g, other);            any number of times, by one thread at a time
 *     length_guess_free(g);
 *
 * Nothing is allocated after create. */
#ifndef BRANCH_LENGTH_GUESS_H
#define BRANCH_LENGTH_GUESS_H

#include "tree/topology.h"

#include <stddef.h>
#include <stdint.h>

typedef struct length_guess length_guess;

int length_guess_create(length_guess **out, int32_t n_taxa);
void length_guess_free(length_guess *g); /* NULL is fine */

/* Bytes that one allocates. */
size_t length_guess_memory(int32_t n_taxa);

/* The reference: decision [N-3], length [E]. O(N). */
void length_guess_set(length_guess *g, const int32_t *decision, const double *length);

/* length [E] for decision [N-3]. O(N). */
void length_guess_fill(double *length, length_guess *g, const int32_t *decision);

#endif
