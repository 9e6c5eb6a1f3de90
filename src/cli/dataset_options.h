/* dataset_options.h: the alignment of a run and the order of its taxa, as options. */
#ifndef CLI_DATASET_OPTIONS_H
#define CLI_DATASET_OPTIONS_H

#include "cli/options.h"
#include "jobs/dataset.h"

typedef struct dataset_settings {
    const char *alignment;
    bool phylip_strict;
    bool full_names;
    const char *order; /* file with the names, one per line; NULL: lexicographic */
} dataset_settings;

extern const option DATASET_OPTIONS[]; /* -s --phylip-strict --full-names --taxon-order */

/* Reads the files that they name. */
int dataset_open(dataset *data, const dataset_settings *settings, diag *d);

#endif
