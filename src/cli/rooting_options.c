#include "cli/rooting_options.h"

#include "artreeformer.h"

#include <string.h>

const option ROOTING_OPTIONS[] = {
    OPTION_TEXT(rooting_settings, outgroup, "--outgroup", OPTIONAL, "TAXA",
                "root all trees with this outgroup: A,B,.. or @FILE with names"),
    OPTION_CHOICE(rooting_settings, root, "--root", OPTIONAL, "unrooted|midpoint",
                  "root all trees at their midpoint"),
    OPTION_END,
};

int rooting_open(rooting *r, const rooting_settings *set, const taxa *names, diag *d)
{
    memset(r, 0, sizeof *r);
    if (set->outgroup && set->root)
        return diag_error(d, ART_ERR_USAGE, (diag_place){0},
                          "--outgroup and --root midpoint are two places for the root -- give one "
                          "of them");
    if (set->outgroup)
        return rooting_outgroup(r, names, set->outgroup, d);
    if (set->root)
        rooting_midpoint(r);
    return ART_OK;
}

void rooting_warn(session *s, const rooting *r, const split_table *splits)
{
    const double support = rooting_support(r, splits);
    if (support <= 0.5)
        log_warning(&s->log,
                    "the outgroup is monophyletic in %.3g %% of the trees, and not in the majority "
                    "consensus; trees in which it is not are rooted at the taxon that was named "
                    "first",
                    100 * support);
    else if (support < 0.95)
        log_warning(
            &s->log,
            "the outgroup is monophyletic in %.3g %% of the trees; trees in which it is not "
            "are rooted at the taxon that was named first",
            100 * support);
}
