/* sbn.h: subsplit Bayesian networks of unrooted trees (Zhang & Matsen 2018): the tables, log q by
 * the sum over all rootings, draws, and fits to weighted trees.
 *
 *     sbn *b;
 *     status = sbn_create(&b, n_taxa);
 *     status = sbn_add(b, decision);                   every tree that the support comes from
 *     status = sbn_finish(b);                          the tables are complete; probabilities 0
 *     sbn_fit *f;
 *     status = sbn_fit_create(&f, b, decision, weight, count, alpha);      simple average
 *     double before;
 *     status = sbn_fit_step(f, &before);               one iteration of EM, as often as wanted
 *     sbn_fit_free(f);
 *     sbn_scratch s;                                   one for every thread
 *     status = sbn_scratch_init(&s, n_taxa);
 *     log_q = sbn_log_q(b, decision, &s);
 *     log_q = sbn_sample(decision, b, &rng, &s);
 *     sbn_scratch_free(&s);
 *     sbn_free(b);
 *
 * Root a tree on one of its edges. Every inner node then has a clade, the taxa below it, and a
 * subsplit, the two clades of its children. There are two tables:
 *
 *     root[A|B]            of the split at the root; they sum to 1
 *     pair[s | S, C]       that clade C is split as s, given its sister S. The parent (S, C) is
 *                          ordered; for each of them the entries sum to 1
 *
 * An entry is used wherever its parent occurs, at any depth and in any rooting. A tree without its
 * root has the sum over its 2N-3 edges of the probability that it is rooted there. The parts of
 * that sum are shared by passes over the tree: of every directed edge a = (u -> v) with the
 * taxa C(a) on v's side, b and b' the two other edges that leave v,
 *
 *     U(a) = g(b; b') U(b) g(b'; b) U(b'), 1 if v is a taxon    g(b; b') = pair[split of C(b) |
 * C(b'), C(b)] q    = sum over edges {a, a'} of root[C(a)|C(a')] rho(a) U(a) rho(a') U(a') rho(a) =
 * pair[split of C(a) | C(a'), C(a)]
 *
 * all in logarithms: one tree has 2N-3 root entries and 7N-18 pairs. An edge that ends in a taxon
 * has no pair. A tree has probability 0 if every one of its rootings has an entry that is not in
 * the tables: the support is larger than the trees that it comes from, and is not all trees.
 *
 * Clades are known by 128-bit keys, as in density/clade. Clade i < N is taxon i, and the parts of
 * a clade have lesser numbers than the clade. */
#ifndef DENSITY_SBN_SBN_H
#define DENSITY_SBN_SBN_H

#include "base/diag.h"
#include "base/key_table.h"
#include "base/rng.h"
#include "density/clade/clade_key.h"
#include "io/safetensors.h"
#include "tree/topology.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Entries 0 .. roots-1 are those of root splits, the others those of pairs. */
typedef struct sbn {
    int32_t n_taxa;
    bool is_finished;
    key_table clade_keys;     /* clade_key */
    int32_t *clade_size;      /* [clades] */
    int32_t (*clade_part)[2]; /* [clades] one of its splits; -1, -1 for a taxon */
    size_t clade_room;
    key_table root_keys;   /* int32_t [2]: clades, the lesser number first */
    key_table parent_keys; /* int32_t [2]: sister, clade */
    key_table pair_keys;   /* int32_t [3]: parent, the two parts, the lesser number first */

    /* What sbn_finish makes of it. */
    int32_t *root_parent; /* [roots][2] the parents that a root split leads to; -1: a taxon */
    int32_t *pair_parent; /* [pairs][2] those that a pair leads to, of its parts in turn */
    int32_t *begin;       /* [parents+1]: of a parent, pairs list[begin[p] ..] */
    int32_t *list;        /* [pairs] */

    double *log_p; /* [roots + pairs] log of the probabilities, -INFINITY for 0; the caller's to
                      change */
} sbn;

/* Memory for the work on one tree. */
typedef struct sbn_scratch {
    int32_t n_taxa;
    topology tree;
    int32_t *integers;   /* all of those below; owned */
    int32_t *order;      /* [2N] */
    int32_t *decisions;  /* [6N] for topology_decisions */
    int32_t *down, *up;  /* [2N] by node v: number of the clade below v, and of the rest */
    int32_t *stack;      /* [8N] */
    int32_t *entry;      /* [7 * 2N], sbn_resolve */
    clade_key *key;      /* [2N] by node; owned */
    double *numbers;     /* all of those below; owned */
    double *u_down;      /* [2N] by node v: log U of the edge down to v .. */
    double *u_up;        /* [2N] .. and of the edge up from v */
    double *root;        /* [2N] log probability with the root above v; then its share of q */
    double *behind_down; /* [2N] that the root is on or behind the edge down to v .. */
    double *behind_up;   /* [2N] .. or up from v */
    double log_floor;    /* factors of log q are at least this, those that are missing too;
                            -INFINITY, as sbn_scratch_init sets it: they are what they are. With a
                            floor the sum over all trees exceeds 1. Draws do not know it */
} sbn_scratch;

enum {
    SBN_ENTRIES = 7,  /* of every edge */
    SBN_NONE = -1,    /* there is no such entry: a factor of 1 */
    SBN_MISSING = -2, /* it is not in the tables: a factor of 0, or the floor */
};

/* An empty network on N >= 3 taxa. ART_ERR_USAGE, ART_ERR_NOMEM. */
int sbn_create(sbn **out, int32_t n_taxa);
void sbn_free(sbn *b); /* NULL is fine */

/* Adds all entries of all rootings of a tree, decision [N-3]. ART_ERR_USAGE after sbn_finish.
 * O(N). */
int sbn_add(sbn *b, const int32_t *decision);

/* For the other files of this folder: room for so many more clades, and the number of a clade that
 * is split into x and y, which is added if it is new. */
int sbn_reserve_clades(sbn *b, size_t more);
int32_t sbn_put_clade(sbn *b, clade_key key, int32_t x, int32_t y);

/* No more trees. ART_ERR_USAGE if there was none. */
int sbn_finish(sbn *b);

static inline size_t sbn_roots(const sbn *b)
{
    return b->root_keys.count;
}
static inline size_t sbn_parents(const sbn *b)
{
    return b->parent_keys.count;
}
static inline size_t sbn_pairs(const sbn *b)
{
    return b->pair_keys.count;
}
static inline size_t sbn_entries(const sbn *b)
{
    return sbn_roots(b) + sbn_pairs(b);
}

int sbn_scratch_init(sbn_scratch *s, int32_t n_taxa);
void sbn_scratch_free(sbn_scratch *s); /* safe on a zeroed, half-built or freed one */

/* The numbers of a tree's entries: entry [2N-3][SBN_ENTRIES] by edge number e with lower node v and
 * upper node u: the root split; of the edge down to v rho, g beside v's sister, g beside what is
 * above u; of the edge up from v rho, g beside v's child 0, g beside v's child 1. Leaves the tree
 * in s->tree. O(N). */
void sbn_resolve(int32_t *entry, const sbn *b, const int32_t *decision, sbn_scratch *s);

/* log q of the tree in s->tree, whose entries are given; -INFINITY outside the support, if there is
 * no floor. */
double sbn_log_q_of(const double *log_p, const int32_t *entry, sbn_scratch *s);

/* The expected numbers of uses of the entries in that tree, the root being unknown, times a
 * coefficient, are added to count [roots + pairs]: d log q / d log_p. To be called after
 * sbn_log_q_of, with its result. A tree of probability 0 adds nothing. An entry below the floor has
 * counts too, though its derivative is 0: sbn_drop_floored. */
void sbn_add_counts(double *count, double coefficient, double log_q, const int32_t *entry,
                    sbn_scratch *s);

/* Sets the counts of entries below the floor to 0. */
void sbn_drop_floored(double *count, const sbn *b, double log_floor);

/* log q of a tree, decision [N-3]. O(N), allocates nothing. */
double sbn_log_q(const sbn *b, const int32_t *decision, sbn_scratch *s);

/* The same by the definition: for each edge the tree is rooted there and its factors, raised to the
 * floor (-INFINITY for none), are multiplied. O(N^2). */
int sbn_reference(double *log_q, const sbn *b, const int32_t *decision, double log_floor);

/* Draws a tree and returns its log q, which is the sum over all rootings. */
double sbn_sample(int32_t *decision, const sbn *b, rng *r, sbn_scratch *s);

/* log_p from logits [roots + pairs]: a softmax over the root splits and one over the pairs of every
 * parent. And the gradient by the logits from that by log_p (counts): added to grad. */
void sbn_softmax(sbn *b, const double *logit);
void sbn_softmax_gradient(double *grad, const sbn *b, const double *count);

/* Fits to weighted trees, all of which the tables have. With w the weights, sum 1:
 *
 * Simple average: every tree adds w / (2N-3) to its root splits and to its pairs, each once.
 * EM: every tree adds its expected counts, times w; the root is what is not known.
 * With a Dirichlet prior (alpha > 0): alpha times the simple average of a root split is added to
 * its count, and alpha times that of a parent, spread evenly, to those of its pairs. The
 * probabilities are the shares of the counts.
 *
 * The objective is sum of w log q, and with a prior its logarithm besides: alpha sum of
 * (simple average) log p over the root splits, and the like over the pairs. It never decreases. */
typedef struct sbn_fit sbn_fit;

/* Sets the probabilities to the simple average (with alpha, if it is not 0). decision
 * [count][N-3] and b are borrowed. Memory: 4 SBN_ENTRIES (2N-3) bytes for every tree.
 * ART_ERR_USAGE if a tree is not in the tables or a weight is negative. */
int sbn_fit_create(sbn_fit **out, sbn *b, const int32_t *decision, const double *weight,
                   size_t count, double alpha);
void sbn_fit_free(sbn_fit *f); /* NULL is fine */

/* One iteration of EM; *objective is that of the probabilities before it. */
void sbn_fit_step(sbn_fit *f, double *objective);

/* The published rule: stop after iteration k (from 0), whose objective is given with the one
 * before it, if k > 50 and they differ by less than 1e-5; and at the latest at SBN_MOST_STEPS. */
enum { SBN_LEAST_STEPS = 50, SBN_MOST_STEPS = 1000 };
#define SBN_TOLERANCE 1e-5
bool sbn_fit_stops(int64_t k, double objective, double before);

/* The tables as tensors: "tree.clades" [clades - N][2], parts of every clade; "tree.roots"
 * [roots][2]; "tree.parents" [parents][2], sister and clade; "tree.pairs" [pairs][3]; all I32. They
 * point into b, which must live until s is freed. */
int sbn_store(const sbn *b, safetensors *s);

/* Fills an empty network from them, and finishes it. Everything is looked at: what is accepted is a
 * network as sbn_add makes it. ART_ERR_MISMATCH; messages name the tensor. */
int sbn_load(sbn *b, safetensors *s, diag_place place, diag *d);

#endif
