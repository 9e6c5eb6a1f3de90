/* partials.h: conditional likelihoods of site patterns at the ends of a branch, and the
 * likelihood as a function of the length of that branch alone.
 *
 * A partial at a node is, for every pattern, rate category and base, the likelihood of the
 * data on one side of the node given the base. Patterns are kept in tiles of TILE (the vector
 * dimension), the last one padded with patterns of weight 0:
 *
 *     partial  [tiles][C][4][TILE]       C rate categories; of a leaf [tiles][1][4][TILE]
 *
 * Where partials x and y meet at the two ends of a branch of length t, the likelihood of a
 * pattern is, with the eigenvalues lambda_j and rows l_j of `left` of the model, the rates r_c
 * and the frequencies pi,
 *
 *     L(t) = L(0) + sum_c sum_j=1..3 k_cj (exp(lambda_j r_c t) - 1)
 *     L(0) = invariant + sum_c weight_c sum_i pi_i x_ci y_ci,   k_cj = weight_c (l_j x_c)(l_j y_c)
 *
 * because the model is reversible. So one pass over the partials gives the coefficients
 *
 *     coefficients [tiles][1 + T][TILE]  L(0), then the T = C m numbers k
 *
 * and every length after that costs a sum over them. Under JC the three eigenvalues are equal
 * and their k are added: m = 1; otherwise m = 3. Written this way, nothing cancels when t is
 * short.
 *
 * To avoid underflow, a partial carries for every pattern the power of two that it was multiplied
 * by (scaling.h). */
#ifndef LIK_PARTIALS_H
#define LIK_PARTIALS_H

#include "base/cpu.h"
#include "lik/scaling.h"
#include "subst/subst_model.h"

#include <stddef.h>
#include <stdint.h>

enum { TILE = 32 };

/* A partial, and the branch that leads to it. */
typedef struct partial_operand {
    const double *value;
    const double *transition; /* [C][2] (e, c) under JC, else [C][4][4]; see vec4.h */
    int categories;           /* C, or 1 for a leaf */
} partial_operand;

/* L(t) - L(0) and its first two derivatives with respect to t, each as T factors of the k. */
typedef struct partial_growth {
    const double *value;  /* exp(mu t) - 1 */
    const double *first;  /* mu exp(mu t) */
    const double *second; /* mu^2 exp(mu t) */
} partial_growth;

typedef struct partial_kernels {
    /* out = (P_x x) * (P_y y) elementwise, C categories. Returns the least sum over categories
     * and bases among the patterns. out may not overlap x or y. */
    double (*combine)(double *out, partial_operand x, partial_operand y, int categories,
                      size_t tiles);

    /* The coefficients of the branch between x and y (their transitions are not used).
     * invariant [tiles][TILE] may be NULL. */
    void (*edge_likelihood)(double *coefficient, partial_operand x, partial_operand y,
                            const double *invariant, const subst_model *m, size_t tiles);

    /* out[0], out[1] = the first two derivatives of sum weight log L(t). */
    void (*slopes)(double out[2], const double *coefficient, const double *weight,
                   partial_growth growth, int terms, size_t tiles);

    /* sum weight log L(t); -inf if some L is not positive. */
    double (*log_sum)(const double *coefficient, const double *weight, const double *growth,
                      int terms, size_t tiles);

    /* out = P x, C categories. */
    void (*spread)(double *out, partial_operand x, int categories, size_t tiles);

    /* row = P (row * times) elementwise, C categories. */
    void (*propagate)(double *row, const double *times, const double *transition, int categories,
                      size_t tiles);

    /* out [tiles][TILE] = sum_c weight_c sum_i pi_i x_ci y_ci (transitions are not used). */
    void (*pair)(double *out, partial_operand x, partial_operand y, const subst_model *m,
                 size_t tiles);

    /* x_ci = weight_c pi_i factor x_ci, C categories; factor [tiles][TILE]. */
    void (*weigh)(double *x, const double *factor, const subst_model *m, size_t tiles);

    /* out[i][j] += sum_k scale_k a[i][k] b[j][k], k < n. The rows of out are `stride` numbers
     * apart, those of a (rows_a) and of b (rows_b) `pitch`. */
    void (*dots)(double *out, size_t stride, const double *a, int rows_a, const double *b,
                 int rows_b, size_t pitch, const double *scale, size_t n);
} partial_kernels;

/* The kernels of a level for JC or for every model; NULL if this build does not have them. */
const partial_kernels *partial_kernels_at(cpu_level level, int is_jc);

#endif
