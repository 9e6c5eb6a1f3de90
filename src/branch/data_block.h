/* data_block.h: a block of data with its substitution model: the part of a problem
 * (branch_posterior.h) that one partition of an alignment is.
 *
 * A problem is a list of K blocks on the same taxa, which have the tree and its branch lengths b in
 * common; everything else is a block's own: patterns, number of states, model with parameters
 * theta_k, kernels, and the rate multiplier m_k by which all branches are longer for it:
 *
 *     log likelihood = sum_k log likelihood_k(m_k b, theta_k)
 *
 * So derivatives by a length add up over blocks, with the factors m_k (second ones m_k^2).
 *
 * The arrays of a problem hold one block after the other: a partial of a node has the tiles of
 * block 0, then those of block 1; a branch has the transitions of block 0, then those of block 1;
 * and so on. block_sizes says how much of each array is of one block, and where it begins. With S
 * states, C rate categories and T rates (partials.h):
 *
 *     tiles        [tiles][TILE]             weights, powers of two, invariant sites
 *     leaf         [tiles][1][S][TILE]       the partial of a taxon
 *     partial      [tiles][C][S][TILE]       the partial of an internal node
 *     transition   [transitions_size]        of a branch
 *     coefficient  [tiles][1 + T][TILE]      of a branch (branch_edge.h)
 *     growth       [3][T]                    of a branch
 *
 * A block is a plain value that points into memory of its problem. The kernels and subst_model are
 * for 4 states; nothing else here depends on that number. */
#ifndef BRANCH_DATA_BLOCK_H
#define BRANCH_DATA_BLOCK_H

#include "lik/partials.h"
#include "lik/site_patterns.h"
#include "subst/free_model.h"

typedef struct block_sizes {
    size_t tiles; /* of TILE patterns; all others are counted in numbers */
    size_t leaf;
    size_t partial;
    size_t transition;
    size_t coefficient;
    size_t growth;
} block_sizes;

typedef struct data_block {
    int n_states;      /* S */
    subst_model model; /* with the present parameters */
    double multiplier; /* m */
    int terms;         /* T of partials.h */
    size_t n_patterns; /* patterns distinguished by the model, with gaps as missing data */
    block_sizes size;  /* what it takes .. */
    block_sizes first; /* .. and where that begins, behind the blocks before it */
    const partial_kernels *kernel;
    const double *weight; /* [tiles][TILE] */
    double *invariant;    /* [tiles][TILE] likelihood as an invariant site; NULL without +I */
    const uint8_t
        *common; /* [tiles][TILE] set of states that all taxa may share; NULL without +I */
} data_block;

/* A block of patterns behind those that take `before`; its memory is given later. The model is the
 * one where a search starts. */
void data_block_init(data_block *b, const site_patterns *patterns, const free_model *model,
                     block_sizes before);

/* The sizes with a block added. */
block_sizes block_sizes_behind(const data_block *b);

/* Model and multiplier change; so do the likelihoods of invariant sites. */
void data_block_set(data_block *b, const free_model *model, const double *z, double multiplier);

/* out [transition]: the transitions of a branch of length b->multiplier * length, or their
 * derivatives by `length`. */
void data_block_transitions(double *out, const data_block *b, double length);
void data_block_derivatives(double *out, const data_block *b, double length);

#endif
