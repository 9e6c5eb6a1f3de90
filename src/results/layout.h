/* layout.h: positions of the nodes of a tree drawn with its root at the left.
 *
 *     layout l = {0};
 *     status = layout_make(&l, &c);
 *     node i is at (l.x[i], l.y[i]); the branch above it starts at (l.x[parent], l.y[i])
 *     layout_free(&l); */
#ifndef RESULTS_LAYOUT_H
#define RESULTS_LAYOUT_H

#include "tree/consensus.h"

typedef struct layout {
    double *x;    /* [count] distance from the root: in branch lengths, or in steps; owned */
    double *y;    /* [count] taxa at 0, 1, .. in the order of the nodes; owned */
    double width; /* the largest x */
    bool lengths; /* all branch lengths are known and determine x */
} layout;

int layout_make(layout *l, const consensus *c); /* O(N) */
void layout_free(layout *l);                    /* safe on a zeroed or half-built one */

#endif
