#include "cli/tree_input.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

const option TREE_INPUT_OPTIONS[] = {
    OPTION_REAL(tree_input_settings, burnin, "--burnin -bi", OPTIONAL, 0, 1e9,
                "burn-in: trees to discard at the beginning of every file without weights; a "
                "number of trees, or a fraction if below 1"),
    OPTION_END,
};

const option COMMON_TAXA_OPTIONS[] = {
    OPTION_FLAG(tree_input_settings, common, "--common-taxa", OPTIONAL,
                "use only the taxa that all trees have; the others are removed from the trees"),
    OPTION_END,
};

int tree_input_common(tree_options *options, taxa *common, const tree_input_settings *settings,
                      const option_files *trees, const option_files *with, diag *d)
{
    const int count = trees->count + (with ? with->count : 0);
    taxa_init(common);
    options->may_prune = true;
    if (!settings->common)
        return ART_OK;
    const char **path = mem_zeros((size_t)count, sizeof *path);
    if (!path)
        return ART_ERR_NOMEM;
    for (int i = 0; i < count; i++)
        path[i] = i < trees->count ? trees->path[i] : with->path[i - trees->count];
    int status = tree_file_common_taxa(common, path, (size_t)count, options, d);
    options->taxa = common;
    options->taxa_from = "the taxa in common";
    options->prune = true;
    free(path);
    return status;
}

int tree_input_options(tree_options *out, const tree_input_settings *settings, tree_use use,
                       diag *d)
{
    *out = (tree_options){.use = use, .burnin_by_kind = isnan(settings->burnin)};
    if (out->burnin_by_kind)
        return ART_OK;
    if (settings->burnin < 1)
        out->burnin_share = settings->burnin;
    else
        out->burnin_trees = (size_t)settings->burnin;
    if (settings->burnin >= 1 && settings->burnin != floor(settings->burnin))
        return diag_error(
            d, ART_ERR_USAGE, (diag_place){0},
            "--burnin: bad value %g -- expected a whole number, or a fraction below 1",
            settings->burnin);
    return ART_OK;
}
