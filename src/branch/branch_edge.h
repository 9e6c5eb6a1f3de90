/* branch_edge.h: one branch of a tree between two partials (partials.h), and how partials are
 * computed from each other. The likelihood as a function of this branch alone, its derivatives, and
 * the step that improves its length.
 *
 *     branch_edge e;
 *     status = branch_edge_init(&e, &problem);
 *     branch_edge_set(&e, x, y);                     one pass over the two partials
 *     gain = branch_edge_improve(&e, &state, enough);        any number of lengths after that
 *     value = branch_edge_log_likelihood(&e, cbrt_length);
 *     branch_edge_free(&e);
 *
 * Lengths are handled as their cube roots ("cbrt_length", the x of length_scale.h). */
#ifndef BRANCH_BRANCH_EDGE_H
#define BRANCH_BRANCH_EDGE_H

#include "branch/branch_posterior.h"

/* A node's partial on one side. */
typedef struct partial {
    double *value;  /* of all blocks (data_block.h): [partial], or [leaf] of a leaf */
    int32_t *shift; /* [tiles][TILE] powers of two that value was multiplied by .. */
    int shifted;    /* .. if any; else shift is not read */
    int is_leaf;
} partial;

/* Partials of internal nodes, in one block. */
typedef struct partial_store {
    partial *item; /* [count] */
    double *value;
    int32_t *shift;
} partial_store;

int partial_store_init(partial_store *s, const branch_posterior *p, size_t count);
void partial_store_free(partial_store *s); /* safe on a zeroed one */
size_t partial_store_memory(const branch_posterior *p, size_t count);

/* The partial of a taxon. */
partial partial_of_taxon(const branch_posterior *p, int32_t taxon);

/* The power of two of pattern k of all blocks. */
static inline int32_t partial_shift(const partial *p, size_t k)
{
    return p->shifted ? p->shift[k] : 0;
}

/* A block of a partial from a given tile of the block on, together with the transitions of the
 * branch that leads to it, which may be NULL. */
static inline partial_operand partial_from(const partial *p, const data_block *b, size_t tile,
                                           const double *transition)
{
    const int categories = p->is_leaf ? 1 : b->model.n_categories;
    const size_t first = p->is_leaf ? b->first.leaf : b->first.partial;
    const size_t size = (size_t)categories * (size_t)b->n_states * TILE;
    return (partial_operand){p->value + first + tile * size,
                             transition ? transition + b->first.transition : NULL, categories};
}

/* out = (P x) * (Q y), with the transitions px and py: the partial at the node where the
 * branches to x and to y meet. out is neither x nor y. */
void partial_join(partial *out, const partial *x, const double *px, const partial *y,
                  const double *py, const branch_posterior *p);

/* Some tiles of a block. */
typedef struct tile_span {
    const data_block *block;
    size_t first; /* of the block's tiles */
    size_t tiles;
} tile_span;

static inline tile_span tile_span_of(const data_block *b, size_t first, size_t most)
{
    const size_t left = b->size.tiles - first;
    return (tile_span){b, first, left < most ? left : most};
}

/* The same on some tiles only; out->shifted is 0 before the first of all tiles. */
void partial_join_part(partial *out, const partial *x, const double *px, const partial *y,
                       const double *py, const branch_posterior *p, tile_span at);

/* The power of two of pattern k of all blocks where two partials meet. Where the site may be
 * invariant it is limited, so that the likelihood as an invariant site, scaled by it, stays finite.
 */
int32_t partial_shift_between(const branch_posterior *p, const partial *x, const partial *y,
                              size_t k);

typedef struct branch_edge {
    const branch_posterior *problem;
    const partial *x, *y; /* of the last branch_edge_set */
    double *coefficient;  /* of all blocks (data_block.h) */
    double *growth;       /* of all blocks */
    double *invariant;    /* [tiles][TILE], scaled as the partials are */
    branch_place place;   /* of the last branch_edge_place .. */
    double rest;          /* .. and the sum of the lengths of the other branches */
} branch_edge;

int branch_edge_init(branch_edge *e, const branch_posterior *p);
void branch_edge_free(branch_edge *e); /* safe on a zeroed one */
size_t branch_edge_memory(const branch_posterior *p);

/* The coefficients of the branch between x and y. */
void branch_edge_set(branch_edge *e, const partial *x, const partial *y);

/* The log-likelihood of the data at a length; -inf where a pattern is impossible. */
double branch_edge_log_likelihood(branch_edge *e, double cbrt_length);

/* Its first two derivatives with respect to the length. */
void branch_edge_slopes(double out[2], branch_edge *e, double cbrt_length);

/* Where the branch is in its tree, for priors that ask: which kind of branch it is and how long the
 * other branches are together. To be said before inspect and improve. */
static inline void branch_edge_place(branch_edge *e, branch_place place, double rest)
{
    e->place = place;
    e->rest = rest;
}

/* The state of a branch: its length, and the derivatives of f with respect to x there. */
typedef struct branch_state {
    double cbrt_length;
    double slope;     /* f' when last inspected; after improve, that before its last step */
    double curvature; /* -f'' at the same place, but at least a quarter of the Jacobian's share;
                         without g'' of priors that couple the branches (length_prior.h) */
} branch_state;

/* Slope and curvature at b->cbrt_length: the derivatives of log-likelihood and log prior with
 * respect to the length, converted to x by length_scale_first and length_scale_second. Returns
 * f''. */
double branch_edge_inspect(branch_edge *e, branch_state *b);

/* Newton steps in x. One step is enough if it is small, because the other branches will change too.
 * Otherwise steps are repeated until one is small, or until its predicted gain is below `enough`.
 * Returns the gain predicted for the first step, f'^2 / (2 |f''|). The length stays between
 * BRANCH_SHORTEST and BRANCH_LONGEST. */
double branch_edge_improve(branch_edge *e, branch_state *b, double enough);

#endif
