#include "branch/branch_posterior.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "lik/pattern_data.h"
#include "lik/pattern_symmetry.h"
#include "lik/transitions.h"
#include "tree/topology.h"

#include <stdlib.h>
#include <string.h>

static void fill_tips(branch_posterior *p, const site_patterns *patterns)
{
    for (int i = 0; i < p->n_taxa; i++)
        for (size_t tile = 0; tile < p->tiles; tile++)
            pattern_data_tip(p->tip + ((size_t)i * p->tiles + tile) * 4 * TILE, patterns, i,
                             tile * TILE, TILE);
}

int branch_posterior_init(branch_posterior *p, const alignment *a, const int *taxon,
                          const subst_model *model, branch_prior prior)
{
    memset(p, 0, sizeof *p);
    if (a->n_taxa < 3 || !branch_prior_is_valid(prior))
        return ART_ERR_USAGE;
    site_patterns patterns = {0};
    int status = site_patterns_build(&patterns, a, taxon, false);
    if (status || (status = site_patterns_fold(&patterns, model)))
        goto out;
    p->n_taxa = a->n_taxa;
    p->n_edges = topology_edges(a->n_taxa);
    p->prior = prior;
    p->model = *model;
    p->set = branch_defaults();
    p->n_patterns = patterns.count;
    p->tiles = (patterns.count + TILE - 1) / TILE;
    p->terms = transitions_rates(model);
    p->edge_terms = (int)transitions_size(model);
    p->partial = p->tiles * (size_t)model->n_categories * 4 * TILE;
    branch_posterior_use(p, cpu_best());
    status = ART_ERR_NOMEM;
    p->tip = mem_aligned((size_t)p->n_taxa * p->tiles, 4 * TILE * sizeof *p->tip);
    p->weight = mem_aligned(p->tiles, TILE * sizeof *p->weight);
    if (model->p_invariant > 0)
        p->invariant = mem_aligned(p->tiles, TILE * sizeof *p->invariant);
    if (!p->tip || !p->weight || (model->p_invariant > 0 && !p->invariant))
        goto out;
    fill_tips(p, &patterns);
    if (p->invariant)
        pattern_data_invariant(p->invariant, &patterns, model);
    p->n_sites = pattern_data_weights(p->weight, &patterns);
    status = ART_OK;
out:
    site_patterns_free(&patterns);
    if (status)
        branch_posterior_free(p);
    return status;
}

void branch_posterior_free(branch_posterior *p)
{
    free(p->tip);
    free(p->weight);
    free(p->invariant);
    memset(p, 0, sizeof *p);
}

void branch_posterior_use(branch_posterior *p, cpu_level level)
{
    p->kernel = partial_kernels_at(level, p->model.is_jc);
}
