/* search_worker.h: what one thread of an exploration (search.h) does with one tree: fit it, climb
 * from a random start, examine its neighbours. A worker is scratch memory; results depend only on
 * the arguments. */
#ifndef COLLAPSED_SEARCH_WORKER_H
#define COLLAPSED_SEARCH_WORKER_H

#include "base/rng.h"
#include "collapsed/settings.h"
#include "collapsed/tree_table.h"
#include "branch/climb.h"
#include "pars/stepwise.h"

/* A topology with its lengths and their evidence (diagonal Laplace). */
typedef struct fitted_tree {
    int32_t *decision; /* [N-3] */
    double *length;    /* [E] */
    double laplace;
    int unfitted; /* length and laplace are still approximate */
    int status;   /* of the fit */
} fitted_tree;

/* A neighbour that is worth a fit: the move and its approximate score. */
typedef struct neighbour {
    int32_t v, w; /* topology_nni(v, w) or topology_spr(v, w) */
    double score;
    uint64_t key;                /* hash of its decisions */
    double length[NNI_BRANCHES]; /* of an interchange: of the branches that were fitted .. */
    int32_t node[NNI_BRANCHES];  /* .. above these nodes */
} neighbour;

typedef struct neighbour_list {
    neighbour *item; /* [room] */
    int count;
    int room;       /* if there are more, the best are kept */
    int64_t scored; /* how many were scored to find them */
} neighbour_list;

/* Peaks that shaking has found, each once. */
typedef struct shaken_list {
    int32_t *from;     /* [N-3] the peak that is shaken, which is none of them */
    fitted_tree *item; /* [room] with lengths that were fitted near changes */
    int count, room;   /* if there are more, the best are kept */
} shaken_list;

typedef struct search_worker {
    const branch_posterior *problem;
    branch_solver *solver;
    branch_moves *moves;
    stepwise *starts;
    topology tree;
    climb *climb;
    fitted_tree here;  /* of a climb */
    double *by_node;   /* [nodes] lengths */
    int32_t *edge_of;  /* [nodes] */
    int32_t *scratch;  /* [6N] */
    int32_t *decision; /* [N-3] */
    const search_settings *set;
    /* The expansion that is being done. */
    neighbour_list *list;
    const fitted_tree *parent;
    const tree_table *table;
    shaken_list *shaken;
} search_worker;

/* The problem and the settings are borrowed. */
int search_worker_init(search_worker *w, const branch_posterior *problem, const alignment *a,
                       const int *taxon, const search_settings *set);
void search_worker_free(search_worker *w); /* safe on a zeroed or half-built one */

/* Memory for a fitted tree. */
int fitted_tree_init(fitted_tree *t, const branch_posterior *problem);
void fitted_tree_free(fitted_tree *t); /* safe on a zeroed one */
void fitted_tree_copy(fitted_tree *to, const fitted_tree *from, const branch_posterior *problem);

uint64_t topology_key(const int32_t *decision, size_t n_decisions);

/* Fits t from its lengths. */
void search_fit(search_worker *w, fitted_tree *t);

/* out becomes the neighbour n of parent, with lengths to start its fit from. */
void search_neighbour(search_worker *w, fitted_tree *out, const fitted_tree *parent,
                      const neighbour *n, int is_spr);

/* out becomes the peak (branch/climb.h) above a random start. Returns how many trees were fitted;
 * how many were scored is added to *scored. If stop (may be NULL) is due, ART_ERR_STOPPED, and out
 * and *scored are as they were. */
int search_climb(search_worker *w, fitted_tree *out, rng stream, int64_t *scored,
                 const interrupt *stop);

/* t, a peak, becomes the best that `pieces` of shaking (climb_shake) come to, and list the other
 * peaks within `window` nats. As search_climb otherwise. */
int search_shake(search_worker *w, fitted_tree *t, shaken_list *list, rng stream, int pieces,
                 double window, int64_t *scored, const interrupt *stop);

/* out becomes the random start itself, with fitted lengths. */
void search_parsimony(search_worker *w, fitted_tree *out, rng stream);

/* The neighbours of t, by interchanges or by longer subtree moves, that are not in the table and
 * score at least cutoff. t is fitted first if it is still approximate. */
void search_expand(search_worker *w, neighbour_list *list, fitted_tree *t, const tree_table *table,
                   double cutoff, int is_spr);

#endif
