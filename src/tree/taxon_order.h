/* taxon_order.h: an order of the taxa in which the trees of a sample begin alike.
 *
 * A tree is built taxon by taxon, and trees that begin with the same decisions share the work of
 * evaluating them. How much k draws share depends on the order: trees agree on the first n taxa
 * as long as they are of one topology there. So taxa whose position is uncertain come last:
 *
 *     status = taxon_order(order, &sample, 10);
 *     order[i] is the number, in sample.taxa, of the taxon to be attached i-th
 *
 * The order is found from the end: of the taxa that are left, that one goes to the last free
 * place without which k draws are expected to hold the fewest distinct topologies. */
#ifndef TREE_TAXON_ORDER_H
#define TREE_TAXON_ORDER_H

#include "tree/tree_set.h"

/* order [N]. s is normalised. Looks at the trees of most weight, a thousand at most and fewer
 * where N is large. Among equals the last name goes first to the end, so certain trees keep the
 * order they have. O(N^3 trees). ART_ERR_NOMEM if memory is short. */
int taxon_order(int32_t *order, const tree_set *s, int k);

/* The share of the work of k draws from a normalised set that is expected to be left when every
 * distinct partial tree is evaluated once, the work on a tree being its number of edges; 1 for
 * fewer than four taxa. O(N^2 trees). */
int taxon_order_work(double *share, const tree_set *s, int k);

#endif
