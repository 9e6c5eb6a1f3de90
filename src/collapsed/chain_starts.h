/* chain_starts.h: where chains over topologies (chain_stage.h) begin. */
#ifndef COLLAPSED_CHAIN_STARTS_H
#define COLLAPSED_CHAIN_STARTS_H

#include "collapsed/chain_stage.h"
#include "collapsed/tree_table.h"

/* Starts all chains at peaks of the table (TREE_PEAK). In turns, a chain begins at the best peak
 * that is not taken yet, and at the one that is farthest from all that are taken (Robinson-Foulds):
 * of two parts of the posterior that are far apart, each is to have a chain. Peaks that are more
 * than `window` nats below the best one do not count. Where there are fewer peaks than chains,
 * several begin at the best one. The table has a peak. */
int chain_starts(chain_stage *s, const tree_table *t, double window);

#endif
