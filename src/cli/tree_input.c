#include "cli/tree_input.h"

#include "artreeformer.h"

#include <math.h>

const option TREE_INPUT_OPTIONS[] = {
    OPTION_REAL(tree_input_settings, burnin, "--burnin -bi", OPTIONAL, 0, 1e9,
                "burn-in: trees to discard at the beginning of every file without weights; a "
                "number of trees, or a fraction if below 1"),
    OPTION_END,
};

int tree_input_options(tree_options *out, const tree_input_settings *settings, tree_use use,
                       diag *d)
{
    *out = (tree_options){.use = use};
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
