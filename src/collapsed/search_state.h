/* search_state.h: the inside of the search (search.h), for its own files: search.c, the order of
 * the work; search_climbs.c, climbs and shaking; search_round.c, neighbourhoods; search_drawn.c,
 * trees from elsewhere. */
#ifndef COLLAPSED_SEARCH_STATE_H
#define COLLAPSED_SEARCH_STATE_H

#include "collapsed/search.h"
#include "collapsed/search_worker.h"

enum {
    SEARCH_CHUNK = 256, /* trees that are fitted, or climbs that are made, at a time */
    SHAKES = 4,         /* peaks that are shaken in a piece of work */
    SHAKEN_ROOM = 64,   /* peaks that shaking one of them may bring */
};

/* A tree that waits to be fitted. */
typedef struct waiting {
    int parent; /* in the round */
    neighbour n;
} waiting;

struct tree_search {
    const branch_posterior *problem;
    tree_table *table;
    search_settings set;
    uint64_t seed;
    pool *threads;
    search_worker *worker; /* [threads] */
    fitted_tree *parent;   /* [batch] */
    neighbour_list *list;  /* [batch] */
    shaken_list shaken[SHAKES];
    neighbour *neighbours; /* [batch][room] */
    waiting *waiting;      /* [batch * room] */
    int n_waiting;
    fitted_tree *result; /* [SEARCH_CHUNK] */
    int64_t (*work)[2];  /* [SEARCH_CHUNK] scored, fitted */
    hash_index seen;     /* those that wait, by their keys */
    size_t *chosen;      /* [max of batch, widen] */
    /* The round. */
    double cutoff;
    int is_spr;
    const waiting *fitting; /* those of the chunk */
    /* The state other than the table on which the next round depends. */
    search_counts counts;
    int64_t wanted;      /* climbs in all, so far */
    int64_t most_first;  /* before the first expansion */
    int64_t most_shaken; /* peaks */
    int shake_pieces;    /* for each */
    int64_t judged;      /* climbs whose harvest has been weighed */
    int64_t idle_starts; /* of these, the last ones that brought nothing */
    double before;       /* log weight of the table when the last ones were weighed, if any */
    peak_list peaks;
    const interrupt *stop; /* of climbs */
    double missing;        /* share in basins that no climb has found, when it was last looked at */
};

/* What enters the table: trees within the window below the best one. */
double search_admission(const tree_search *x);

/* The numbers of the best trees in x->chosen, best first, equal ones in the order of the table:
 * at most `most`, of at least `least`, with all the marks `with` and none of `without`. Returns
 * their number. */
int search_choose(tree_search *x, int most, double least, uint8_t with, uint8_t without);

/* The same of the trees among the first search.widen that are not widened. */
int search_choose_narrow(tree_search *x, double least);

/* Copies the first `count` of x->chosen to x->parent, for the tasks of a round. */
void search_copy_chosen(tree_search *x, int count);

/* Adds a fitted tree to the table unless it is there. *found counts those that were added. */
int search_enter(tree_search *x, const fitted_tree *t, uint8_t mark, int64_t *found);

/* Whether there are peaks around which others are looked for before anything is expanded. */
bool search_wants_first_shakes(tree_search *x);

#endif
