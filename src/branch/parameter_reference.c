#include "branch/parameter_reference.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "tree/saved_trees.h"
#include "tree/splits.h"

#include <stdlib.h>
#include <string.h>

int parameter_reference_init(parameter_reference *r, int n_taxa, int n_free)
{
    memset(r, 0, sizeof *r);
    r->n_taxa = n_taxa;
    r->n_free = n_free;
    r->n_edges = 2 * n_taxa - 3;
    const size_t edges = (size_t)r->n_edges;
    key_table_init(&r->splits, split_words(n_taxa) * sizeof(uint64_t));
    r->decision = mem_zeros((size_t)n_taxa - 2, sizeof *r->decision);
    r->mixed = mem_zeros(edges * (size_t)n_free + 1, sizeof *r->mixed);
    int status = r->decision && r->mixed ? key_table_reserve(&r->splits, edges) : ART_ERR_NOMEM;
    if (status)
        parameter_reference_free(r);
    return status;
}

void parameter_reference_free(parameter_reference *r)
{
    free(r->decision);
    free(r->mixed);
    key_table_free(&r->splits);
    memset(r, 0, sizeof *r);
}

int reference_space_init(reference_space *s, int n_taxa)
{
    const size_t edges = 2 * (size_t)n_taxa - 3;
    s->split = mem_zeros(edges * split_words(n_taxa), sizeof *s->split);
    s->order = mem_zeros(edges, sizeof *s->order);
    if (s->split && s->order)
        return ART_OK;
    reference_space_free(s);
    return ART_ERR_NOMEM;
}

void reference_space_free(reference_space *s)
{
    free(s->split);
    free(s->order);
    memset(s, 0, sizeof *s);
}

/* The splits of the reference tree, numbered as its edges. */
static int number_splits(parameter_reference *r)
{
    topology tree;
    reference_space space = {0};
    int status = topology_init(&tree, r->n_taxa);
    if (!status)
        status = reference_space_init(&space, r->n_taxa);
    if (!status) {
        topology_build(&tree, r->decision);
        splits_of(space.split, &tree, space.order);
        key_table_clear(&r->splits);
        for (int e = 0; e < r->n_edges; e++)
            key_table_put(&r->splits, space.split + (size_t)e * split_words(r->n_taxa));
    }
    reference_space_free(&space);
    topology_free(&tree);
    return status;
}

int parameter_reference_set(parameter_reference *r, const int32_t *decision, const double *mixed)
{
    memcpy(r->decision, decision, ((size_t)r->n_taxa - 3) * sizeof *decision);
    memcpy(r->mixed, mixed, (size_t)r->n_free * (size_t)r->n_edges * sizeof *mixed);
    const int status = number_splits(r);
    r->is_set = status == ART_OK;
    return status;
}

void parameter_reference_look_up(double *mixed, const parameter_reference *r, const topology *t,
                                 reference_space *space)
{
    const int edges = r->n_edges;
    splits_of(space->split, t, space->order);
    for (int e = 0; e < edges; e++) {
        const int64_t from =
            key_table_find(&r->splits, space->split + (size_t)e * split_words(r->n_taxa));
        for (int k = 0; k < r->n_free; k++)
            mixed[(ptrdiff_t)k * edges + e] =
                from == KEY_NONE ? 0 : r->mixed[(ptrdiff_t)k * edges + from];
    }
}

void parameter_reference_fields(parameter_reference *r, saved_state *s)
{
    state_bool(s, "reference.is_set", &r->is_set);
    if (s->status || !r->is_set)
        return;
    state_trees(s, "reference.decision", r->decision, 1, r->n_taxa);
    state_f64_array(s, "reference.mixed", r->mixed, (size_t)r->n_free, (size_t)r->n_edges);
    if (state_loaded(s))
        state_fail(s, number_splits(r));
}
