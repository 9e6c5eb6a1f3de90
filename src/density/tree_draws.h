/* tree_draws.h: trees drawn from a trained model, in batches, with branch lengths if the model has
 * them. Tree i of a seed does not depend on how many trees are drawn.
 *
 *     tree_draws d;
 *     status = tree_draws_init(&d, trees, branches, 1000);
 *     status = tree_draws_fill(&d, seed, first, 1000);
 *     tree_draws_decision(&d, i), tree_draws_length(&d, i), d.log_q[i], d.log_b[i]
 *     tree_draws_free(&d); */
#ifndef DENSITY_TREE_DRAWS_H
#define DENSITY_TREE_DRAWS_H

#include "density/branch_model.h"
#include "density/topology_model.h"

typedef struct tree_draws {
    topology_model *trees;  /* borrowed, as branches */
    branch_model *branches; /* NULL: topologies only */
    int32_t *decision;      /* [room][N-3] */
    double *length;         /* [room][2N-3]; NULL without branches */
    double *log_q;          /* [room] of the topologies */
    double *log_b;          /* [room] of the branch lengths; 0 without */
} tree_draws;

/* branches may be NULL. */
int tree_draws_init(tree_draws *d, topology_model *trees, branch_model *branches, int room);
void tree_draws_free(tree_draws *d); /* safe on a zeroed or half-built one */

/* Trees first .. first + k - 1, k at most the room. */
int tree_draws_fill(tree_draws *d, uint64_t seed, uint32_t first, int k);

static inline const int32_t *tree_draws_decision(const tree_draws *d, int i)
{
    return d->decision + (size_t)i * ((size_t)d->trees->n_taxa - 3);
}

/* NULL without branches. */
static inline const double *tree_draws_length(const tree_draws *d, int i)
{
    return d->length ? d->length + (size_t)i * (2 * (size_t)d->trees->n_taxa - 3) : NULL;
}

#endif
