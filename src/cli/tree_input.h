/* tree_input.h: how commands read samples of trees: the burn-in, the taxa in common. */
#ifndef CLI_TREE_INPUT_H
#define CLI_TREE_INPUT_H

#include "cli/options.h"
#include "tree/tree_set.h"

typedef struct tree_input_settings {
    double burnin; /* NaN: by the kind of file (tree_options.burnin_by_kind) */
    bool common;
} tree_input_settings;

extern const option TREE_INPUT_OPTIONS[];  /* --burnin */
extern const option COMMON_TAXA_OPTIONS[]; /* --common-taxa */

/* Taxa of trees that need not all have the same: with --common-taxa finds those that all have and
 * makes the options remove the others. *common is always safe to free, after the trees. */
int tree_input_common(tree_options *options, taxa *common, const tree_input_settings *settings,
                      const option_files *trees, const option_files *with, diag *d);

/* The options of tree_file_open and tree_set_read, with the burn-in filled in. ART_ERR_USAGE for
 * one that is neither a share nor a whole number. */
int tree_input_options(tree_options *out, const tree_input_settings *settings, tree_use use,
                       diag *d);

#endif
