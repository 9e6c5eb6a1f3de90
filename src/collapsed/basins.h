/* basins.h: how much of the posterior is probably in peaks that no climb has found.
 *
 * Trees of the table that interchanges connect form a basin; a climb that ends in one of its trees
 * is a hit. A basin of which hits are rare tells of others that had none by chance: if there were a
 * second basin, as large and as easy to hit as one with h hits, it would have had none of the h
 * with probability 2^-h. So the share of the posterior that is missing is put at the sum of m 2^-h
 * over the basins, m being their shares of the table. It is 0 if all that matters was hit again and
 * again; a basin without a hit counts whole. A rule of caution, not an estimator. */
#ifndef COLLAPSED_BASINS_H
#define COLLAPSED_BASINS_H

#include "base/key_table.h"
#include "collapsed/tree_table.h"

/* The peaks at which climbs ended, and those that were found around them. */
typedef struct peak_list {
    key_table trees; /* decisions */
    int32_t *hits;   /* [trees.count] climbs */
    double *laplace; /* [trees.count] g */
    size_t room, laplace_room;
} peak_list;

void peak_list_init(peak_list *p, int32_t n_taxa);
void peak_list_free(peak_list *p); /* safe on a zeroed one */

/* So many climbs ended at decision [N-3]; 0 for a peak that was found from another one. Of several
 * g for one peak the largest counts. */
int peak_list_add(peak_list *p, const int32_t *decision, double laplace, int32_t climbs);

/* Climbs that have ended, and the number of peaks at which they did. */
int64_t peak_list_climbs(const peak_list *p);
int64_t peak_list_ends(const peak_list *p);

/* How many climbs have found the top: each counts exp(-d / scale), d being how far below the best
 * peak it ended, in nats; 0 without any. One climb alone says little: others may have missed a
 * higher peak just as they have missed this one. */
double peak_list_found(const peak_list *p, double scale);

/* The numbers of the peaks at most `window` nats below the best, in the order in which they were
 * found, in number [trees.count]; returns how many there are. */
size_t peak_list_best(size_t *number, const peak_list *p, double window);

/* As fields "peaks.*" of a saved state. */
int peak_list_fields(peak_list *p, saved_state *s, int32_t n_taxa);

/* The share that is missing, 0 to 1. Of the trees of the table the heaviest are looked at, `most`
 * of them. O(most N^2). ART_ERR_NOMEM. */
int basins_missing(double *share, const tree_table *t, const peak_list *peaks, size_t most);

#endif
