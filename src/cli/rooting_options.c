#include "cli/rooting_options.h"

#include "artreeformer.h"

#include <string.h>

const option ROOTING_OPTIONS[] = {
    OPTION_TEXT(rooting_settings, outgroup, "--outgroup", OPTIONAL, "TAXA",
                "root the trees that are written and drawn with this outgroup: names separated by "
                "commas, or @FILE with one name per line"),
    OPTION_CHOICE(rooting_settings, root, "--root", OPTIONAL, "unrooted|midpoint",
                  "midpoint: root the trees in the middle of their longest path"),
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
