/* posterior.h: summaries of the posterior from weighted draws: tree probabilities, splits with
 * their branch lengths, and some of the draws as rows of a sample.
 *
 *     posterior p;
 *     status = posterior_init(&p, &taxa, 1000, ROWS_BY_WEIGHT, true, seed);
 *     status = posterior_add(&p, &batch);              for every batch of particles
 *     status = posterior_finish(&p);
 *     p.trees, p.splits, p.length ...
 *     posterior_free(&p); */
#ifndef RESULTS_POSTERIOR_H
#define RESULTS_POSTERIOR_H

#include "io/saved_state.h"
#include "subst/block_parameters.h"
#include "train/particles.h"
#include "tree/tree_set.h"

#include <stdbool.h>

typedef enum posterior_rows {
    ROWS_BY_WEIGHT, /* a sample of the posterior: each row is one of the draws, chosen in proportion
                       to its weight, independently of the other rows; all rows have equal weight,
                       and a draw with a large weight can fill several */
    ROWS_EVENLY, /* draws at equal distances, where all have equal weights: the states of chains */
    ROWS_AS_DRAWN, /* the first draws, regardless of their weight: a sample of q */
} posterior_rows;

/* The weighted draws of one number, such as a parameter, as far as its mean needs them. */
typedef struct weighted_sums {
    double weight, value, square;    /* sums of w, w v, w v^2 */
    double weight2, value2, square2; /* sums of w^2, w^2 v, w^2 v^2 */
} weighted_sums;

/* Of one number in a part of a chain: sums of w and w v. */
typedef struct part_sums {
    double weight, value;
} part_sums;

/* Into how many parts a chain is divided: their means differ as much as their dependent states let
 * them, and of several chains there are enough for a standard error. */
enum { POSTERIOR_PARTS = 8 };

typedef struct posterior {
    tree_set trees;     /* importance weights; normalised by posterior_finish */
    split_table splits; /* the same weights, with branch lengths where there are any */
    double reference;   /* log weight that counts as 1 */
    bool has_lengths;
    uint64_t seed;
    int64_t batches; /* that were added */
    double total;    /* weight of all draws so far */
    /* The rows. */
    posterior_rows rows;
    int64_t expected, seen; /* draws that will be and have been added, for ROWS_EVENLY; not saved */
    int count, room;
    int32_t *decision; /* [count][N-3] */
    double *length;    /* [count][2N-3] */
    double *value;     /* [count] log-likelihood, or minus the parsimony score */
    double *log_prior; /* [count] */
    double *log_q;     /* [count] of tree and branch lengths together */
    double *parameter; /* [count][p] coordinates of the free parameters; NULL if there are none */
    block_parameters free; /* what they are coordinates of; n_free = 0 by default */
    int n_columns;         /* numbers whose means are known, tree length first; 0 without lengths */
    weighted_sums *column; /* [n_columns] of all draws, not of the rows alone */
    double *draw_value;    /* [n_columns] of the draw that is being added */
    int n_chains;          /* that draws are from; 0 by default: all draws are independent */
    part_sums *part;       /* [n_chains][POSTERIOR_PARTS][n_columns], until posterior_finish */
    /* Of an average over models (posterior_average.h); NULL otherwise. */
    double *reported; /* [count][n_columns] values of the rows; NaN where the model of a row has no
                         such parameter */
    int *row_model;   /* [count] number of the model of a row, from 1 */
    char (*column_name)[PARAMETER_NAME_SIZE]; /* [n_columns] */
    double *column_share; /* [n_columns] probability of the models that have the parameter */
    double sample_ess; /* effective number of independent draws in the rows: count^2 over the sum,
                          over different draws, of the square of the rows that each fills; by
                          posterior_finish, NaN before and for rows as drawn */
} posterior;

/* The names are copied. */
int posterior_init(posterior *p, const taxa *names, int room, posterior_rows rows, bool has_lengths,
                   uint64_t seed);
void posterior_free(posterior *p); /* safe on a zeroed or half-built one */

/* The draws will have these free parameters; after posterior_init. They are copied. */
int posterior_set_parameters(posterior *p, const block_parameters *free);

/* Some draws are states of chains, and say of which part (particles.part); after
 * posterior_set_parameters. */
int posterior_set_chains(posterior *p, int n_chains);

/* The part that state i of n of a chain is in. */
int32_t posterior_chain_part(int chain, size_t i, size_t n);

/* There will be n columns, with sums of 0. */
int posterior_set_columns(posterior *p, int n);

int posterior_add(posterior *p, const particles *batch);

/* Everything as fields of a saved state, before posterior_finish. Load only into a posterior
 * initialised in the same way. */
int posterior_fields(posterior *p, saved_state *s);

/* The name of a column: TL, then as block_parameters_name has them. */
void posterior_column_name(char name[PARAMETER_NAME_SIZE], const posterior *p, int column);

/* The probability of the models that have the parameter of a column: 1 unless models are averaged.
 * What is said of a column is given these models; those below 1 are not in files of rows. */
double posterior_column_share(const posterior *p, int column);

/* A column of a row. */
double posterior_row_value(const posterior *p, int row, int column);

/* The mean of a column over the posterior, its standard error, and the standard deviation. The
 * error is NaN where the weight is on so few draws (weighted_draws below 3) that it is not known.
 */
double weighted_mean(const weighted_sums *s);
double weighted_mean_error(const weighted_sums *s);
double weighted_draws(const weighted_sums *s); /* how many draws carry the weight: at least 1 */
double weighted_deviation(const weighted_sums *s);

/* Normalises the weights and looks at the rows; no draws can be added afterwards. */
int posterior_finish(posterior *p);

#endif
