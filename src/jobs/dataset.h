/* dataset.h: the alignment of a run and the order of its taxa. */
#ifndef JOBS_DATASET_H
#define JOBS_DATASET_H

#include "seq/alignment.h"
#include "tree/taxa.h"

#include <jansson.h>

typedef struct dataset {
    alignment alignment;
    taxa taxa;
    int *row; /* [n_taxa] row[i] is the row of the alignment that is taxon i */
} dataset;

/* Reads the alignment, and the order of the taxa from a file with the names, one per line (NULL:
 * lexicographic). options as for alignment_read; messages go to d. */
int dataset_read(dataset *data, const char *path, const alignment_options *options,
                 const char *order, diag *d);
void dataset_free(dataset *data); /* safe on a zeroed one */

/* The same with the taxon order of a model; path is that of the alignment, for messages.
 * ART_ERR_MISMATCH if the names differ. */
int dataset_match(dataset *data, const taxa *names, const char *path, diag *d);

/* What identifies the data: sizes and a hash of names in order, states and weights. A new
 * object, NULL if memory is short. */
json_t *dataset_identity(const dataset *data);

#endif
