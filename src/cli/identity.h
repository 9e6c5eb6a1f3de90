/* identity.h: what a run is: version, subcommand, the settings that can change its results, and
 * its data. A run goes on from a checkpoint, or takes results for its own, only if all of it is
 * the same. */
#ifndef CLI_IDENTITY_H
#define CLI_IDENTITY_H

#include "cli/session.h"

#include <jansson.h>

/* A new object; takes over the reference to data. NULL if memory is short. */
json_t *identity_make(const session *s, json_t *data);

/* The identity of the run that these are the results of; NULL if they do not say (or are NULL). */
json_t *identity_of_results(const json_t *results);

/* True if they differ; text then names the first field and both values. */
bool identity_difference(char *text, size_t size, const json_t *before, const json_t *now);

#endif
