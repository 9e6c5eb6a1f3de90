/* taxon_order.h: an order of the taxa in which the trees of a sample share their first decisions.
 *
 * A tree is built taxon by taxon, and trees that begin with the same decisions share the work of
 * evaluating them. How much work k draws share depends on the order: trees share the first n steps
 * if their subtrees on the first n taxa have the same topology. So taxa whose position is uncertain
 * come last:
 *
 *     status = taxon_order(order, &sample, 10);
 *     order[i] is the number, in sample.taxa, of the taxon to be attached i-th
 *
 * The order is determined from the end: the last free position is given to the taxon whose removal
 * leaves the smallest expected number of distinct topologies among k draws. */
#ifndef TREE_TAXON_ORDER_H
#define TREE_TAXON_ORDER_H

#include "tree/tree_set.h"

/* order [N]. s is normalised. Uses only the trees of largest weight, at most a thousand and fewer
 * if N is large. Of equally good taxa the last one is put at the end, so that a sample of a single
 * topology keeps its order. O(N^3 trees). ART_ERR_NOMEM if memory is short. */
int taxon_order(int32_t *order, const tree_set *s, int k);

/* The expected fraction of the work of k draws from a normalised set that remains if every distinct
 * partial tree is evaluated once, where the work on a tree is its number of edges; 1 for fewer than
 * four taxa. O(N^2 trees). */
int taxon_order_work(double *share, const tree_set *s, int k);

#endif
