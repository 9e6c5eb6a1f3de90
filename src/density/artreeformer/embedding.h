/* embedding.h: node embeddings of a tree: every leaf has a given vector, and an internal node is
 * the mean of its three neighbours (the harmonic extension of the leaves, which minimises the
 * Dirichlet energy of the tree).
 *
 * With unit vectors at the leaves, the vector f(u) of an internal node u holds the probabilities
 * that a random walk from u ends at each leaf. The extension is linear in the vectors of the
 * leaves, so a linear map of f is the extension of the columns of the map: this is the projected
 * form, which never computes the N-dimensional f. docs/model.md has the derivation.
 *
 * Nodes are rows of a matrix. Row 0 is taxon 0 and row e + 1 is the lower node of edge e
 * (tree/topology.h), so rows keep their number while the tree grows:
 *
 *     rows 0, 1         taxa 0, 1
 *     row  2n - 2       taxon n               (n >= 2)
 *     row  2n - 1       the internal node added with it
 *
 *     embedding_plan plan;
 *     status = embedding_plan_init(&plan, n_taxa);
 *     embedding_plan_set(&plan, &tree);           for every tree, whole or partial
 *     embedding_extend(x, &plan, d);              leaf rows in, internal rows out
 *     embedding_plan_free(&plan); */
#ifndef ARTREEFORMER_EMBEDDING_H
#define ARTREEFORMER_EMBEDDING_H

#include "base/cpu.h"
#include "base/real.h"
#include "tree/topology.h"

#include <stddef.h>

/* The order of elimination for one tree with n leaves; depends on the topology only. */
typedef struct embedding_plan {
    int n_taxa;          /* room */
    int n_leaves;        /* n */
    int32_t *parent;     /* [2n-2], rows; -1 for row 0 */
    int32_t (*child)[2]; /* [2n-2], rows; of inner rows only */
    int32_t *inner;      /* [n-2], the inner rows, children before parents */
    real *share;         /* [2n-2], a_v: the weight of the parent once all below is eliminated */
    int32_t *scratch;    /* [2N-3] */
} embedding_plan;

static inline int32_t node_row(int32_t node, int32_t n_taxa)
{
    return node == 0 ? 0 : node_edge(node, n_taxa) + 1;
}

static inline int32_t leaf_row(int32_t taxon)
{
    return taxon < 2 ? taxon : 2 * taxon - 2;
}

int embedding_plan_init(embedding_plan *p, int n_taxa);
void embedding_plan_free(embedding_plan *p);                   /* safe on a zeroed or freed one */
void embedding_plan_set(embedding_plan *p, const topology *t); /* O(n) */

/* x [2n-2][width]: sets the internal rows to the harmonic extension of the leaf rows. Exact, by
 * elimination towards taxon 0 and substitution back: x_v = a_v (x_c + x_c') upwards with a_v = 1 /
 * (3 - a_c - a_c') and a = 0 at leaves; x_v += a_v x_parent downwards. O(n width). */
void embedding_extend(real *x, const embedding_plan *p, int width);

/* The adjoint: dx [2n-2][width] is the gradient of some L with respect to all rows; adds to the
 * leaf rows the gradient through the internal rows, which are overwritten. O(n width). */
void embedding_extend_backward(real *dx, const embedding_plan *p, int width);

/* Four methods of computing the same embedding. */
typedef enum embedding_method {
    EMBEDDING_PROJECTED, /* embedding_extend: the one that models use */
    EMBEDDING_TWO_PASS,  /* the same elimination on vectors of R^N */
    EMBEDDING_ITERATED,  /* fixed-point iteration */
    EMBEDDING_SQUARED,   /* the same, squaring the iteration matrix ("power trick") */
} embedding_method;

/* Their names for users, in that order. */
#define EMBEDDING_METHODS "projected|two-pass|iterated|squared"

/* The spectral radius of the iteration is below this for every tree. */
#define EMBEDDING_RATE    0.94280904158206337 /* 2 sqrt(2) / 3 */

/* f [2n-2][n]: the embedding of the unit vectors, in double, by any method; projected means
 * elimination on the rows of the identity, the same as two-pass. The iterations stop when the
 * distance of every column to its limit is at most tolerance in the 2-norm, by the bound
 * EMBEDDING_RATE. work has embedding_work(n) numbers. Returns the number of iterations (of
 * squarings), 0 for the others. O(n^2) two-pass, O(n^2 log 1/tolerance) iterated, O(n^3 log log
 * 1/tolerance) squared. */
int embedding_matrix(double *f, const embedding_plan *p, embedding_method method, double tolerance,
                     double *work);
size_t embedding_work(int n_leaves);

/* extend and its adjoint by the matrix f of embedding_matrix: O(n^2 width). */
void embedding_apply(real *x, const double *f, const embedding_plan *p, int width);
void embedding_apply_backward(real *dx, const double *f, const embedding_plan *p, int width);

/* The kernels behind extend, for models and tests. */
typedef struct embedding_kernels {
    void (*extend)(real *x, const embedding_plan *p, int width);
    void (*extend_back)(real *dx, const embedding_plan *p, int width);
} embedding_kernels;

/* The kernels of a level; NULL if this build does not have them. */
const embedding_kernels *embedding_kernels_at(cpu_level level);

#endif
