#include "density/tree_draws.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "base/rng.h"

#include <stdlib.h>

int tree_draws_init(tree_draws *d, topology_model *trees, branch_model *branches, int room)
{
    const size_t n = (size_t)trees->n_taxa, k = (size_t)room;
    *d = (tree_draws){.trees = trees, .branches = branches};
    d->decision = mem_zeros(k * (n - 3), sizeof *d->decision);
    d->length = branches ? mem_zeros(k * (2 * n - 3), sizeof *d->length) : NULL;
    d->log_q = mem_zeros(k, sizeof *d->log_q);
    d->log_b = mem_zeros(k, sizeof *d->log_b);
    return d->decision && (d->length || !branches) && d->log_q && d->log_b ? ART_OK : ART_ERR_NOMEM;
}

void tree_draws_free(tree_draws *d)
{
    free(d->decision);
    free(d->length);
    free(d->log_q);
    free(d->log_b);
    *d = (tree_draws){0};
}

int tree_draws_fill(tree_draws *d, uint64_t seed, uint32_t first, int k)
{
    int status =
        topology_model_sample(d->trees, d->decision, d->log_q, k, seed, RNG_SAMPLE, 0, first);
    if (!status && d->branches)
        status = branch_model_sample(d->branches, d->length, d->log_b, d->decision, k, seed,
                                     RNG_SAMPLE_BRANCH, 0, first);
    return status;
}
