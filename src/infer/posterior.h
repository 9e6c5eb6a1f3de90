/* posterior.h: what weighted draws say of the posterior: tree probabilities, splits with their
 * branch lengths, and the first draws themselves as a sample.
 *
 *     posterior p;
 *     status = posterior_init(&p, &taxa, 1000);
 *     status = posterior_add(&p, &batch);              for every batch of particles
 *     status = posterior_finish(&p);
 *     p.trees, p.splits, p.weight[i] ...
 *     posterior_free(&p); */
#ifndef INFER_POSTERIOR_H
#define INFER_POSTERIOR_H

#include "infer/particles.h"
#include "tree/tree_set.h"

#include <stdbool.h>

typedef struct posterior {
    tree_set trees;     /* importance weights; normalised by posterior_finish */
    split_table splits; /* the same weights, with branch lengths where there are any */
    double reference;   /* log weight that counts as 1 */
    bool has_lengths;
    /* The sample: the first `room` draws. */
    int count, room;
    int32_t *decision; /* [count][N-3] */
    double *length;    /* [count][2N-3] */
    double *value;     /* [count] log-likelihood, or minus the parsimony score */
    double *log_prior; /* [count] */
    double *log_q;     /* [count] of tree and branch lengths together */
    double *weight;    /* [count] log weights; after posterior_finish weights that sum to 1 */
} posterior;

/* The names are copied. */
int posterior_init(posterior *p, const taxa *names, int room, bool has_lengths);
void posterior_free(posterior *p); /* safe on a zeroed or half-built one */

int posterior_add(posterior *p, const particles *batch);

/* Normalises; no further draws after this. */
int posterior_finish(posterior *p);

#endif
