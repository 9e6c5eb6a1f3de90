#include "branch/branch_solver.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "branch/length_prior.h"
#include "branch/length_scale.h"
#include "tree/rearrange.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 2 }; /* tiles that pass through the whole tree together when lengths are fixed */

static int32_t n_nodes(const branch_posterior *p)
{
    return topology_nodes(p->n_taxa);
}

static int32_t top_node(const branch_solver *s)
{
    return s->tree.child[0][0];
}

/* Both sides of every node, except the lower sides of leaves. */
static size_t n_partials(const branch_posterior *p)
{
    return 2 * (size_t)n_nodes(p) - (size_t)p->n_taxa;
}

size_t branch_solver_memory(const branch_posterior *p)
{
    const size_t nodes = (size_t)n_nodes(p);
    const size_t per_node = sizeof(branch_state) + p->total.transition * sizeof(double) +
                            2 * sizeof(partial) + 6 * sizeof(int32_t);
    return partial_store_memory(p, n_partials(p)) + nodes * per_node + branch_edge_memory(p);
}

static void place_partials(branch_solver *s)
{
    const branch_posterior *p = s->problem;
    const partial *next = s->store.item;
    for (int32_t v = 0; v < n_nodes(p); v++) {
        s->down[v] = v < p->n_taxa ? partial_of_taxon(p, v) : *next++;
        s->up[v] = *next++;
    }
}

int branch_solver_create(branch_solver **out, const branch_posterior *p)
{
    *out = NULL;
    branch_solver *s = mem_zeros(1, sizeof *s);
    if (!s)
        return ART_ERR_NOMEM;
    const size_t nodes = (size_t)n_nodes(p);
    int status;
    s->problem = p;
    if ((status = topology_init(&s->tree, p->n_taxa)) || (status = branch_edge_init(&s->edge, p)) ||
        (status = partial_store_init(&s->store, p, n_partials(p))))
        goto out;
    status = ART_ERR_NOMEM;
    s->order = mem_zeros(nodes, sizeof *s->order);
    s->tour = mem_zeros(2 * nodes, sizeof *s->tour);
    s->branch = mem_zeros(nodes, sizeof *s->branch);
    s->down = mem_zeros(nodes, sizeof *s->down);
    s->up = mem_zeros(nodes, sizeof *s->up);
    s->transition = mem_aligned(nodes * p->total.transition, sizeof *s->transition);
    if (!s->order || !s->tour || !s->branch || !s->down || !s->up || !s->transition)
        goto out;
    place_partials(s);
    *out = s;
    return ART_OK;
out:
    branch_solver_free(s);
    return status;
}

void branch_solver_free(branch_solver *s)
{
    if (!s)
        return;
    topology_free(&s->tree);
    branch_edge_free(&s->edge);
    partial_store_free(&s->store);
    free(s->order);
    free(s->tour);
    free(s->branch);
    free(s->down);
    free(s->up);
    free(s->transition);
    free(s);
}

static void set_cbrt_length(branch_solver *s, int32_t v, double cbrt_length)
{
    s->branch[v].cbrt_length = cbrt_length;
    branch_posterior_transitions(s->transition + (size_t)v * s->problem->total.transition,
                                 s->problem, length_scale_length(cbrt_length));
}

/* Fills the tour: a node is entered before the nodes below it and left after them. */
static void walk(branch_solver *s)
{
    int32_t *tour = s->tour, v = top_node(s);
    const topology *t = &s->tree;
    for (;;) {
        while (v >= t->n_taxa) {
            *tour++ = v;
            v = t->child[v][0];
        }
        *tour++ = v;
        *tour++ = ~v;
        while (v != t->child[0][0] && v == t->child[t->parent[v]][1]) {
            v = t->parent[v];
            *tour++ = ~v;
        }
        if (v == t->child[0][0])
            return;
        v = t->child[t->parent[v]][1];
    }
}

void branch_solver_set(branch_solver *s, const int32_t *decision, const double *length)
{
    const branch_posterior *p = s->problem;
    topology_build(&s->tree, decision);
    topology_postorder(s->order, &s->tree);
    walk(s);
    for (int e = 0; e < p->n_edges; e++)
        set_cbrt_length(s, edge_node(e, p->n_taxa),
                        length_scale_x(fmin(fmax(length[e], BRANCH_SHORTEST), BRANCH_LONGEST)));
}

void branch_solver_move(branch_solver *s, const double *cbrt_length)
{
    for (int e = 0; e < s->problem->n_edges; e++)
        set_cbrt_length(s, edge_node(e, s->problem->n_taxa), cbrt_length[e]);
}

void branch_solver_lengths(double *length, const branch_solver *s)
{
    const branch_posterior *p = s->problem;
    for (int e = 0; e < p->n_edges; e++)
        length[e] = length_scale_length(s->branch[edge_node(e, p->n_taxa)].cbrt_length);
}

static branch_place place_of(const branch_solver *s, int32_t v)
{
    return branch_place_of(topology_is_external(&s->tree, v));
}

double branch_solver_length(const branch_solver *s)
{
    double sum = 0;
    for (int32_t v = 1; v < n_nodes(s->problem); v++)
        sum += length_scale_length(s->branch[v].cbrt_length);
    return sum;
}

length_total branch_solver_total(const branch_solver *s)
{
    length_total t = {0};
    for (int32_t v = 1; v < n_nodes(s->problem); v++)
        length_total_add(&t, s->branch[v].cbrt_length, s->branch[v].curvature, 1);
    return t;
}

void branch_solver_measure(branch_solver *s)
{
    if (branch_prior_is_coupled(s->problem->prior))
        s->total = branch_solver_length(s);
}

/* Some tiles of down[v]; of up[v]. */
static void join_down(branch_solver *s, int32_t v, tile_span at)
{
    const int32_t a = s->tree.child[v][0], b = s->tree.child[v][1];
    partial_join_part(&s->down[v], &s->down[a], branch_transition_at(s, a), &s->down[b],
                      branch_transition_at(s, b), s->problem, at);
}

static void join_up(branch_solver *s, int32_t v, tile_span at)
{
    const int32_t above = s->tree.parent[v], sibling = topology_sibling(&s->tree, v);
    partial_join_part(&s->up[v], branch_outside(s, above), branch_transition_at(s, above),
                      &s->down[sibling], branch_transition_at(s, sibling), s->problem, at);
}

/* Makes s->edge the branch above v. */
static void set_edge(branch_solver *s, int32_t v)
{
    branch_edge_set(&s->edge, &s->down[v], branch_outside(s, v));
    if (branch_prior_is_coupled(s->problem->prior))
        branch_edge_place(&s->edge, place_of(s, v),
                          s->total - length_scale_length(s->branch[v].cbrt_length));
}

/* All of down, and of up if both are requested, on some tiles. */
static void pass_tiles(branch_solver *s, int both, tile_span at)
{
    const branch_posterior *p = s->problem;
    for (int i = 0; i < p->n_edges; i++)
        if (s->order[i] >= p->n_taxa)
            join_down(s, s->order[i], at);
    for (int i = p->n_edges - 2; both && i >= 0; i--)
        join_up(s, s->order[i], at);
}

/* On all tiles; a few at a time, so that they stay in the cache through the whole tree. */
static void pass(branch_solver *s, int both)
{
    const branch_posterior *p = s->problem;
    for (int32_t v = 1; v < n_nodes(p); v++)
        s->down[v].shifted = s->up[v].shifted = 0;
    for (const data_block *b = p->block; b < p->block + p->n_blocks; b++)
        for (size_t first = 0; first < b->size.tiles; first += CHUNK)
            pass_tiles(s, both, tile_span_of(b, first, CHUNK));
}

/* The log-likelihood, taken at the branch above v, whose two partials are current. */
static double value_at(branch_solver *s, int32_t v)
{
    set_edge(s, v);
    return branch_edge_log_likelihood(&s->edge, s->branch[v].cbrt_length);
}

/* The log-likelihood, taken at the top branch, once all of down is current. */
static double value_at_top(branch_solver *s)
{
    return value_at(s, top_node(s));
}

double branch_solver_value(branch_solver *s)
{
    pass(s, 0);
    return value_at_top(s);
}

double branch_solver_density(const branch_solver *s, double log_likelihood)
{
    const branch_prior prior = s->problem->prior;
    double sum = log_likelihood;
    for (int32_t v = 1; v < n_nodes(s->problem); v++)
        sum += length_prior_log_density(prior, s->branch[v].cbrt_length, place_of(s, v));
    if (branch_prior_is_coupled(prior))
        sum += branch_prior_total_log_density(prior, branch_solver_length(s), s->problem->n_edges);
    return sum;
}

void branch_solver_refresh(branch_solver *s)
{
    pass(s, 1);
}

void branch_solver_slopes(double out[2], branch_solver *s, int32_t v)
{
    set_edge(s, v);
    branch_edge_slopes(out, &s->edge, s->branch[v].cbrt_length);
}

void branch_solver_slopes_around(double out[2], branch_solver *s, int32_t v, double step)
{
    set_edge(s, v);
    for (int k = 0; k < 2; k++) {
        branch_state at = {.cbrt_length = s->branch[v].cbrt_length + (k ? step : -step)};
        branch_edge_inspect(&s->edge, &at);
        out[k] = at.slope;
    }
}

/* One sweep: every branch once, in an order in which the partials of the next one cost one or
 * two joins. Returns the gain predicted for it; ends early if s->stop is due. */
static double sweep(branch_solver *s, double enough)
{
    const branch_posterior *p = s->problem;
    double gain = 0;
    branch_solver_measure(s);
    for (int i = 0; i < 2 * p->n_edges; i++) {
        const int32_t v = s->tour[i];
        if (v >= 0) {
            if (interrupt_is_due(s->stop))
                break;
            if (s->tree.parent[v] != 0)
                branch_solver_join(s, v, 1);
            gain += branch_solver_improve(s, v, enough);
        } else if (~v >= p->n_taxa) {
            branch_solver_join(s, ~v, 0);
        }
    }
    return gain;
}

int branch_solver_conclude(branch_solver *s, int32_t v)
{
    s->log_likelihood = value_at(s, v);
    s->log_density = branch_solver_density(s, s->log_likelihood);
    s->laplace = s->log_density;
    for (int32_t u = 1; u < n_nodes(s->problem); u++)
        s->laplace += 0.5 * log(2 * M_PI / s->branch[u].curvature);
    if (branch_prior_is_coupled(s->problem->prior))
        s->laplace -= 0.5 * length_total_determinant(s->problem->prior, branch_solver_total(s),
                                                     s->problem->n_edges);
    return isfinite(s->laplace) ? ART_OK : ART_ERR_NUMERIC;
}

int branch_solver_inspect(branch_solver *s)
{
    pass(s, 1);
    branch_solver_measure(s);
    for (int32_t v = 1; v < n_nodes(s->problem); v++) {
        set_edge(s, v);
        branch_edge_inspect(&s->edge, &s->branch[v]);
    }
    return branch_solver_conclude(s, top_node(s));
}

int branch_solver_mode(branch_solver *s, double tolerance)
{
    const branch_posterior *p = s->problem;
    const double enough = tolerance / p->n_edges / 10;
    double gain = HUGE_VAL;
    pass(s, 0);
    for (s->sweeps = 0; s->sweeps < s->problem->set.sweeps && gain >= tolerance; s->sweeps++) {
        gain = sweep(s, enough);
        if (interrupt_is_due(s->stop))
            return ART_ERR_STOPPED;
    }
    return branch_solver_conclude(s, top_node(s));
}

void branch_solver_rearranged(branch_solver *s)
{
    topology_postorder(s->order, &s->tree);
    walk(s);
}

void branch_solver_set_branch(branch_solver *s, int32_t v, double cbrt_length)
{
    set_cbrt_length(s, v, cbrt_length);
}

void branch_solver_join(branch_solver *s, int32_t v, int up)
{
    const branch_posterior *p = s->problem;
    partial *out = up ? &s->up[v] : &s->down[v];
    out->shifted = 0;
    for (int k = 0; k < p->n_blocks; k++) {
        const tile_span all = tile_span_of(&p->block[k], 0, SIZE_MAX);
        if (up)
            join_up(s, v, all);
        else
            join_down(s, v, all);
    }
}

double branch_solver_improve(branch_solver *s, int32_t v, double enough)
{
    set_edge(s, v);
    const double gain = branch_edge_improve(&s->edge, &s->branch[v], enough);
    set_cbrt_length(s, v, s->branch[v].cbrt_length);
    if (branch_prior_is_coupled(s->problem->prior))
        s->total = s->edge.rest + length_scale_length(s->branch[v].cbrt_length);
    return gain;
}
