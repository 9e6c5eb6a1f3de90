/* tree_set.h: a distribution over topologies: distinct trees with weights.
 *
 *     tree_set s;
 *     status = tree_set_read(&s, NULL, paths, n_paths, &options, d);
 *     s.count topologies by decreasing weight; s.weight[0] is the probability of the best one
 *     tree_set_free(&s);
 *
 * or tree_set_init, tree_set_add for every tree, tree_set_normalise. Topologies are their decisions
 * (tree/topology.h) in the order of the taxa of the set; with marks for polytomies if the trees
 * were read so (tree_options.polytomies). */
#ifndef TREE_TREE_SET_H
#define TREE_TREE_SET_H

#include "io/saved_state.h"
#include "tree/splits.h"
#include "tree/tree_file.h"

typedef struct tree_set {
    taxa taxa;               /* owned */
    size_t count;            /* distinct topologies */
    const int32_t *decision; /* [count][N-3]: the keys */
    double *weight;          /* [count]; owned */
    double total;            /* sum of the weights */
    double share;            /* of the whole distribution that the trees have together: 1, unless
                                they are known to be a selection */
    size_t n_trees;          /* number of trees added, duplicates included */
    size_t n_skipped;        /* trees of the files that were left out as burn-in */
    key_table keys;
    size_t room;
} tree_set;

/* An empty set; the names are copied. ART_ERR_USAGE for fewer than three. */
int tree_set_init(tree_set *s, const taxa *names);
void tree_set_free(tree_set *s); /* safe on a zeroed, half-built or freed one */

/* Adds weight to a topology. */
int tree_set_add(tree_set *s, const int32_t *decision, double weight);

static inline const int32_t *tree_set_decision(const tree_set *s, size_t i)
{
    return s->decision + i * (size_t)(s->taxa.count - 3);
}

/* The number of a topology, KEY_NONE if it is not in the set. */
int64_t tree_set_find(const tree_set *s, const int32_t *decision);

/* Divides the weights by their sum and sorts by decreasing weight, equal weights by the decisions;
 * so the result does not depend on the order in which trees were added. */
int tree_set_normalise(tree_set *s);

/* The trees of several files: the average of the distributions of the files, normalised and sorted.
 * Without taxa in the options, those of the first file are used for all. If splits is not NULL, it
 * is initialised and filled with the same weights (and lengths, if the options ask for them). *s
 * and *splits are always safe to free. */
int tree_set_read(tree_set *s, split_table *splits, const char *const *path, size_t n_paths,
                  const tree_options *options, diag *d);

/* The fields "trees.*" of a saved state. Loading replaces the contents of a set on the same taxa;
 * if it fails the set is empty. */
int tree_set_fields(tree_set *set, saved_state *s);

/* The probability of tree i of a normalised set. */
static inline double tree_set_probability(const tree_set *s, size_t i)
{
    return s->weight[i] * s->share;
}

/* The number of most probable trees needed to reach the given probability in a normalised set: the
 * size of its credible set. 0 if all of them together do not reach it. */
size_t tree_set_credible(const tree_set *s, double share);

/* Total variation, half the sum of |p - q|, between normalised sets on the same taxa in the
 * same order. */
double tree_set_distance(const tree_set *p, const tree_set *q);

#endif
