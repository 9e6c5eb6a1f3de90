/* chain_estimate.h: the time and memory of the search for trees and of the chains over topologies
 * (collapsed/chain_stage.h), from a second or two of the real operations. */
#ifndef JOBS_CHAIN_ESTIMATE_H
#define JOBS_CHAIN_ESTIMATE_H

#include "base/pool.h"
#include "seq/alignment.h"
#include "subst/branch_prior.h"
#include "subst/free_model.h"

/* What would be inferred. */
typedef struct estimate_subject {
    const alignment *alignment;
    const free_model *model;
    branch_prior prior; /* of branch lengths */
} estimate_subject;

/* Wall time on all threads, in seconds. */
typedef struct chain_estimate {
    double parameters; /* of the first stage, that finds the free parameters; 0 if there are none */
    double climb;      /* to climb from one starting tree */
    double expand;     /* to look at the neighbours of a tree of the table */
    double reached;    /* trees around the first peaks; INFINITY if not all were seen */
    double block;      /* one block of every chain */
    double fit;        /* the mode of the branch lengths of a tree */
    double evaluate;   /* the same with the draws of lengths that the answer makes; of parameters as
                          well, around the joint mode, where these are free */
    /* In all, if the posterior is diffuse. */
    double seconds;      /* with ESTIMATE_BLOCKS blocks of every chain, ESTIMATE_PASSES of draws */
    double most_seconds; /* with as many as there may be */
    double search_bytes; /* of search and fits */
    double bytes;        /* of these, the chains, and the trees that they meet, with their files */
} chain_estimate;

/* Chains that mix well are done after about so many blocks and passes. How many are needed is a
 * property of the data: nothing tells beforehand. */
enum { ESTIMATE_BLOCKS = 4096, ESTIMATE_PASSES = 10 };

/* Fits and blocks run on at most 200 of the sequences, climbs on 60. With more, fits, blocks and
 * expansions are scaled in proportion to taxa and site patterns, climbs and evaluations with the
 * square of the taxa. Free parameters are fitted to one tree for that. ART_ERR_NUMERIC if there are
 * none at which the data have a likelihood. */
int estimate_chains(chain_estimate *out, const estimate_subject *subject, pool *threads);

#endif
