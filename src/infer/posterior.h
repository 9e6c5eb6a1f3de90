/* posterior.h: what weighted draws say of the posterior: tree probabilities, splits with their
 * branch lengths, and a sample in which all rows count the same: each is one of the draws, chosen
 * in proportion to its weight, independently of the other rows (so a heavy draw can fill
 * several).
 *
 *     posterior p;
 *     status = posterior_init(&p, &taxa, 1000, true, seed);
 *     status = posterior_add(&p, &batch);              for every batch of particles
 *     status = posterior_finish(&p);
 *     p.trees, p.splits, p.length ...
 *     posterior_free(&p); */
#ifndef INFER_POSTERIOR_H
#define INFER_POSTERIOR_H

#include "base/rng.h"
#include "infer/particles.h"
#include "tree/tree_set.h"

#include <stdbool.h>

typedef struct posterior {
    tree_set trees;     /* importance weights; normalised by posterior_finish */
    split_table splits; /* the same weights, with branch lengths where there are any */
    double reference;   /* log weight that counts as 1 */
    bool has_lengths;
    rng stream;
    double total; /* weight of all draws so far */
    /* The sample. */
    int count; /* rows: 0 as long as no draw has weight, then `room` */
    int room;
    int32_t *decision; /* [count][N-3] */
    double *length;    /* [count][2N-3] */
    double *value;     /* [count] log-likelihood, or minus the parsimony score */
    double *log_prior; /* [count] */
    double *log_q;     /* [count] of tree and branch lengths together */
} posterior;

/* The names are copied. */
int posterior_init(posterior *p, const taxa *names, int room, bool has_lengths, uint64_t seed);
void posterior_free(posterior *p); /* safe on a zeroed or half-built one */

int posterior_add(posterior *p, const particles *batch);

/* Normalises; no further draws after this. */
int posterior_finish(posterior *p);

#endif
