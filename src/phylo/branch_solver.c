#include "phylo/branch_solver.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK = 2,        /* tiles that go through the tree together when lengths are given */
    SHIFT_MOST = 900, /* where a site may be invariant: then it is, and 2^900 is a number */
    MOST_STEPS = 50,  /* on one branch: bisection alone would be done by then */
};

#define SMALL_STEP 0.25 /* of x: such a step is taken without a second look */

static int n_nodes(const branch_solver *s)
{
    return topology_nodes(s->problem->n_taxa);
}

static int32_t top_node(const branch_solver *s)
{
    return s->tree.child[0][0];
}

size_t branch_solver_memory(const branch_problem *p)
{
    size_t nodes = (size_t)topology_nodes(p->n_taxa), inner = (size_t)p->n_taxa - 2;
    size_t numbers = (inner + nodes) * p->partial + p->tiles * TILE * (size_t)(p->terms + 2) +
                     nodes * (size_t)(p->edge_terms + 3);
    size_t integers = (inner + nodes) * p->tiles * TILE + 6 * nodes;
    return numbers * sizeof(double) + integers * sizeof(int32_t) + 2 * nodes * sizeof(partial);
}

/* Leaves look at the tips of the problem; the other partials are cut from one block. */
static void place_partials(branch_solver *s)
{
    const branch_problem *p = s->problem;
    const size_t tip = p->tiles * 4 * TILE;
    double *value = s->memory;
    int32_t *shift = s->shifts;
    for (int v = 0; v < n_nodes(s); v++) {
        if (v < p->n_taxa) {
            s->down[v] = (partial){.value = p->tip + (size_t)v * tip, .categories = 1};
        } else {
            s->down[v] = (partial){value, shift, 0, p->model.n_categories};
            value += p->partial;
            shift += p->tiles * TILE;
        }
        s->up[v] = (partial){value, shift, 0, p->model.n_categories};
        value += p->partial;
        shift += p->tiles * TILE;
    }
}

int branch_solver_create(branch_solver **out, const branch_problem *p)
{
    *out = NULL;
    branch_solver *s = mem_zeros(1, sizeof *s);
    if (!s)
        return ART_ERR_NOMEM;
    const size_t nodes = (size_t)topology_nodes(p->n_taxa), inner = (size_t)p->n_taxa - 2;
    const size_t patterns = p->tiles * TILE;
    s->problem = p;
    int status = topology_init(&s->tree, p->n_taxa);
    if (status)
        goto out;
    status = ART_ERR_NOMEM;
    s->order = mem_zeros(nodes, sizeof *s->order);
    s->tour = mem_zeros(2 * nodes, sizeof *s->tour);
    s->x = mem_zeros(nodes, sizeof *s->x);
    s->slope = mem_zeros(nodes, sizeof *s->slope);
    s->curvature = mem_zeros(nodes, sizeof *s->curvature);
    s->down = mem_zeros(nodes, sizeof *s->down);
    s->up = mem_zeros(nodes, sizeof *s->up);
    s->transition = mem_aligned(nodes * (size_t)p->edge_terms, sizeof *s->transition);
    s->growth = mem_aligned(3 * (size_t)p->terms, sizeof *s->growth);
    s->coefficient = mem_aligned(patterns * (size_t)(1 + p->terms), sizeof *s->coefficient);
    s->invariant = mem_aligned(patterns, sizeof *s->invariant);
    s->memory = mem_aligned((nodes + inner) * p->partial, sizeof *s->memory);
    s->shifts = mem_aligned((nodes + inner) * patterns, sizeof *s->shifts);
    if (!s->order || !s->tour || !s->x || !s->slope || !s->curvature || !s->down || !s->up ||
        !s->transition || !s->growth || !s->coefficient || !s->invariant || !s->memory ||
        !s->shifts)
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
    free(s->order);
    free(s->tour);
    free(s->x);
    free(s->slope);
    free(s->curvature);
    free(s->down);
    free(s->up);
    free(s->transition);
    free(s->growth);
    free(s->coefficient);
    free(s->invariant);
    free(s->memory);
    free(s->shifts);
    free(s);
}

static void set_x(branch_solver *s, int32_t v, double x)
{
    s->x[v] = x;
    branch_transition(branch_transition_of(s, v), s->problem, x * x * x);
}

/* From the order children before parents: a node is entered before what is below it. */
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
    const branch_problem *p = s->problem;
    topology_build(&s->tree, decision);
    topology_postorder(s->order, &s->tree);
    walk(s);
    for (int e = 0; e < p->n_edges; e++)
        set_x(s, edge_node(e, p->n_taxa),
              cbrt(fmin(fmax(length[e], BRANCH_SHORTEST), BRANCH_LONGEST)));
}

void branch_solver_move(branch_solver *s, const double *x)
{
    for (int e = 0; e < s->problem->n_edges; e++)
        set_x(s, edge_node(e, s->problem->n_taxa), x[e]);
}

void branch_solver_lengths(double *length, const branch_solver *s)
{
    const branch_problem *p = s->problem;
    for (int e = 0; e < p->n_edges; e++) {
        double x = s->x[edge_node(e, p->n_taxa)];
        length[e] = x * x * x;
    }
}

/* Multiplies the patterns whose numbers have become small by a power of two. */
static void lift(partial *out, size_t first, size_t tiles)
{
    const size_t stride = (size_t)out->categories * 4;
    for (size_t k = first * TILE; k < (first + tiles) * TILE; k++) {
        double *row = out->value + k / TILE * stride * TILE + k % TILE, total = 0;
        for (size_t i = 0; i < stride; i++)
            total += row[i * TILE];
        if (!(total > 0 && total < PARTIAL_LOW))
            continue;
        int bits = -ilogb(total);
        for (size_t i = 0; i < stride; i++)
            row[i * TILE] = ldexp(row[i * TILE], bits);
        out->shift[k] += bits;
    }
}

/* out = (P x) * (Q y) on some of the tiles. */
static void join(branch_solver *s, partial *out, const partial *x, const double *px,
                 const partial *y, const double *py, size_t first, size_t tiles)
{
    const size_t row = first * 4 * TILE;
    double least = s->problem->kernel->combine(out->value + row * (size_t)out->categories,
                                               partial_from(x, first, px),
                                               partial_from(y, first, py), out->categories, tiles);
    int low = least < PARTIAL_LOW;
    if (!(out->shifted | x->shifted | y->shifted | low))
        return;
    if (!out->shifted)
        memset(out->shift, 0, s->problem->tiles * TILE * sizeof *out->shift);
    out->shifted = 1;
    for (size_t k = first * TILE; k < (first + tiles) * TILE; k++)
        out->shift[k] = partial_shift(x, k) + partial_shift(y, k);
    if (low)
        lift(out, first, tiles);
}

static void join_down(branch_solver *s, int32_t v, size_t first, size_t tiles)
{
    int32_t a = s->tree.child[v][0], b = s->tree.child[v][1];
    join(s, &s->down[v], &s->down[a], branch_transition_of(s, a), &s->down[b],
         branch_transition_of(s, b), first, tiles);
}

static void join_up(branch_solver *s, int32_t v, size_t first, size_t tiles)
{
    int32_t above = s->tree.parent[v];
    int32_t sibling = s->tree.child[above][s->tree.child[above][0] == v];
    join(s, &s->up[v], branch_outside(s, above), branch_transition_of(s, above), &s->down[sibling],
         branch_transition_of(s, sibling), first, tiles);
}

static void refresh_down(branch_solver *s, int32_t v)
{
    s->down[v].shifted = 0;
    join_down(s, v, 0, s->problem->tiles);
}

static void refresh_up(branch_solver *s, int32_t v)
{
    s->up[v].shifted = 0;
    join_up(s, v, 0, s->problem->tiles);
}

int32_t branch_shift(const branch_problem *p, const partial *x, const partial *y, size_t k)
{
    int32_t shift = partial_shift(x, k) + partial_shift(y, k);
    return p->invariant && p->invariant[k] > 0 && shift > SHIFT_MOST ? SHIFT_MOST : shift;
}

/* The coefficients of the branch above v. */
static void meet(branch_solver *s, int32_t v)
{
    const branch_problem *p = s->problem;
    const partial *x = &s->down[v], *y = branch_outside(s, v);
    const double *invariant = p->invariant;
    if (invariant && (x->shifted || y->shifted)) {
        for (size_t k = 0; k < p->tiles * TILE; k++)
            s->invariant[k] = ldexp(invariant[k], branch_shift(p, x, y, k));
        invariant = s->invariant;
    }
    p->kernel->meet(s->coefficient, partial_from(x, 0, NULL), partial_from(y, 0, NULL), invariant,
                    &p->model, p->tiles);
}

/* The log-likelihood, after meet at v. */
static double log_likelihood(branch_solver *s, int32_t v)
{
    const branch_problem *p = s->problem;
    const partial *x = &s->down[v], *y = branch_outside(s, v);
    const size_t terms = (size_t)p->terms;
    branch_growth(s->growth, s->growth + terms, s->growth + 2 * terms, p,
                  s->x[v] * s->x[v] * s->x[v]);
    double sum = p->kernel->log_sum(s->coefficient, p->weight, s->growth, p->terms, p->tiles);
    if (x->shifted || y->shifted) {
        double bits = 0;
        for (size_t k = 0; k < p->tiles * TILE; k++)
            bits += p->weight[k] * branch_shift(p, x, y, k);
        sum -= bits * M_LN2;
    }
    return sum;
}

double branch_solver_value(branch_solver *s)
{
    const branch_problem *p = s->problem;
    for (int32_t v = p->n_taxa; v < n_nodes(s); v++)
        s->down[v].shifted = 0;
    for (size_t first = 0; first < p->tiles; first += CHUNK) {
        size_t tiles = p->tiles - first < CHUNK ? p->tiles - first : CHUNK;
        for (int i = 0; i < p->n_edges; i++)
            if (s->order[i] >= p->n_taxa)
                join_down(s, s->order[i], first, tiles);
    }
    meet(s, top_node(s));
    return log_likelihood(s, top_node(s));
}

double branch_solver_density(const branch_solver *s, double log_likelihood)
{
    const double rate = s->problem->prior_rate;
    double sum = log_likelihood;
    for (int32_t v = 1; v < n_nodes(s); v++) {
        double x = s->x[v];
        sum += log(3 * rate * x * x) - rate * x * x * x;
    }
    return sum;
}

void branch_solver_refresh(branch_solver *s)
{
    const branch_problem *p = s->problem;
    for (int32_t v = 1; v < n_nodes(s); v++)
        s->down[v].shifted = s->up[v].shifted = 0;
    for (size_t first = 0; first < p->tiles; first += CHUNK) {
        size_t tiles = p->tiles - first < CHUNK ? p->tiles - first : CHUNK;
        for (int i = 0; i < p->n_edges; i++)
            if (s->order[i] >= p->n_taxa)
                join_down(s, s->order[i], first, tiles);
        for (int i = p->n_edges - 2; i >= 0; i--)
            join_up(s, s->order[i], first, tiles);
    }
}

/* After meet at v: slopes of the log-likelihood at length x^3. */
static void slopes_at(double out[2], branch_solver *s, double x)
{
    const branch_problem *p = s->problem;
    double *value = s->growth, *first = value + p->terms, *second = first + p->terms;
    branch_growth(value, first, second, p, x * x * x);
    p->kernel->slopes(out, s->coefficient, p->weight, (partial_growth){value, first, second},
                      p->terms, p->tiles);
}

void branch_solver_slopes(double out[2], branch_solver *s, int32_t v)
{
    meet(s, v);
    slopes_at(out, s, s->x[v]);
}

/* Newton steps in x on the branch above v, whose partials are current. With l', l'' the slopes
 * of the log-likelihood by b,
 *     f'  = 3 x^2 (l' - rate) + 2 / x
 *     f'' = 6 x (l' - rate) + 9 x^4 l'' - 2 / x^2.
 * f falls to -inf at both ends, so a maximum lies between the last point where f rose and the
 * last where it fell; a step that leaves these, or that the curvature does not support, is
 * replaced by doubling or halving x. One step is enough if it is a small one: the other
 * branches will move too. Returns the gain that the first step promises. */
static double improve(branch_solver *s, int32_t v, double enough)
{
    double low = cbrt(BRANCH_SHORTEST), high = cbrt(BRANCH_LONGEST), promised = 0;
    double x = s->x[v];
    meet(s, v);
    for (int i = 0; i < MOST_STEPS; i++) {
        double l[2];
        slopes_at(l, s, x);
        const double pull = l[0] - s->problem->prior_rate;
        const double slope = 3 * x * x * pull + 2 / x;
        const double bend = 6 * x * pull + 9 * x * x * x * x * l[1] - 2 / (x * x);
        const double gain = slope * slope / (2 * fmax(fabs(bend), 1e-300));
        s->slope[v] = slope;
        s->curvature[v] = fmax(-bend, 0.5 / (x * x));
        if (i == 0)
            promised = gain;
        if (slope > 0)
            low = x;
        else
            high = x;
        double next = bend < 0 ? x - slope / bend : slope > 0 ? 2 * x : x / 2;
        next = fmin(fmax(next, x / 4), 4 * x);
        if (next != x && !(next > low && next < high))
            next = sqrt(low * high);
        const int small = bend < 0 && fabs(next - x) <= SMALL_STEP * x;
        x = next;
        if (small || (gain < enough && bend < 0))
            break;
    }
    set_x(s, v, x);
    return promised;
}

/* One sweep: every branch once, in an order in which the partials of the next one cost one or
 * two joins. Returns the promised gain. */
static double sweep(branch_solver *s, double enough)
{
    const branch_problem *p = s->problem;
    double gain = 0;
    for (int i = 0; i < 2 * p->n_edges; i++) {
        int32_t v = s->tour[i];
        if (v >= 0) {
            if (s->tree.parent[v] != 0)
                refresh_up(s, v);
            gain += improve(s, v, enough);
        } else if (~v >= p->n_taxa) {
            refresh_down(s, ~v);
        }
    }
    return gain;
}

int branch_solver_mode(branch_solver *s, double tolerance)
{
    const branch_problem *p = s->problem;
    const double enough = tolerance / p->n_edges / 10;
    double gain = INFINITY;
    branch_solver_value(s);
    for (s->sweeps = 0; s->sweeps < BRANCH_SWEEPS && gain >= tolerance; s->sweeps++)
        gain = sweep(s, enough);
    meet(s, top_node(s));
    s->log_likelihood = log_likelihood(s, top_node(s));
    s->log_density = branch_solver_density(s, s->log_likelihood);
    s->laplace = s->log_density;
    for (int32_t v = 1; v < n_nodes(s); v++)
        s->laplace += 0.5 * log(2 * M_PI / s->curvature[v]);
    return isfinite(s->laplace) ? ART_OK : ART_ERR_NUMERIC;
}
