/* clade_density.h: a density over tree topologies made of clades: conditional clade distributions
 * (Hoehna & Drummond 2012, Larget 2013), fitted to weighted trees in closed form, and smoothed so
 * that every tree has a probability.
 *
 *     clade_density *d;
 *     status = clade_density_create(&d, n_taxa, CLADE_CCD2);
 *     status = clade_density_add(d, decision, weight);           for every tree, any weights
 *     clade_smoothing smoothing = clade_smoothing_estimated();
 *     status = clade_density_fit(d, &smoothing);                 NULL: not smoothed
 *     clade_scratch s;                                           one for every thread
 *     status = clade_scratch_init(&s, d);
 *     log_q = clade_density_log_q(d, decision, &s);
 *     log_q = clade_density_sample(decision, d, &rng, &s);
 *     clade_scratch_free(&s);
 *     clade_density_free(d);
 *
 * Trees may be added after a fit; then fit again before anything else. Everything follows from
 * the trees, their order and the calls of fit: no state is random. Between fits the density is
 * read only, so that threads may share it.
 *
 * A tree hangs from taxon 0. Its clades are what is below the edges, each clade of two or more
 * taxa has its split into two clades, and a tree is the product of p(split | clade) over its
 * clades. With f the share of the weight of the trees that have something:
 *
 *     CCD1    p({A, B} | C)    = f({A, B}) / f(C)
 *     CCD2    p({A, B} | C, S) = f({A, B} of C beside S) / f(C beside S), S the sister of C: a
 *             subsplit network (Zhang & Matsen 2018) of trees rooted at one taxon
 *     CCD0    p(tree) proportional to the product of f(C) over its clades, among the trees all of
 *             whose clades were seen
 *
 * None of them depends on which taxon the trees hang from.
 *
 * Smoothing. Not smoothed, a tree has probability 0 if it has a split that was not seen (CCD0: a
 * clade). Smoothed, what is known about C beside S is blended with what is known about C, and that
 * with what can be said without counts. n(.) are counts of observations:
 *
 *     p(s | C, S) = max(n(s; C, S) - d2, 0) / (n(C, S) + k2) + b(C, S) p(s | C)
 *     p(s | C)    = max(n(s; C) - d1, 0) / (n(C) + k1) + b(C) p0(s | C)
 *
 * with b whatever makes the sums 1; the first is for CCD2 only, and CCD0 has its own p(s | C) for
 * all that is not beyond the clades seen. Of p0, the three shares sum to 1:
 *   share[0]  a split of C into clades that were seen (or single taxa), together or not, all
 *             alike;
 *   share[1]  an interchange: C is split by the counts, one of its parts is split again, and of the
 *             three clades that C has now two others are joined. The clade they form need not have
 *             been seen;
 *   share[2]  any split of C, with the probability that it has in a uniformly drawn tree of C's m
 *             taxa: (2a-3)!! (2b-3)!! / (2m-3)!! for parts of a and b taxa.
 * A clade that was not seen is split as in share[2], and the clades that were seen below it are
 * split by their counts again. So every tree has a probability, and they sum to 1 exactly. As a
 * tree can come about in several ways (a split that was counted may be an interchange of others),
 * log q is a sum over the ways, by one pass over the tree.
 *
 * The *core* is the density without interchanges and arbitrary splits: the splits of p0's first
 * share and those that were seen, normalised at every clade. It is a graph of clades, in which
 * entropy, most probable tree, number of trees and clade probabilities are single passes. They are
 * those of the core. Not smoothed, or with share {1, 0, 0}, the core is the density.
 *
 * Identity of clades. A clade is known by the exclusive or of a random 128-bit number for each of
 * its taxa, fixed once and for all: 16 bytes for any number of taxa, and parts and complements are
 * one operation. Two different clades are equal with probability 2^-128, so that among M clades
 * there is such a pair with probability below M^2 / 2^129: 10^-21 for a billion clades. The taxa of
 * a clade are found by following its splits down.
 *
 * Memory: about 80 bytes for a clade, 70 for a split (100 with CCD2) and, with CCD2, 50 for a split
 * beside a sister; up to twice that while the tables have room to grow. Nothing grows with the
 * square of the number of taxa. */
#ifndef DENSITY_CLADE_CLADE_DENSITY_H
#define DENSITY_CLADE_CLADE_DENSITY_H

#include "base/diag.h"
#include "base/rng.h"
#include "io/safetensors.h"
#include "tree/topology.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum clade_kind { CLADE_CCD0, CLADE_CCD1, CLADE_CCD2 } clade_kind;

/* How much to smooth. Whatever is negative is estimated by fit. Index 0 of strength and discount is
 * about clades, index 1 about clades beside sisters. */
typedef struct clade_smoothing {
    double observations; /* how many independent trees the weights stand for. Estimated, every
                            tree added is one: (sum of w)^2 / sum of w^2. Say it where a tree that
                            is added stands for many, as in a table of distinct trees */
    double strength[2];  /* k above, in observations */
    double discount[2];  /* d above, 0 .. 1, in observations */
    double share[3];     /* of p0; all or none are given. They sum to 1, and share[0] is above 0 */
} clade_smoothing;

typedef struct clade_density clade_density;

/* Memory for the work on one tree. */
typedef struct clade_scratch {
    topology tree;
    int32_t *integers;       /* all of those below; owned */
    int32_t *order;          /* [2N] */
    int32_t *size;           /* [2N] by node: how many taxa are below it */
    int32_t *decisions;      /* [6N] for topology_decisions */
    int32_t *taxa;           /* [N] places for the taxa of clades that are drawn */
    int32_t *other;          /* [N] */
    int64_t *numbers;        /* owned */
    int64_t *clade;          /* [2N] by node, KEY_NONE where it was not seen */
    int64_t *split;          /* [2N] */
    double *log_q;           /* [2N] by node: of what is below it; owned */
    struct clade_key *key;   /* [2N] by node; owned, with .. */
    struct clade_key *old;   /* .. [2N] those of a tree before a part of it is drawn again */
    struct clade_item *item; /* [2N] clades still to be split; owned */
} clade_scratch;

/* An empty density on N >= 3 taxa. ART_ERR_USAGE, ART_ERR_NOMEM. */
int clade_density_create(clade_density **out, int32_t n_taxa, clade_kind kind);
void clade_density_free(clade_density *d); /* NULL is fine */

/* Adds a tree, decision [N-3]. The weight is at least 0 and finite, ART_ERR_USAGE otherwise; a
 * weight of 0 is no tree. Weights count relative to each other. ART_ERR_NOMEM, ART_ERR_LIMIT
 * beyond 2^31 splits; the density is then as before. O(N). */
int clade_density_add(clade_density *d, const int32_t *decision, double weight);

/* Everything estimated. */
clade_smoothing clade_smoothing_estimated(void);

/* Finds the probabilities. smoothing NULL: those that were seen, and 0 for the rest. ART_ERR_USAGE
 * if there is no tree, or a given value is out of its range.
 *
 * What is estimated: strength and discount maximise the probability of each observation given all
 * the others (leaving one out; a sum over the splits, so that no tree is looked at again). The
 * shares are those by which the three ways explain the splits that were seen once.
 *
 * Cost: O(clades + splits) a few dozen times, and for CCD0 or with smoothing the search for splits
 * into clades that were seen: for every clade, every one with the same first taxon, but no more
 * than the heaviest ones where that would be over 2^25 look-ups together. */
int clade_density_fit(clade_density *d, const clade_smoothing *smoothing);

/* What fit used; all zero if it did not smooth. */
clade_smoothing clade_density_smoothing(const clade_density *d);

int clade_scratch_init(clade_scratch *s, const clade_density *d);
void clade_scratch_free(clade_scratch *s); /* safe on a zeroed, half-built or freed one */

/* log q of a tree, -INFINITY where q is 0. O(N): at most 3 look-ups for each clade, and 12 more
 * with interchanges. Allocates nothing. */
double clade_density_log_q(const clade_density *d, const int32_t *decision, clade_scratch *s);

/* Draws a tree into decision [N-3] and returns its log q. O(N log splits) and one evaluation of
 * log q; O(m) more where m taxa are split at will. Allocates nothing. */
double clade_density_sample(int32_t *decision, const clade_density *d, rng *r, clade_scratch *s);

/* Draws again what is below the inner node v of a tree, given its clade and the sister of that. The
 * numbering of inner nodes may be any; nodes whose clades stay keep their numbers. Returns whether
 * the tree is another one now; then *log_ratio is log q of what was there less log q of what is
 * there, both of all trees below such a clade. O(N), and m^2 comparisons for m taxa below v.
 * Allocates nothing. */
bool clade_density_redraw(topology *t, int32_t v, double *log_ratio, const clade_density *d, rng *r,
                          clade_scratch *s);

/* Many trees: log_q [count] of decision [count][N-3]; and draws, of which tree i uses the stream
 * (seed, purpose, step, first + i), so that it does not depend on the others. */
void clade_density_log_q_many(double *log_q, const clade_density *d, const int32_t *decision,
                              size_t count, clade_scratch *s);
void clade_density_sample_many(int32_t *decision, double *log_q, const clade_density *d,
                               size_t count, uint64_t seed, uint32_t purpose, uint32_t step,
                               uint32_t first, clade_scratch *s);

/* Of the core, by passes over the graph, O(clades + splits); ART_ERR_NOMEM. */

/* -sum of q log q: H(C) = sum over splits of p (H(A) + H(B) - log p), small clades first. */
int clade_density_entropy(double *entropy, const clade_density *d);

/* log of the number of trees that have a probability. */
int clade_density_log_trees(double *log_trees, const clade_density *d);

/* The most probable tree, decision [N-3], and the log of its probability in the core if log_p is
 * not NULL. Among equals the split whose smaller part is larger, then the one whose smaller part
 * has the first taxon in which they differ. */
int clade_density_best(int32_t *decision, double *log_p, const clade_density *d);

/* HIPSTR, the tree of splits that were seen with the largest sum of log f(C) over its clades (Baele
 * et al. 2025), and that sum (its log clade credibility) if log_credibility is not NULL.
 * majority: MrHIPSTR, which first of all keeps as many clades with f(C) > 0.5 as it can; the sum is
 * the same one. Not of the density: only its counts matter, whatever the kind. Ties as above. */
int clade_density_hipstr(int32_t *decision, double *log_credibility, const clade_density *d,
                         bool majority);

/* The k most probable trees of a density that is not smoothed, decision [k][N-3], with log_p [k],
 * most probable first; *found is how many there are, at most k. Choices are put in order only as
 * far as they are asked for (Huang & Chiang 2005): about O(splits + k N log k). ART_ERR_USAGE if it
 * is smoothed. */
int clade_density_best_trees(int32_t *decision, double *log_p, size_t *found,
                             const clade_density *d, size_t k);

/* entropy [N]: of the CCD1 of the same trees without taxon i, which follows from the counts: a tree
 * without a taxon has all splits of the tree but the one that sets the taxon apart. All 0 for
 * N < 5. A taxon without which the entropy is much lower is a rogue: nobody knows where it belongs.
 * O(N splits). */
int clade_density_without(double *entropy, const clade_density *d);

/* probability [clade_density_clades] of every clade: P(C) is 1 for all taxa but taxon 0, and a
 * split with probability p adds P(C) p to its two parts. Large clades first. */
int clade_density_probabilities(double *probability, const clade_density *d);

/* Clades that were seen, single taxa counted (clade i < N is taxon i; clade N has all taxa but
 * taxon 0), their splits, and with CCD2 their splits beside sisters, those of two taxa not counted.
 * The splits that a fit has found by itself count too. */
size_t clade_density_clades(const clade_density *d);
size_t clade_density_splits(const clade_density *d);
size_t clade_density_pairs(const clade_density *d);

/* The taxa of clade i as bits [split_words(N)], tree/splits.h, and the number of a clade from its
 * bits, KEY_NONE if it was not seen; taxon 0 is not in it. O(N). */
void clade_density_bits(uint64_t *bits, const clade_density *d, size_t i, clade_scratch *s);
int64_t clade_density_find(const clade_density *d, const uint64_t *bits);

/* The counts as tensors: "tree.clade_weights" F64 [clades], "tree.splits" I32 [splits][3] (clade
 * and parts), "tree.split_weights" F64 [splits]; with CCD2 "tree.pairs" I32 [pairs][2] (context and
 * split, clade_parts.h) and "tree.pair_weights" F64 [pairs]. They point into d and into what is
 * made for them, which the caller keeps until s is freed. */
typedef struct clade_saved {
    double *clade_weight;
    int32_t *split;
    double *split_weight;
} clade_saved;

int clade_density_store(const clade_density *d, clade_saved *c, safetensors *s);
void clade_saved_free(clade_saved *c); /* safe on a zeroed or freed one */

/* Fills an empty density from them; fit then gives the same bits as before if it does not smooth.
 * Everything is looked at: ART_ERR_MISMATCH for what is not a density, and messages name the tensor
 * and the row. */
int clade_density_load(clade_density *d, safetensors *s, diag_place place, diag *notes);

/* Share of the weight of the trees that have clade i. O(1). */
double clade_density_frequency(const clade_density *d, size_t i);

#endif
