#include "branch/branch_posterior.h"

#include "artreeformer.h"
#include "base/cholesky.h"
#include "base/mem.h"
#include "lik/pattern_data.h"
#include "lik/pattern_symmetry.h"
#include "tree/topology.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static int has_invariant(const free_model *f)
{
    return f->fixed.p_invariant > 0 || f->p_invariant_free;
}

static double count_sites(const alignment *a)
{
    double sites = 0;
    for (size_t k = 0; k < a->n_patterns; k++)
        sites += a->weight[k];
    return sites;
}

static int init_parameters(branch_posterior *p, const block_source *source, int n_blocks,
                           bool multipliers_free)
{
    parameter_block *given = mem_zeros((size_t)n_blocks, sizeof *given);
    if (!given)
        return ART_ERR_NOMEM;
    for (int k = 0; k < n_blocks; k++)
        given[k] = (parameter_block){.model = *source[k].model,
                                     .share = n_blocks > 1 ? count_sites(source[k].alignment) : 1,
                                     .multiplier = source[k].multiplier};
    const int status = block_parameters_init(&p->free, given, n_blocks, multipliers_free);
    free(given);
    if (status)
        return status;
    const size_t n = (size_t)p->free.n_free;
    p->centre = mem_zeros(n + 1, sizeof *p->centre);
    p->spread = mem_zeros(n * n + 1, sizeof *p->spread);
    p->scratch = mem_zeros(n * n + 1, sizeof *p->scratch);
    if (!p->centre || !p->spread || !p->scratch)
        return ART_ERR_NOMEM;
    block_parameters_start(p->centre, &p->free);
    for (size_t i = 0; i < n; i++)
        p->spread[i * (n + 1)] = PARAMETER_ROUGH;
    return ART_OK;
}

/* The patterns [K] of the blocks, and what the blocks take. */
static int init_blocks(branch_posterior *p, site_patterns *patterns, const block_source *source,
                       const int *taxon)
{
    for (int k = 0; k < p->n_blocks; k++) {
        const free_model *model = source[k].model;
        const subst_model generic = generic_model(model);
        int status = site_patterns_build(&patterns[k], source[k].alignment, taxon, false);
        if (status || (status = site_patterns_fold(&patterns[k], &generic)))
            return status;
        data_block_init(&p->block[k], &patterns[k], model, p->total);
        p->total = block_sizes_behind(&p->block[k]);
        p->n_patterns += patterns[k].count;
    }
    return ART_OK;
}

static int allocate(branch_posterior *p)
{
    int with_invariant = 0;
    for (int k = 0; k < p->n_blocks; k++)
        with_invariant |= has_invariant(&p->free.block[k].model);
    p->tip = mem_aligned((size_t)p->n_taxa * p->total.leaf, sizeof *p->tip);
    p->weight = mem_aligned(p->total.tiles, TILE * sizeof *p->weight);
    if (!p->tip || !p->weight)
        return ART_ERR_NOMEM;
    if (!with_invariant)
        return ART_OK;
    p->invariant = mem_aligned(p->total.tiles, TILE * sizeof *p->invariant);
    p->common = mem_zeros(p->total.tiles, TILE * sizeof *p->common);
    return p->invariant && p->common ? ART_OK : ART_ERR_NOMEM;
}

/* The blocks have their parts of the likelihoods of invariant sites. */
static void share_invariant(branch_posterior *p)
{
    for (int k = 0; k < p->n_blocks && p->invariant; k++)
        if (has_invariant(&p->free.block[k].model))
            p->block[k].invariant = p->invariant + p->block[k].first.tiles * TILE;
}

static void fill_block(branch_posterior *p, data_block *b, const site_patterns *patterns)
{
    const size_t tile_size = (size_t)b->n_states * TILE, from = b->first.tiles * TILE;
    for (int i = 0; i < p->n_taxa; i++) {
        double *rows = p->tip + (size_t)i * p->total.leaf + b->first.leaf;
        for (size_t tile = 0; tile < b->size.tiles; tile++)
            pattern_data_tip(rows + tile * tile_size, patterns, i, tile * TILE, TILE);
    }
    if (b->invariant) {
        pattern_data_common(p->common + from, patterns);
        b->common = p->common + from;
    }
    p->n_sites += pattern_data_weights(p->weight + from, patterns);
    b->weight = p->weight + from;
}

/* The parameters of all blocks become z. */
static void set_parameters(branch_posterior *p, const double *z)
{
    const block_parameters *f = &p->free;
    for (int k = 0; k < p->n_blocks; k++)
        data_block_set(&p->block[k], &f->block[k].model, z + f->block[k].first,
                       block_parameters_multiplier(f, z, k));
}

/* log prior at the centre and the volume of the normal distribution around it; 0 if the covariance
 * is none. */
static double parameter_term(branch_posterior *p)
{
    const size_t n = (size_t)p->free.n_free;
    double sum = 0.5 * (double)n * log(2 * M_PI) + block_parameters_log_prior(&p->free, p->centre);
    memcpy(p->scratch, p->spread, n * n * sizeof *p->spread);
    if (!n || !cholesky_factor(p->scratch, (ptrdiff_t)n))
        return 0;
    for (size_t i = 0; i < n; i++)
        sum += log(p->scratch[i * (n + 1)]);
    return sum;
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
    const block_source source = {a, model, 1};
    return branch_posterior_init_blocks(p, &source, 1, false, taxon, prior);
}

int branch_posterior_init_blocks(branch_posterior *p, const block_source *source, int n_blocks,
                                 bool multipliers_free, const int *taxon, branch_prior prior)
{
    memset(p, 0, sizeof *p);
    if (n_blocks < 1 || source[0].alignment->n_taxa < 3 || !branch_prior_is_valid(prior))
        return ART_ERR_USAGE;
    p->n_taxa = source[0].alignment->n_taxa;
    for (int k = 1; k < n_blocks; k++)
        if (source[k].alignment->n_taxa != p->n_taxa)
            return ART_ERR_USAGE;
    p->n_edges = topology_edges(p->n_taxa);
    p->prior = prior;
    p->n_blocks = n_blocks;
    p->set = branch_defaults();
    site_patterns *patterns = mem_zeros((size_t)n_blocks, sizeof *patterns);
    p->block = mem_zeros((size_t)n_blocks, sizeof *p->block);
    int status = patterns && p->block ? ART_OK : ART_ERR_NOMEM;
    if (status || (status = init_parameters(p, source, n_blocks, multipliers_free)) ||
        (status = init_blocks(p, patterns, source, taxon)) || (status = allocate(p)))
        goto out;
    if (p->free.n_free &&
        (status = parameter_reference_init(&p->reference, p->n_taxa, p->free.n_free)))
        goto out;
    branch_posterior_use(p, cpu_best());
    share_invariant(p);
    for (int k = 0; k < n_blocks; k++)
        fill_block(p, &p->block[k], &patterns[k]);
    set_parameters(p, p->centre);
    p->parameter_term = parameter_term(p);
out:
    for (int k = 0; k < n_blocks && patterns; k++)
        site_patterns_free(&patterns[k]);
    free(patterns);
    if (status)
        branch_posterior_free(p);
    return status;
}

void branch_posterior_free(branch_posterior *p)
{
    block_parameters_free(&p->free);
    free(p->block);
    free(p->centre);
    free(p->spread);
    free(p->scratch);
    free(p->tip);
    free(p->weight);
    free(p->invariant);
    free(p->common);
    parameter_reference_free(&p->reference);
    memset(p, 0, sizeof *p);
}

void branch_posterior_recentre(branch_posterior *p, const double *z, const double *spread)
{
    const size_t n = (size_t)p->free.n_free;
    memmove(p->centre, z, n * sizeof *z); /* either may be the present one */
    memmove(p->spread, spread, n * n * sizeof *spread);
    set_parameters(p, p->centre);
    p->parameter_term = parameter_term(p);
}

double branch_posterior_parameter_term(const branch_posterior *p)
{
    return p->parameter_term;
}

double branch_posterior_work(const branch_posterior *p)
{
    double sum = 0;
    for (int k = 0; k < p->n_blocks; k++)
        sum += (double)p->block[k].n_patterns * p->block[k].model.n_categories;
    return sum;
}

int branch_posterior_view(branch_posterior *view, const branch_posterior *p)
{
    const size_t n_blocks = (size_t)p->n_blocks, tiles = p->total.tiles;
    *view = *p;
    view->invariant = NULL;
    view->block = mem_zeros(n_blocks, sizeof *view->block);
    if (!view->block)
        return ART_ERR_NOMEM;
    memcpy(view->block, p->block, n_blocks * sizeof *p->block);
    if (!p->invariant)
        return ART_OK;
    view->invariant = mem_aligned(tiles, TILE * sizeof *p->invariant);
    if (!view->invariant)
        return ART_ERR_NOMEM;
    memcpy(view->invariant, p->invariant, tiles * TILE * sizeof *p->invariant);
    share_invariant(view);
    return ART_OK;
}

void branch_posterior_view_free(branch_posterior *view)
{
    free(view->block);
    free(view->invariant);
    memset(view, 0, sizeof *view);
}

void branch_posterior_move(branch_posterior *view, const double *z)
{
    set_parameters(view, z);
}

void branch_posterior_use(branch_posterior *p, cpu_level level)
{
    for (int k = 0; k < p->n_blocks; k++)
        p->block[k].kernel = partial_kernels_at(level, p->block[k].model.is_jc);
}

void branch_posterior_transitions(double *out, const branch_posterior *p, double length)
{
    for (int k = 0; k < p->n_blocks; k++)
        data_block_transitions(out + p->block[k].first.transition, &p->block[k], length);
}
