/* trie_batch.h: the trees of a batch on their way through a trie (trie.h), for models that evaluate
 * every distinct partial tree once.
 *
 *     status = trie_batch_reserve(&b, n_taxa, k);
 *     trie_batch_start(&b, &t, k);                         all trees at the root
 *     evaluate the b.list[b.n_list] new entries, then b.n_list = 0;
 *     trie_batch_choose(&b, &t, decision, log_q, k, n);    for n = 3, 4, ..: one step of sampling
 *
 * or, for given trees,
 *
 *     trie_batch_insert(&b, &t, decision, k);              the list: new entries, by levels
 *     trie_batch_log_q(&t, log_q, decision, k);            once they are evaluated
 *     trie_batch_collect(&b, &t, decision, coefficient, k);
 *     use b.list, b.offset and b.weight for a gradient
 *     trie_batch_unmark(&b, &t); */
#ifndef ARTREEFORMER_TRIE_BATCH_H
#define ARTREEFORMER_TRIE_BATCH_H

#include "base/rng.h"
#include "density/artreeformer/trie.h"

/* All zero is empty. */
typedef struct trie_batch {
    size_t room;   /* trees that the arrays have room for */
    rng *stream;   /* [room]: set by the caller before trie_batch_choose */
    int32_t *at;   /* [room]: entry of each tree */
    int32_t *list; /* [room (N-3) + 1]: entries to be evaluated, or all of the batch */
    size_t n_list;
    size_t *offset; /* [room (N-3) + 2]: where an entry's edges begin in weight */
    double *weight; /* [room_weight]: sum of the coefficients through each edge */
    size_t room_weight;
} trie_batch;

/* Makes room for batches of k trees; and for their coefficients. */
int trie_batch_reserve(trie_batch *b, int n_taxa, int k);
int trie_batch_reserve_gradient(trie_batch *b, int n_taxa, int k);
void trie_batch_free(trie_batch *b); /* safe on a zeroed or freed one */

/* All k trees at the root, which goes on the list unless it is evaluated. */
void trie_batch_start(trie_batch *b, const trie *t, int k);

/* Every tree draws its decision of the step from n leaves, by one number of its stream, and goes on
 * to the child entry; new ones go on the list. decision [k][N-3]; adds to log_q [k]. */
void trie_batch_choose(trie_batch *b, trie *t, int32_t *decision, double *log_q, int k, int n);

/* Adds the entries of k given trees, level by level; new ones go on the list. */
void trie_batch_insert(trie_batch *b, trie *t, const int32_t *decision, int k);

/* log q of trees whose entries are all evaluated. */
void trie_batch_log_q(trie *t, double *log_q, const int32_t *decision, int k);

/* Lists the distinct entries of k trees, level by level, and adds up the coefficients through each
 * of their edges. The mark of an entry is its place in the list until trie_batch_unmark. */
void trie_batch_collect(trie_batch *b, trie *t, const int32_t *decision, const double *coefficient,
                        int k);
void trie_batch_unmark(const trie_batch *b, trie *t);

/* Whether all entries of the trees are in the trie. */
bool trie_batch_has(const trie *t, const int32_t *decision, int k);

#endif
