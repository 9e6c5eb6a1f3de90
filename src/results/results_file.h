/* results_file.h: <prefix>.json, the last file that a run writes: if it exists, the results are
 * complete. It holds the identity of the run (train/drive.h), the results, and how they were
 * obtained. */
#ifndef RESULTS_RESULTS_FILE_H
#define RESULTS_RESULTS_FILE_H

#include "base/diag.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Checks for existing results with this prefix. *is_finished becomes true if they are complete and
 * belong to this run; results of another run, or missing files, give ART_ERR_EXISTS. */
int results_file_look(bool *is_finished, const char *prefix, const json_t *identity, diag *d);

/* Removes <prefix>.json, so that old results are not mistaken for those of a new run. */
int results_file_remove(const char *prefix, diag *d);

typedef struct results_facts {
    uint64_t seed;
    double seconds;              /* of the whole run */
    const char *const *suffixes; /* of the run's files, NULL at the end */
} results_facts;

/* Writes it. Takes ownership of results; NULL means that they could not be created
 * (ART_ERR_NOMEM). */
int results_file_write(const char *prefix, const json_t *identity, json_t *results,
                       const results_facts *facts, diag *d);

#endif
