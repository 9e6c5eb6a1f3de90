#include "branch/data_block.h"

#include "lik/pattern_data.h"
#include "lik/transitions.h"

enum { N_STATES = 4 }; /* of all models so far */

void data_block_init(data_block *b, const site_patterns *patterns, const free_model *model,
                     block_sizes before)
{
    double z[FREE_MOST];
    *b = (data_block){.n_states = N_STATES, .multiplier = 1, .first = before};
    free_model_start(z, model);
    free_model_at(&b->model, model, z);
    b->n_patterns = patterns->count;
    b->terms = transitions_rates(&b->model);
    const size_t tiles = (patterns->count + TILE - 1) / TILE, terms = (size_t)b->terms;
    b->size.tiles = tiles;
    b->size.leaf = tiles * (size_t)b->n_states * TILE;
    b->size.partial = (size_t)b->model.n_categories * b->size.leaf;
    b->size.transition = transitions_size(&b->model);
    b->size.coefficient = tiles * (1 + terms) * TILE;
    b->size.growth = 3 * terms;
}

block_sizes block_sizes_behind(const data_block *b)
{
    return (block_sizes){
        .tiles = b->first.tiles + b->size.tiles,
        .leaf = b->first.leaf + b->size.leaf,
        .partial = b->first.partial + b->size.partial,
        .transition = b->first.transition + b->size.transition,
        .coefficient = b->first.coefficient + b->size.coefficient,
        .growth = b->first.growth + b->size.growth,
    };
}

void data_block_set(data_block *b, const free_model *model, const double *z, double multiplier)
{
    free_model_at(&b->model, model, z);
    b->multiplier = multiplier;
    for (size_t k = 0; b->invariant && k < b->n_patterns; k++)
        b->invariant[k] = pattern_data_invariant_of(b->common[k], &b->model);
}

void data_block_transitions(double *out, const data_block *b, double length)
{
    transitions_fill(out, &b->model, b->multiplier * length);
}

void data_block_derivatives(double *out, const data_block *b, double length)
{
    transitions_derivative(out, &b->model, b->multiplier * length);
    for (size_t i = 0; i < b->size.transition; i++)
        out[i] *= b->multiplier;
}
