/* tree_input.h: how commands read samples of trees: the burn-in. */
#ifndef CLI_TREE_INPUT_H
#define CLI_TREE_INPUT_H

#include "cli/options.h"
#include "tree/tree_set.h"

typedef struct tree_input_settings {
    double burnin;
} tree_input_settings;

extern const option TREE_INPUT_OPTIONS[]; /* --burnin */

/* The options of tree_file_open and tree_set_read, with the burn-in filled in. ART_ERR_USAGE for
 * one that is neither a share nor a whole number. */
int tree_input_options(tree_options *out, const tree_input_settings *settings, tree_use use,
                       diag *d);

#endif
