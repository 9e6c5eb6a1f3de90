/* likelihood_kernel.h: the inner loops of the likelihood: one tree on one block of patterns.
 *
 * Dimensions: N taxa, C rate categories, B patterns of a block (a multiple of 8; patterns are the
 * vector dimension). A row is B numbers, one per pattern; a vector is 4 rows, one per base.
 *
 * The tree is rooted at taxon 0. With P_v the transition matrix of the edge above node v, L_v the
 * likelihood of what is below v given the base at v, the upward pass keeps
 *
 *     A_v = P_v L_v,    L_v = A_a * A_b elementwise, for children a and b
 *
 * in v's slot. The downward pass turns it in place into U_v, the likelihood of everything that is
 * not below v, given the base at the upper end of its edge (without the frequency pi of that base),
 * divided by the likelihood of the pattern and times its weight:
 *
 *     U_a = M * A_b,    U_b = M * A_a,    M = P_v U_v
 *
 * Then sum pi U_v A_v is the weight of the pattern on every edge, and the derivative with respect
 * to the length of the edge is sum_s U_v,s (pi Q A_v)_s. Under JC, where P x = e x + c sum(x), it
 * is sum(U_v) sum(A_v) / 12 - 4/3 weight, from sums that are already available.
 *
 * When all of A_v is small for a pattern, it is multiplied by 2^256 there (scaling.h), and so is M
 * on the way down; so nothing has to be undone. */
#ifndef LIK_LIKELIHOOD_KERNEL_H
#define LIK_LIKELIHOOD_KERNEL_H

#include "lik/scaling.h"

#include <stdint.h>

/* An internal node v with its children a and b: internal nodes by slot (0 .. N-3), leaves by taxon.
 * If one child is a leaf it is a. */
typedef struct likelihood_step {
    int32_t v, a, b;
    int32_t edge_v, edge_a, edge_b;
    int32_t leaves; /* number of children that are leaves */
} likelihood_step;

typedef struct likelihood_job {
    /* The model. */
    int n_categories;
    const double *rate; /* [C] */
    double category_weight;
    const double *frequency; /* [4] */
    const double *slope;     /* [C][4][4] rate * pi_i Q_ij; not for JC */
    /* The tree. */
    int n_steps;                 /* N-2 */
    const likelihood_step *step; /* [N-2] children before parents */
    const double *transition;    /* [edge][C][2] under JC, else [edge][C][4][4]; see vec4.h */
    /* The block. */
    int n;                   /* B */
    const double *tip;       /* [N][4][B] 1 for the bases that a leaf may have, else 0 */
    const double *weight;    /* [B] how often the pattern occurs; 0 for padding */
    const double *invariant; /* [B] likelihood as an invariant site; NULL without +I */
    /* Scratch of the worker. */
    double *slot;      /* [N-2][C][4][B] */
    double *factor;    /* [N-2][B] by which each pattern was scaled, at nodes where one was */
    uint8_t *scaled;   /* [N-2] whether any pattern was */
    double *total;     /* [B] */
    int32_t *scalings; /* [B] how many times 2^256 */
    /* Results: added to the present values. */
    double *value;    /* sum of weight * log-likelihood */
    double *gradient; /* [edge]; NULL if not needed */
} likelihood_job;

typedef void likelihood_kernel(const likelihood_job *job);

typedef struct likelihood_kernels {
    likelihood_kernel *jc;
    likelihood_kernel *general;
} likelihood_kernels;

extern const likelihood_kernels likelihood_kernels_generic;
#if defined(__x86_64__)
extern const likelihood_kernels likelihood_kernels_avx2;
extern const likelihood_kernels likelihood_kernels_avx512;
#endif

#endif
