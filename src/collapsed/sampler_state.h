/* sampler_state.h: the inside of the sampler (sampler.h), for its own files. */
#ifndef COLLAPSED_SAMPLER_STATE_H
#define COLLAPSED_SAMPLER_STATE_H

#include "collapsed/sampler.h"

/* The pieces of a pass, in order. */
typedef enum sampler_stage {
    SAMPLER_DRAW,    /* trees from the network */
    SAMPLER_SCREEN,  /* those outside the table that are worth evaluating */
    SAMPLER_TABLE,   /* branch lengths for the draws from the table */
    SAMPLER_OUTSIDE, /* and for those outside */
} sampler_stage;

/* Consecutive draws of one tree: where their results go. */
typedef struct draw_group {
    int64_t tree; /* of the table; -1 outside, where every draw is a draw_group */
    int first, n; /* draws of the stratum, in its order */
    int lengths;  /* drawn for each of them, of which one represents all */
} draw_group;

struct tree_sampler {
    rounds *c;
    sampler_settings set;
    uint64_t seed;
    int k_table, k_network;  /* of a repeat */
    double log_sum;          /* of the table at the beginning */
    double *log_p;           /* [trees] the table's distribution then */
    tree_estimate *estimate; /* [trees] */
    posterior posterior;
    double *weight; /* [2][passes][repeats][K], the second half for the Pareto fit */
    int passes;
    log_mean mean; /* of all weights */
    log_mean outside;
    int64_t failed;
    /* The pass. */
    sampler_stage stage;
    int next;              /* draw of the stage */
    int n_outside;         /* draws outside the table */
    int kept;              /* of these, after screening */
    particles batch;       /* [repeats K], by repeat */
    int32_t *place;        /* [K] a permutation: the position of a draw in its repeat */
    int64_t *pick;         /* [repeats k_table] trees of the table */
    int32_t *drawn;        /* [repeats k_network][N-3] of the network */
    double *log_q;         /* [repeats k_network] */
    int32_t *outside_draw; /* [repeats k_network] the numbers of those outside the table */
    double *guess;         /* [E] lengths for trees outside */
    /* A piece of it. */
    draw_group *draw_group;
    evidence_job *job;
    double *mode;                        /* [CHUNK_DRAWS][E] */
    double *length;                      /* [CHUNK_DRAWS][E] */
    double *log_weight, *log_likelihood; /* [CHUNK_DRAWS] */
    double *parameter;                   /* [CHUNK_DRAWS][p] of the substitution model */
};

/* The trees of the table for the current pass, in intervals of its cumulative distribution, and the
 * positions of all draws: a function of log_p and the number of the pass. */
void tree_sampler_pick(tree_sampler *s);

/* Sets log_p and estimate of tree i from the table, before any draws. */
void tree_sampler_forget(tree_sampler *s, size_t i);

/* Makes room for the weights of this many passes. */
int tree_sampler_room(tree_sampler *s, int passes);

#endif
