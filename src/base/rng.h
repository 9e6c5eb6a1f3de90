/* rng.h: counter-based random numbers (Philox4x32-10, Salmon et al. 2011).
 *
 * A stream is a function of (seed, purpose, step, index) alone, so draws do not depend on threads,
 * on the composition of a batch or on earlier draws:
 *
 *     rng r = rng_at(seed, RNG_TOPOLOGY, step, particle);
 *     double u = rng_uniform(&r);
 *
 * A stream holds 2^34 numbers of 32 bits. It is a plain value: copy it to fork it. */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdint.h>

/* One purpose per kind of draw; a new kind gets a new number, numbers are never reused. */
enum rng_purpose {
    RNG_TEST = 0,
    RNG_INIT = 1,     /* initial weights */
    RNG_TOPOLOGY = 2, /* decisions of a sampled tree */
    RNG_BRANCH = 3,   /* branch-length noise */
    RNG_BATCH = 4,    /* which trees go into a batch */
    RNG_SIMULATE = 5, /* simulated trees and alignments */
    RNG_EVIDENCE = 6, /* decisions of the particles of the evidence */
    RNG_EVIDENCE_BRANCH = 7,
    RNG_POSTERIOR = 8,     /* choice of trees and lengths in the final sampling */
    RNG_BENCH = 10,        /* 9 was in use */
    RNG_START = 11,        /* stepwise-addition starting trees of exploration; shaking of peaks */
    RNG_TREE_LENGTHS = 12, /* branch lengths from the proposal of one topology */
    RNG_SAMPLE = 13,       /* draws from a trained model */
    RNG_SAMPLE_BRANCH = 14,
    RNG_SCREEN = 15,      /* which draws with small weights are kept */
    RNG_RESAMPLE = 16,    /* which draws form the posterior sample */
    RNG_PILOT = 17,       /* trees of a density that show how good it is */
    RNG_PROPOSAL = 18,    /* trees of a density in importance sampling */
    RNG_CHOICE = 19,      /* of trees whose branch lengths are drawn */
    RNG_CHAIN = 20,       /* a step of a Markov chain over topologies */
    RNG_CHAIN_BLOCK = 21, /* whether a block of such steps is accepted */
    RNG_CHAIN_SWAP = 22,  /* exchanges between temperatures of such chains */
    RNG_PARSIMONY = 23,   /* a round of a start of the search under parsimony */
    RNG_AVERAGE = 24,     /* the order of rows of an average over models */
    RNG_SIGNS = 25,       /* places around a mode of branch lengths */
    RNG_MODES = 26,       /* branch lengths from which a search for other modes starts */
};

typedef struct rng {
    uint32_t key[2];
    uint32_t counter[4]; /* block number, index, step, purpose */
    uint32_t block[4];   /* the current block of output */
    int left;            /* unused words of it */
} rng;

rng rng_at(uint64_t seed, uint32_t purpose, uint32_t step, uint32_t index);

uint32_t rng_u32(rng *r);
double rng_uniform(rng *r);             /* in the open interval (0, 1), 52 bits */
double rng_normal(rng *r);              /* standard normal; uses two uniforms, keeps none */
double rng_exponential(rng *r);         /* mean 1 */
double rng_gamma(rng *r, double shape); /* mean `shape`, which is above 0; scale 1 */
uint32_t rng_below(rng *r, uint32_t n); /* uniform in 0..n-1, without bias; n > 0 */

/* One of n >= 1 outcomes, with probabilities proportional to exp(log_weight), which may be -inf;
 * the first if all are. */
int rng_choose(rng *r, const double *log_weight, int n);

/* One block of Philox4x32-10, for known-answer tests. */
void rng_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]);

#endif
