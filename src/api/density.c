#include "api/density.h"

#include "api/objects.h"
#include "base/mem.h"
#include "tree/rearrange.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char *const KIND[] = {[ART_ARTREEFORMER] = "artreeformer",
                                   [ART_ARTREE] = "artree",
                                   [ART_SBN] = "sbn",
                                   [ART_CCD0] = "ccd0",
                                   [ART_CCD1] = "ccd1",
                                   [ART_CCD2] = "ccd2"};

bool density_is_network(enum art_density density, int hidden, int heads)
{
    if (density == ART_ARTREE)
        return hidden >= 2 && hidden % 2 == 0;
    return density == ART_ARTREEFORMER && hidden >= 1 && heads >= 1 && hidden % heads == 0;
}

topology_config density_network(enum art_density density, int hidden, int heads)
{
    return density == ART_ARTREE ? artree_config(hidden) : artreeformer_config(hidden, heads);
}

static bool is_table(enum art_density density)
{
    return density >= ART_SBN && density <= ART_CCD2;
}

bool density_fit_is_valid(const art_fit_settings *s)
{
    if (!is_table(s->density))
        return density_is_network(s->density, s->hidden, s->heads);
    return (s->density != ART_SBN ||
            (s->sbn_method >= ART_SBN_EM_ALPHA && s->sbn_method <= ART_SBN_SGA &&
             is_within(s->sbn_alpha, 0, 1e6))) &&
           is_within(s->smooth, 0, 0.99);
}

topology_config density_fit(const art_fit_settings *s)
{
    if (!is_table(s->density))
        return density_network(s->density, s->hidden, s->heads);
    topology_config c =
        topology_config_default(topology_kind_find(TOPOLOGY_KINDS, KIND[s->density]));
    const struct {
        const char *key;
        double value;
    } sbn[] = {
        {"em", s->sbn_method == ART_SBN_EM || s->sbn_method == ART_SBN_EM_ALPHA},
        {"alpha", s->sbn_method == ART_SBN_EM_ALPHA ? s->sbn_alpha : 0},
        {"gradients", s->sbn_method == ART_SBN_SGA},
        {"zero_start", s->sbn_zero_start != 0},
    };
    int status = topology_config_set(&c, "smooth", s->smooth);
    for (size_t i = 0; i < sizeof sbn / sizeof sbn[0] && s->density == ART_SBN && !status; i++)
        status = topology_config_set(&c, sbn[i].key, sbn[i].value);
    assert(!status);
    return c;
}

/* Tree by tree, with taxon i of the trees called taxon[i]. */
static int rename_trees(tree_set *out, const tree_set *trees, const int32_t *taxon)
{
    const int32_t n = trees->taxa.count;
    topology from = {0}, to = {0};
    int32_t *block = mem_zeros(7 * (size_t)n, sizeof *block); /* decisions, and work */
    int status = block ? topology_init(&from, n) : ART_ERR_NOMEM;
    if (!status)
        status = topology_init(&to, n);
    for (size_t i = 0; i < trees->count && !status; i++) {
        topology_build(&from, tree_set_decision(trees, i));
        topology_relabel(&to, &from, taxon);
        topology_decisions(block, NULL, &to, block + n);
        status = tree_set_add(out, block, trees->weight[i]);
    }
    topology_free(&from);
    topology_free(&to);
    free(block);
    return status;
}

int density_support(tree_set *out, const tree_set *trees, const taxa *names, diag *d)
{
    memset(out, 0, sizeof *out);
    int32_t *taxon = NULL;
    int status =
        taxa_compare(&trees->taxa, "the support", names, "the alignment", (diag_place){0}, d);
    if (!status)
        status = tree_set_init(out, names);
    if (!status)
        status = (taxon = mem_zeros((size_t)names->count, sizeof *taxon)) ? ART_OK : ART_ERR_NOMEM;
    if (!status) {
        taxa_map(taxon, &trees->taxa, names);
        status = rename_trees(out, trees, taxon);
    }
    if (!status)
        status = tree_set_normalise(out);
    free(taxon);
    return status;
}
