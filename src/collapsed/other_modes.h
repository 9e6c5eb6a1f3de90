/* other_modes.h: whether branch lengths of probable trees have more than one mode.
 *
 * Search and chains take lengths along from one tree to the next, and with them the mode: where a
 * tree has several, the others may be left out for good, and every estimate from there agrees with
 * every other. So some trees are fitted from other starts as well, and what that finds is counted:
 *
 *     other_modes m = {0};
 *     status = other_modes_look(&m, team, tree, count, &start, stop);       any number of times
 *     share = other_modes_share(&m);
 *
 * Trees are to be picked in proportion to their probability. The results are the same on any number
 * of threads. */
#ifndef COLLAPSED_OTHER_MODES_H
#define COLLAPSED_OTHER_MODES_H

#include "branch/evidence_batch.h"
#include "collapsed/settings.h"
#include "io/saved_state.h"

typedef struct other_modes {
    size_t looked;   /* trees that were fitted from other starts .. */
    double left_out; /* .. and the sum of their shares that are in modes that were left out */
} other_modes;

/* A tree, and g at the mode that is known. */
typedef struct known_mode {
    const int32_t *decision; /* [N-3] */
    double laplace;
} known_mode;

/* Where the other fits start: all branches as long as `typical`, and independent exponential
 * lengths with that mean. */
typedef struct mode_starts {
    mode_settings set;
    uint64_t seed;
    size_t n_edges;
    double typical;
} mode_starts;

/* How many trees are looked at: fewer with many taxa. */
size_t other_modes_trees(const collapsed_settings *set, int n_taxa);

/* Where stop (may be NULL) is due, it ends after some of the trees. */
int other_modes_look(other_modes *m, evidence_batch *team, const known_mode *tree, size_t count,
                     const mode_starts *start, const interrupt *stop);

/* The share of the posterior in modes that were left out; 0 if nothing was looked at. */
double other_modes_share(const other_modes *m);

/* Adds the fields; `most` trees may have been looked at. */
void other_modes_fields(other_modes *m, size_t most, saved_state *s);

/* The mean of n lengths, n > 0. */
double mean_length(const double *length, size_t n);

#endif
