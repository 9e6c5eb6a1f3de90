/* block_parameters.h: the free parameters of all blocks of a problem (branch/data_block.h), as one
 * vector z.
 *
 * Every block has a substitution model, some of whose parameters may be free (free_model.h), and a
 * rate multiplier m_k: the branches of the tree are m_k times as long for it. Multipliers are
 * fixed, or they are free with a mean over all sites of 1. With the shares w_k of the blocks in the
 * sites,
 *
 *     y_k = w_k m_k, sum 1        Dirichlet(1,..,1)        cbrt(y_k / y_reference)
 *
 * are then their prior and their coordinates, positive ones as for other ratios. The reference, a
 * block with the most sites, has none.
 *
 *     z = parameters of block 0, of block 1, ..., of block K - 1, then K - 1 of the multipliers
 *
 * With one block all this is that of its free_model.
 *
 *     const parameter_block given[] = {{.model = first, .share = 600, .multiplier = 1},
 *                                      {.model = second, .share = 300, .multiplier = 1}};
 *     block_parameters b;
 *     status = block_parameters_init(&b, given, 2, true);
 *     block_parameters_start(z, &b);                            b.n_free coordinates
 *     free_model_at(&m, &b.block[k].model, z + b.block[k].first);
 *     m_k = block_parameters_multiplier(&b, z, k);
 *     value = log_likelihood + block_parameters_log_prior(&b, z);
 *     block_parameters_gradient(dz, &b, z, by_block);
 *     block_parameters_free(&b); */
#ifndef SUBST_BLOCK_PARAMETERS_H
#define SUBST_BLOCK_PARAMETERS_H

#include "subst/free_model.h"

#include <stdbool.h>

typedef struct parameter_block {
    free_model model;
    double share;      /* w of the sites, sum 1; to init, any multiple, such as their number */
    double multiplier; /* m, or where the search for it starts; positive */
    int first;         /* its first coordinate; this and what follows is set by init */
    int n_columns;     /* numbers of it that are reported */
} parameter_block;

typedef struct block_parameters {
    int n_blocks;           /* K */
    parameter_block *block; /* [K] */
    bool multipliers_free;  /* with K > 1 */
    int reference;          /* the block whose multiplier has no coordinate */
    int multipliers_at;     /* where those of the others begin */
    int n_free;             /* p, coordinates in all */
} block_parameters;

/* Derivatives of the log-likelihood of a block by its model and its multiplier. */
typedef struct block_slopes {
    model_slopes model;
    double multiplier;
} block_slopes;

/* given [n_blocks] is copied. Free multipliers are scaled to have the mean 1. ART_ERR_USAGE if
 * there is no block, or a share or a multiplier is not positive. */
int block_parameters_init(block_parameters *b, const parameter_block *given, int n_blocks,
                          bool multipliers_free);
int block_parameters_copy(block_parameters *b, const block_parameters *from);
void block_parameters_free(block_parameters *b); /* safe on a zeroed one */

/* As the functions of free_model.h: z [n_free]. */
void block_parameters_start(double *z, const block_parameters *b);
double block_parameters_log_prior(const block_parameters *b, const double *z);
double block_parameters_stated_prior(const block_parameters *b, const double *z);
void block_parameters_bounds(double *low, double *high, const block_parameters *b);
void block_parameters_draw(double *z, const block_parameters *b, rng *stream);

/* The multiplier of block k at z; ratios of y are kept within 1e-5 .. 1e5. */
double block_parameters_multiplier(const block_parameters *b, const double *z, int k);

/* dz [n_free] = the gradient of log-likelihood and log prior, or of the log-likelihood alone, from
 * the derivatives of the log-likelihood of each block, by [K]. */
void block_parameters_gradient(double *dz, const block_parameters *b, const double *z,
                               const block_slopes *by);
void block_parameters_likelihood_gradient(double *dz, const block_parameters *b, const double *z,
                                          const block_slopes *by);

/* What is reported: columns, each with a name as in MrBayes; with one block those of
 * free_model_columns, with several kappa{1}, pi(A){2}, .., and the multipliers m{1} .. m{K} if they
 * are free. Returns how many. */
int block_parameters_columns(const block_parameters *b);

/* The name of column i. */
void block_parameters_name(char name[PARAMETER_NAME_SIZE], const block_parameters *b, int i);

/* value [columns]: all columns at z; or column i alone. */
void block_parameters_values(double *value, const block_parameters *b, const double *z);
double block_parameters_value(const block_parameters *b, const double *z, int i);

#endif
