/* subtree_places.h: the branches of a tree to which a part of it can be moved, by their distance
 * from where it is.
 *
 *     subtree_places x;
 *     status = subtree_places_init(&x, radius);
 *     subtree_places_list(&x, &tree, v, 2 * radius);
 *     subtree_places_mark(&x, centre, radius);
 *     ... x.item[i].is_near ...
 *     subtree_places_free(&x);
 *
 * A place and its centre see the same places within the radius of that centre: a move that is
 * chosen among these has a reverse that is chosen among the same (docs/chain.md). */
#ifndef CHAIN_SUBTREE_PLACES_H
#define CHAIN_SUBTREE_PLACES_H

#include "tree/topology.h"

enum {
    SUBTREE_RADIUS = 4, /* at most */
    SUBTREE_NEAR = 61,  /* places within that radius of one: 1 + 4 + 8 + 16 + 32 */
};

/* A branch of the tree without the part that is moved, as seen from where the part was. */
typedef struct subtree_place {
    int32_t node;  /* the branch above it .. */
    int up;        /* .. leads away upwards */
    int depth;     /* nodes between it and the place where the part was, which is number 0 */
    int before;    /* number of the place that it follows */
    int side;      /* end of place 0 that it is at */
    int is_needed; /* it, or one that follows it, is to be scored */
    int is_near;   /* it is to be scored */
    double score;
} subtree_place;

typedef struct subtree_places {
    subtree_place *item; /* by distance */
    int count;
} subtree_places;

/* Room for all places within twice the radius. */
int subtree_places_init(subtree_places *x, int radius);
void subtree_places_free(subtree_places *x); /* safe on a zeroed one */
size_t subtree_places_memory(int radius);

/* All places for the part below v, which is not at the top, within `most` branches. Those that
 * follow a place at the same end come in pairs, from number 1 on. */
void subtree_places_list(subtree_places *x, const topology *t, int32_t v, int most);

/* How many are within a radius of place 0: the first ones. */
int subtree_places_within(const subtree_places *x, int radius);

/* Marks those within a radius of the centre, and those that lead to them. */
void subtree_places_mark(subtree_places *x, int centre, int radius);

#endif
