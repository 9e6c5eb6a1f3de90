/* optimise.h: evaluate --optimise: the best branch lengths and parameters of given trees, as a
 * table, and the trees with these lengths as a file. */
#ifndef CLI_OPTIMISE_H
#define CLI_OPTIMISE_H

#include "branch/tree_optimum.h"
#include "cli/session.h"
#include "jobs/dataset.h"

typedef struct optimise_settings {
    int criterion; /* of enum optimum_kind */
    const char *priors;
} optimise_settings;

extern const option OPTIMISE_OPTIONS[]; /* --criterion --prior */

/* Reads the model, opens the log and the results of `prefix`, prints the table to s->table and
 * writes <prefix>.optimised.nwk. */
int optimise_trees(session *s, const dataset *data, const char *model,
                   const optimise_settings *settings, branch_prior prior, option_files trees,
                   const char *prefix);

#endif
