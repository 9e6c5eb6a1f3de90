/* counted_model.h: a network together with the counts of the sample that it was fitted to: what
 * `fit` makes. The network says how the probability of a tree follows from its parts, also of trees
 * that were never sampled; the counts say better than any network how probable a tree is that was
 * sampled a hundred times.
 *
 * Let r(T) be the network's probability of T, and n(T) how often T is among the n trees of the
 * sample. For a tree of the sample, its share n(T) / n is averaged with the network's probability;
 * the share counts for as many observations as it has, the network for k (COUNTED_STRENGTH):
 *
 *     g(T) = (n(T) n(T) / n + k r(T)) / (n(T) + k).
 *
 * With S and G the sums of r and g over the distinct trees of the sample,
 *
 *     q(T) = (1 - u) g(T) / G          for trees of the sample,
 *     q(T) = u r(T) / (1 - S)          for all others.
 *
 * u is the probability of trees that were not sampled: the network's, 1 - S, but not more than
 * (n1 + 1) / (n + 1), n1 the trees that were sampled once. That is the estimate of Good and Turing
 * (Good 1953, Biometrika 40:237), in which a sample without singletons also has one: a network that
 * has not learned its sample to the last digit is too generous to what was not seen.
 *
 * It all sums to 1 exactly, and a draw is simple: one from the network; if it is not in the sample
 * it is kept with probability u / (1 - S), and otherwise a tree of the sample takes its place, with
 * probabilities g / G.
 *
 * The weights of a sample are shares; n follows from them (counted_observations). Weights that are
 * no shares of counts, such as probabilities that somebody computed, look like those of a very
 * large sample and are taken at their word. At most COUNTED_TREES trees are counted, the first that
 * are given; the others are left to the network.
 *
 * The trees are tensor "tree.counted.trees" of a model file, I32 [trees][N-3], by their decisions,
 * their counts "tree.counted.counts", F64 [trees], and n "tree.counted.observations", F64 [1]. S
 * and G are computed when they are first needed after a change of the parameters, which takes as
 * long as a score of all these trees. */
#ifndef COUNTED_COUNTED_MODEL_H
#define COUNTED_COUNTED_MODEL_H

#include "density/topology_model.h"

/* k above. Measured in docs/decisions/fit.md. */
#define COUNTED_STRENGTH 16.0

enum { COUNTED_TREES = 20000 };

/* A model around a network that may be new, or trained, or a mixture of such a network with tables
 * (mixed_model.h), which are filled with it; it is empty until fit_begin or load_structure. The
 * network is owned from here on, whether or not this succeeds; the two share their parameters.
 * There is nothing to be done after fit_begin: fit_step says so. */
int counted_model_create(topology_model **out, topology_model *network, double strength);

/* How many trees a sample has, from the weights [count] of its distinct trees, which files round to
 * six digits: the smallest n that makes all n w whole numbers, if there is one up to 2000; else
 * one over the smallest weight, as in a large sample some tree was seen once. */
double counted_observations(const double *weight, size_t count);

/* An estimate of the probability of all trees that are not in such a sample: Good and Turing's n1 /
 * n where five or more trees were sampled once, n1 of them; otherwise little is missing, and
 * nothing can be said but that it is less than one observation: 1 / 2n. */
double counted_unseen(const double *weight, size_t count);

#endif
