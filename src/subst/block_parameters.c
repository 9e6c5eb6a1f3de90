#include "subst/block_parameters.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "subst/gamma_rates.h"
#include "subst/simplex.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double RATIO_LIMIT = 11.5; /* of log ratios of y: 1e-5 .. 1e5 */

static bool is_positive(double x)
{
    return x > 0 && isfinite(x);
}

/* The shares become those of all sites, and free multipliers have the mean 1. */
static void normalise(block_parameters *b)
{
    double sites = 0, mean = 0;
    for (int k = 0; k < b->n_blocks; k++)
        sites += b->block[k].share;
    for (int k = 0; k < b->n_blocks; k++) {
        b->block[k].share /= sites;
        mean += b->block[k].share * b->block[k].multiplier;
        if (b->block[k].share > b->block[b->reference].share)
            b->reference = k;
    }
    for (int k = 0; k < b->n_blocks && b->multipliers_free; k++)
        b->block[k].multiplier /= mean;
}

int block_parameters_init(block_parameters *b, const parameter_block *given, int n_blocks,
                          bool multipliers_free)
{
    memset(b, 0, sizeof *b);
    if (n_blocks < 1)
        return ART_ERR_USAGE;
    for (int k = 0; k < n_blocks; k++)
        if (!is_positive(given[k].share) || !is_positive(given[k].multiplier))
            return ART_ERR_USAGE;
    b->block = mem_zeros((size_t)n_blocks, sizeof *b->block);
    if (!b->block)
        return ART_ERR_NOMEM;
    memcpy(b->block, given, (size_t)n_blocks * sizeof *given);
    b->n_blocks = n_blocks;
    b->multipliers_free = multipliers_free && n_blocks > 1;
    normalise(b);
    for (int k = 0; k < n_blocks; k++) {
        char name[FREE_COLUMNS_MOST][PARAMETER_NAME_SIZE];
        b->block[k].n_columns = free_model_columns(name, &b->block[k].model);
        b->block[k].first = b->multipliers_at;
        b->multipliers_at += b->block[k].model.n_free;
    }
    b->n_free = b->multipliers_at + (b->multipliers_free ? n_blocks - 1 : 0);
    return ART_OK;
}

int block_parameters_copy(block_parameters *b, const block_parameters *from)
{
    const size_t n = (size_t)from->n_blocks;
    *b = *from;
    b->block = mem_zeros(n, sizeof *b->block);
    if (!b->block)
        return ART_ERR_NOMEM;
    memcpy(b->block, from->block, n * sizeof *b->block);
    return ART_OK;
}

void block_parameters_free(block_parameters *b)
{
    free(b->block);
    memset(b, 0, sizeof *b);
}

/* Where the multiplier of a block that is not the reference has its coordinate. */
static int coordinate_of(const block_parameters *b, int k)
{
    return b->multipliers_at + k - (k > b->reference);
}

static double log_ratio(double z)
{
    return fmin(fmax(3 * log(fmax(z, 1e-100)), -RATIO_LIMIT), RATIO_LIMIT);
}

/* y_k / y_reference */
static double ratio_of(const block_parameters *b, const double *z, int k)
{
    return k == b->reference ? 1 : exp(log_ratio(z[coordinate_of(b, k)]));
}

/* y_k */
static double weighted_multiplier(const block_parameters *b, const double *z, int k)
{
    double sum = 0;
    for (int i = 0; i < b->n_blocks; i++)
        sum += ratio_of(b, z, i);
    return ratio_of(b, z, k) / sum;
}

double block_parameters_multiplier(const block_parameters *b, const double *z, int k)
{
    const parameter_block *own = &b->block[k];
    return b->multipliers_free ? weighted_multiplier(b, z, k) / own->share : own->multiplier;
}

void block_parameters_start(double *z, const block_parameters *b)
{
    const parameter_block *reference = &b->block[b->reference];
    for (int k = 0; k < b->n_blocks; k++) {
        const parameter_block *own = &b->block[k];
        free_model_start(z + own->first, &own->model);
        if (b->multipliers_free && k != b->reference)
            z[coordinate_of(b, k)] =
                cbrt(own->share * own->multiplier / (reference->share * reference->multiplier));
    }
}

/* Dirichlet(1,..,1) in the coordinates z, without the limits of the ratios: with the sum S of all
 * ratios r_k = z_k^3 its density is Gamma(K) prod y_k and dl/dz = 3 / z. */
static double multipliers_log_prior(const block_parameters *b, const double *z)
{
    const double *own = z + b->multipliers_at;
    double sum = 1, value = log_gamma(b->n_blocks);
    for (int k = 0; k < b->n_blocks - 1; k++) {
        if (!(own[k] > 0))
            return -INFINITY;
        sum += own[k] * own[k] * own[k];
        value += 2 * log(own[k]) + log(3);
    }
    return value - b->n_blocks * log(sum);
}

double block_parameters_log_prior(const block_parameters *b, const double *z)
{
    double value = 0;
    for (int k = 0; k < b->n_blocks; k++)
        value += free_model_log_prior(&b->block[k].model, z + b->block[k].first);
    return b->multipliers_free ? value + multipliers_log_prior(b, z) : value;
}

double block_parameters_stated_prior(const block_parameters *b, const double *z)
{
    double value = 0;
    for (int k = 0; k < b->n_blocks; k++)
        value += free_model_stated_prior(&b->block[k].model, z + b->block[k].first);
    return b->multipliers_free ? value + log_gamma(b->n_blocks) : value;
}

void block_parameters_bounds(double *low, double *high, const block_parameters *b)
{
    const double limit = RATIO_LIMIT - 1e-6; /* at the edge slopes are not yet those of a clip */
    for (int k = 0; k < b->n_blocks; k++)
        free_model_bounds(low + b->block[k].first, high + b->block[k].first, &b->block[k].model);
    for (int i = b->multipliers_at; i < b->n_free; i++) {
        low[i] = exp(-limit / 3);
        high[i] = exp(limit / 3);
    }
}

void block_parameters_draw(double *z, const block_parameters *b, rng *stream)
{
    for (int k = 0; k < b->n_blocks; k++)
        free_model_draw(z + b->block[k].first, &b->block[k].model, stream);
    if (!b->multipliers_free)
        return;
    const simplex s = {.n = b->n_blocks, .reference = b->reference};
    simplex_draw(z + b->multipliers_at, &s, stream);
    for (int i = b->multipliers_at; i < b->n_free; i++)
        z[i] = exp(z[i] / 3);
}

/* By the log ratios l: dm_k/dl_j = m_k ([k = j] - y_j); then dl/dz = 3 / z. */
static void multipliers_gradient(double *dz, const block_parameters *b, const double *z,
                                 const block_slopes *by)
{
    double mean = 0;
    for (int k = 0; k < b->n_blocks; k++)
        mean += by[k].multiplier * block_parameters_multiplier(b, z, k);
    for (int k = 0; k < b->n_blocks; k++) {
        if (k == b->reference)
            continue;
        const int at = coordinate_of(b, k);
        const double y = weighted_multiplier(b, z, k);
        const bool is_clipped = fabs(log_ratio(z[at])) >= RATIO_LIMIT;
        dz[at] = is_clipped ? 0 : y * (by[k].multiplier / b->block[k].share - mean) * 3 / z[at];
    }
}

static void add_multipliers_prior(double *dz, const block_parameters *b, const double *z)
{
    double sum = 1;
    for (int i = b->multipliers_at; i < b->n_free; i++)
        sum += z[i] * z[i] * z[i];
    for (int i = b->multipliers_at; i < b->n_free; i++)
        dz[i] += 2 / z[i] - b->n_blocks * 3 * z[i] * z[i] / sum;
}

void block_parameters_gradient(double *dz, const block_parameters *b, const double *z,
                               const block_slopes *by)
{
    for (int k = 0; k < b->n_blocks; k++)
        free_model_gradient(dz + b->block[k].first, &b->block[k].model, z + b->block[k].first,
                            &by[k].model);
    if (!b->multipliers_free)
        return;
    multipliers_gradient(dz, b, z, by);
    add_multipliers_prior(dz, b, z);
}

void block_parameters_likelihood_gradient(double *dz, const block_parameters *b, const double *z,
                                          const block_slopes *by)
{
    for (int k = 0; k < b->n_blocks; k++)
        free_model_likelihood_gradient(dz + b->block[k].first, &b->block[k].model,
                                       z + b->block[k].first, &by[k].model);
    if (b->multipliers_free)
        multipliers_gradient(dz, b, z, by);
}

int block_parameters_columns(const block_parameters *b)
{
    int n = b->multipliers_free ? b->n_blocks : 0;
    for (int k = 0; k < b->n_blocks; k++)
        n += b->block[k].n_columns;
    return n;
}

/* The block of column i, which becomes a column of the block's own, or the number of blocks if it
 * is a multiplier, which i then is the number of. */
static int find_block(const block_parameters *b, int *i)
{
    int k = 0;
    while (k < b->n_blocks && *i >= b->block[k].n_columns)
        *i -= b->block[k++].n_columns;
    return k;
}

void block_parameters_name(char name[PARAMETER_NAME_SIZE], const block_parameters *b, int i)
{
    char own[FREE_COLUMNS_MOST][PARAMETER_NAME_SIZE];
    const int k = find_block(b, &i);
    if (k == b->n_blocks) {
        snprintf(name, PARAMETER_NAME_SIZE, "m{%d}", i + 1);
        return;
    }
    free_model_columns(own, &b->block[k].model);
    memcpy(name, own[i], PARAMETER_NAME_SIZE);
    const size_t used = strlen(name);
    if (b->n_blocks > 1)
        snprintf(name + used, PARAMETER_NAME_SIZE - used, "{%d}", k + 1);
}

void block_parameters_values(double *value, const block_parameters *b, const double *z)
{
    for (int k = 0; k < b->n_blocks; k++) {
        free_model_values(value, &b->block[k].model, z + b->block[k].first);
        value += b->block[k].n_columns;
    }
    for (int k = 0; k < b->n_blocks && b->multipliers_free; k++)
        *value++ = block_parameters_multiplier(b, z, k);
}

double block_parameters_value(const block_parameters *b, const double *z, int i)
{
    double value[FREE_COLUMNS_MOST];
    const int k = find_block(b, &i);
    if (k == b->n_blocks)
        return block_parameters_multiplier(b, z, i);
    free_model_values(value, &b->block[k].model, z + b->block[k].first);
    return value[i];
}
