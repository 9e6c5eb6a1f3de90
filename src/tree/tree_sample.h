/* tree_sample.h: trees with branch lengths, as rows, for medians and intervals of the lengths.
 *
 *     tree_sample s;
 *     tree_sample_init(&s, n_taxa);
 *     status = tree_sample_add(&s, decision, length, weight);      for every tree
 *     tree_rows rows = tree_sample_rows(&s);
 *     tree_sample_free(&s);
 *
 * Memory is limited: of long samples every second tree, every fourth and so on is kept. */
#ifndef TREE_TREE_SAMPLE_H
#define TREE_TREE_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

/* All borrowed. */
typedef struct tree_rows {
    size_t count;
    const int32_t *decision; /* [count][N-3] */
    const double *length;    /* [count][2N-3], NaN where unknown */
    const double *weight;    /* [count]; NULL: all equal */
} tree_rows;

typedef struct tree_sample {
    int32_t n_taxa;
    size_t count, room;
    size_t seen;       /* trees added */
    size_t step;       /* one of so many is kept */
    int32_t *decision; /* [room][N-3]; owned, as the next two */
    double *length;    /* [room][2N-3] */
    double *weight;    /* [room] */
} tree_sample;

void tree_sample_init(tree_sample *s, int32_t n_taxa);
void tree_sample_free(tree_sample *s); /* safe on a zeroed or freed one */

/* ART_ERR_NOMEM. */
int tree_sample_add(tree_sample *s, const int32_t *decision, const double *length, double weight);

tree_rows tree_sample_rows(const tree_sample *s);

#endif
