/* chain_starts.h: where chains over topologies (chain_stage.h, joint_stage.h) begin. */
#ifndef COLLAPSED_CHAIN_STARTS_H
#define COLLAPSED_CHAIN_STARTS_H

#include "collapsed/tree_table.h"

/* Starts all chains, of decision [n_chains][N-3] and length [n_chains][E]. */
typedef int chain_start(void *context, const int32_t *decision, const double *length);

/* Starts n_chains chains at peaks of the table (TREE_PEAK): every chain at the best peak that is
 * far from all that are taken already, by a quarter of the largest Robinson-Foulds distance, or a
 * half of that, and so on, if there is none. Of two parts of the posterior that are far apart, each
 * is to have a chain, the more probable ones first. Peaks that are more than `window` nats below
 * the best one do not count. Where there are fewer peaks than chains, several begin at the best
 * one. The table has a peak. */
int chain_starts(const tree_table *t, double window, int n_chains, chain_start *start,
                 void *context);

#endif
