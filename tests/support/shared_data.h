/* shared_data.h: the data sets of ../shared, and trees on their taxa as the golden files have them.
 */
#ifndef TESTS_SHARED_DATA_H
#define TESTS_SHARED_DATA_H

#include "seq/alignment.h"
#include "tree/tree_file.h"

#include <jansson.h>
#include <stdint.h>

/* Zeroed before the first use. */
typedef struct shared_data {
    char name[32]; /* "DS1" */
    alignment alignment;
    taxa taxa;       /* in lexicographic order */
    int *taxon;      /* [N] row of the alignment of each */
    tree_file trees; /* trees.tree is the tree read last */
} shared_data;

/* Reads ../shared/data/alignments/<name>.fasta, unless it is the one at hand already. Skips
 * the test where the folder is absent. */
void shared_data_open(shared_data *set, const char *name);

/* Reads one Newick tree into set->trees.tree. */
void shared_data_tree(shared_data *set, const char *text);

void shared_data_free(shared_data *set);

/* below[edge] becomes the set of taxa below each edge of the tree read last, one bit each, for
 * up to 64 taxa; and the same set from a JSON list of names. Taxon 0 is below no edge. */
void shared_data_edges(uint64_t *below, const shared_data *set);
uint64_t shared_data_names(const shared_data *set, const json_t *names);

/* The reference numbers of golden_path(name), to be freed with json_decref. */
json_t *shared_golden(const char *name);

#endif
