/* dataset.h: the data sets of ../shared, and trees on their taxa as the golden files have them. */
#ifndef TESTS_DATASET_H
#define TESTS_DATASET_H

#include "seq/alignment.h"
#include "tree/tree_file.h"

#include <jansson.h>
#include <stdint.h>

/* Zeroed before the first use. */
typedef struct dataset {
    char name[32]; /* "DS1" */
    alignment alignment;
    taxa taxa;       /* in lexicographic order */
    int *taxon;      /* [N] row of the alignment of each */
    tree_file trees; /* trees.tree is the tree read last */
} dataset;

/* Reads ../shared/data/alignments/<name>.fasta, unless it is the one at hand already. Skips
 * the test where the folder is absent. */
void dataset_open(dataset *set, const char *name);

/* Reads one Newick tree into set->trees.tree. */
void dataset_tree(dataset *set, const char *text);

void dataset_free(dataset *set);

/* below[edge] becomes the set of taxa below each edge of the tree read last, one bit each, for
 * up to 64 taxa; and the same set from a JSON list of names. Taxon 0 is below no edge. */
void dataset_edges(uint64_t *below, const dataset *set);
uint64_t dataset_names(const dataset *set, const json_t *names);

/* ../shared/golden/<name>, to be freed with json_decref. */
json_t *dataset_golden(const char *name);

#endif
