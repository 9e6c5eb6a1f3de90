/* parameter_reference.h: how the branch lengths of one good tree depend on the free parameters, for
 * the use of all others.
 *
 * The second derivatives of f(x, z) (branch_posterior.h) by a length and a parameter take 2 p
 * gradients of every tree, which is most of the cost of a proposal (parameter_proposal.h). Good
 * trees have most of their splits in common, and what a split contributes hardly depends on the
 * rest of the tree. So the derivatives of one tree, the reference, are kept by split; branches of
 * other trees look up their own, and those that the reference lacks have 0. A proposal need not be
 * exact: importance weights make up for it.
 *
 *     parameter_reference r;
 *     status = parameter_reference_init(&r, n_taxa, n_free);
 *     status = parameter_reference_set(&r, decision, mixed);
 *     ...
 *     parameter_reference_look_up(mixed, &r, &tree, &space);       any number of threads
 *     parameter_reference_free(&r); */
#ifndef BRANCH_PARAMETER_REFERENCE_H
#define BRANCH_PARAMETER_REFERENCE_H

#include "base/key_table.h"
#include "io/saved_state.h"
#include "tree/topology.h"

typedef struct parameter_reference {
    int n_taxa, n_free;
    int n_edges;
    bool is_set;
    int32_t *decision; /* [N-3] the tree */
    double *mixed;     /* [p][E] d2 f / dz_k dx_e, by its edge numbers */
    key_table splits;  /* of its branches, numbered as its edges */
} parameter_reference;

int parameter_reference_init(parameter_reference *r, int n_taxa, int n_free);
void parameter_reference_free(parameter_reference *r); /* safe on a zeroed one */

/* The tree decision [N-3] with mixed [p][E] becomes the reference. */
int parameter_reference_set(parameter_reference *r, const int32_t *decision, const double *mixed);

/* Memory of one thread for looking up: split [E][words], order [E]. */
typedef struct reference_space {
    uint64_t *split;
    int32_t *order;
} reference_space;

int reference_space_init(reference_space *s, int n_taxa);
void reference_space_free(reference_space *s); /* safe on a zeroed one */

/* mixed [p][E] of tree t, by its own edge numbers. */
void parameter_reference_look_up(double *mixed, const parameter_reference *r, const topology *t,
                                 reference_space *space);

/* As fields of a saved state. */
void parameter_reference_fields(parameter_reference *r, saved_state *s);

#endif
