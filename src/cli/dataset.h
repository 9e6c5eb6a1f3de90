/* dataset.h: the alignment of a run and the order of its taxa. */
#ifndef CLI_DATASET_H
#define CLI_DATASET_H

#include "cli/options.h"
#include "seq/alignment.h"
#include "tree/taxa.h"

#include <jansson.h>

typedef struct dataset_settings {
    const char *alignment;
    bool phylip_strict;
    bool full_names;
    const char *order; /* file with the names, one a line; NULL: lexicographic */
} dataset_settings;

extern const option DATASET_OPTIONS[]; /* -s --phylip-strict --full-names --taxon-order */

typedef struct dataset {
    alignment alignment;
    taxa taxa;
    int *row; /* [n_taxa] row[i] is the row of the alignment that is taxon i */
} dataset;

/* Reads the alignment and settles the order. Messages go to d. */
int dataset_read(dataset *data, const dataset_settings *settings, diag *d);
void dataset_free(dataset *data); /* safe on a zeroed one */

/* The order of a model's taxa instead; path is the alignment's, for messages. ART_ERR_MISMATCH if
 * they are not the same names. */
int dataset_match(dataset *data, const taxa *names, const char *path, diag *d);

/* What identifies the data: sizes and a hash of names in order, states and weights. A new
 * object, NULL if memory is short. */
json_t *dataset_identity(const dataset *data);

#endif
