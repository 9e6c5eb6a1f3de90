/* results_file.h: <prefix>.json, the last file that a run writes: with it the results are whole.
 * It holds what identifies the run (train/drive.h), the results, and how they were come by. */
#ifndef RESULTS_RESULTS_FILE_H
#define RESULTS_RESULTS_FILE_H

#include "base/diag.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Are there results of this prefix already? *is_finished becomes true if they are whole and of this
 * very run; results of another run, or files that are missing, are ART_ERR_EXISTS. */
int results_file_look(bool *is_finished, const char *prefix, const json_t *identity, diag *d);

/* Removes <prefix>.json, so that old results are not taken for those of a new run. */
int results_file_remove(const char *prefix, diag *d);

typedef struct results_facts {
    uint64_t seed;
    double seconds;              /* of the whole run */
    const char *const *suffixes; /* of the run's files, NULL at the end */
} results_facts;

/* Writes it. results is taken over; NULL is a failure to make it (ART_ERR_NOMEM). */
int results_file_write(const char *prefix, const json_t *identity, json_t *results,
                       const results_facts *facts, diag *d);

#endif
