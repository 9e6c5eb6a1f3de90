#include "branch/branch_posterior.h"

#include "artreeformer.h"
#include "base/cholesky.h"
#include "base/mem.h"
#include "lik/pattern_data.h"
#include "lik/pattern_symmetry.h"
#include "lik/transitions.h"
#include "tree/topology.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void fill_tips(branch_posterior *p, const site_patterns *patterns)
{
    for (int i = 0; i < p->n_taxa; i++)
        for (size_t tile = 0; tile < p->tiles; tile++)
            pattern_data_tip(p->tip + ((size_t)i * p->tiles + tile) * 4 * TILE, patterns, i,
                             tile * TILE, TILE);
}

/* Parameters like no others: only what all models of the family have in common is symmetric. */
static subst_model generic_model(const free_model *f)
{
    double z[FREE_MOST];
    subst_model m;
    for (int i = 0; i < f->n_free; i++)
        z[i] = 0.3 + 0.17 * i + 0.013 * i * i;
    free_model_at(&m, f, z);
    return m;
}

static void fill_invariant(branch_posterior *p)
{
    for (size_t k = 0; p->invariant && k < p->n_patterns; k++)
        p->invariant[k] = pattern_data_invariant_of(p->common[k], &p->model);
}

int branch_posterior_init(branch_posterior *p, const alignment *a, const int *taxon,
                          const subst_model *model, branch_prior prior)
{
    const free_model fixed = {.fixed = *model};
    return branch_posterior_init_free(p, a, taxon, &fixed, prior);
}

int branch_posterior_init_free(branch_posterior *p, const alignment *a, const int *taxon,
                               const free_model *model, branch_prior prior)
{
    memset(p, 0, sizeof *p);
    if (a->n_taxa < 3 || !branch_prior_is_valid(prior))
        return ART_ERR_USAGE;
    site_patterns patterns = {0};
    const subst_model generic = generic_model(model);
    const int has_invariant = model->fixed.p_invariant > 0 || model->p_invariant_free;
    int status = site_patterns_build(&patterns, a, taxon, false);
    if (status || (status = site_patterns_fold(&patterns, &generic)))
        goto out;
    p->n_taxa = a->n_taxa;
    p->n_edges = topology_edges(a->n_taxa);
    p->prior = prior;
    p->free = *model;
    free_model_start(p->centre, model);
    for (int i = 0; i < model->n_free; i++)
        p->spread[i * (model->n_free + 1)] = PARAMETER_ROUGH;
    free_model_at(&p->model, model, p->centre);
    p->set = branch_defaults();
    p->n_patterns = patterns.count;
    p->tiles = (patterns.count + TILE - 1) / TILE;
    p->terms = transitions_rates(&p->model);
    p->edge_terms = (int)transitions_size(&p->model);
    p->partial = p->tiles * (size_t)p->model.n_categories * 4 * TILE;
    branch_posterior_use(p, cpu_best());
    if (model->n_free &&
        (status = parameter_reference_init(&p->reference, p->n_taxa, model->n_free)))
        goto out;
    status = ART_ERR_NOMEM;
    p->tip = mem_aligned((size_t)p->n_taxa * p->tiles, 4 * TILE * sizeof *p->tip);
    p->weight = mem_aligned(p->tiles, TILE * sizeof *p->weight);
    if (has_invariant) {
        p->invariant = mem_aligned(p->tiles, TILE * sizeof *p->invariant);
        p->common = mem_zeros(p->tiles, TILE * sizeof *p->common);
    }
    if (!p->tip || !p->weight || (has_invariant && (!p->invariant || !p->common)))
        goto out;
    fill_tips(p, &patterns);
    if (p->common)
        pattern_data_common(p->common, &patterns);
    fill_invariant(p);
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
    free(p->common);
    parameter_reference_free(&p->reference);
    memset(p, 0, sizeof *p);
}

static void set_parameters(branch_posterior *p, const double *z)
{
    free_model_at(&p->model, &p->free, z);
    fill_invariant(p);
}

void branch_posterior_recentre(branch_posterior *p, const double *z, const double *spread)
{
    const size_t n = (size_t)p->free.n_free;
    memcpy(p->centre, z, n * sizeof *z);
    memcpy(p->spread, spread, n * n * sizeof *spread);
    set_parameters(p, z);
}

double branch_posterior_parameter_term(const branch_posterior *p)
{
    const int n = p->free.n_free;
    double factor[FREE_MOST * FREE_MOST];
    double sum = 0.5 * n * log(2 * M_PI) + free_model_log_prior(&p->free, p->centre);
    memcpy(factor, p->spread, sizeof factor);
    if (!n || !cholesky_factor(factor, n))
        return 0;
    for (int i = 0; i < n; i++)
        sum += log(factor[i * (n + 1)]);
    return sum;
}

int branch_posterior_view(branch_posterior *view, const branch_posterior *p)
{
    *view = *p;
    if (!p->invariant)
        return ART_OK;
    view->invariant = mem_aligned(p->tiles, TILE * sizeof *p->invariant);
    if (!view->invariant)
        return ART_ERR_NOMEM;
    memcpy(view->invariant, p->invariant, p->tiles * TILE * sizeof *p->invariant);
    return ART_OK;
}

void branch_posterior_view_free(branch_posterior *view)
{
    free(view->invariant);
    memset(view, 0, sizeof *view);
}

void branch_posterior_move(branch_posterior *view, const double *z)
{
    set_parameters(view, z);
}

void branch_posterior_use(branch_posterior *p, cpu_level level)
{
    p->kernel = partial_kernels_at(level, p->model.is_jc);
}
