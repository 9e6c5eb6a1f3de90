#include "chain/joint_chain.h"

#include "artreeformer.h"
#include "base/cholesky.h"
#include "base/mem.h"
#include "chain/length_density.h"
#include "chain/subtree_places.h"
#include "tree/rearrange.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RESOLUTIONS = 3 };

/* Steps of all parameters, in parts of the one that is best for a normal distribution of as many
 * variables (2.38 over the root of their number): lengths that are held leave less room. Those of a
 * single one, in parts of the same with one variable: its distribution may have a much longer tail
 * than the normal one. And the standard deviation of the logarithm of the factor of all lengths,
 * times the root of their number. */
enum { STEPS = 3 };
static const double STEP[STEPS] = {0.1, 0.3, 1}, SINGLE_STEP[STEPS] = {0.3, 1, 3};
static const double BEST_STEP = 2.38, LENGTH_STEP = 0.5;

struct joint_chain {
    const branch_posterior *problem; /* the view, or the one given */
    branch_posterior view;           /* with the parameters of the chain, if there are any */
    joint_settings set;
    branch_solver *solver;
    local_fit *fit;
    length_density density[RESOLUTIONS];
    partial_store store; /* [2 + most depth] */
    double *transition;  /* [2][transition] */
    subtree_places places;
    int32_t *decision; /* [N-3] */
    double *length;    /* [nodes] */
    double *parameter; /* [p] z, .. */
    double *proposed;  /* .. [p] .. */
    double *low;       /* .. [p] and [p] their bounds .. */
    double *high;
    double *factor; /* .. [p][p] of the covariance of their steps */
    double log_likelihood;
    joint_counts counts;
};

joint_settings joint_defaults(void)
{
    return (joint_settings){
        .block = 100, .walk = 0.1, .subtrees = 0.8, .radius = 3, .parameters = 4};
}

size_t joint_chain_memory(const branch_posterior *p, const joint_settings *set)
{
    const size_t nodes = (size_t)topology_nodes(p->n_taxa);
    return branch_solver_memory(p) + local_fit_memory(p) + RESOLUTIONS * branch_edge_memory(p) +
           partial_store_memory(p, 2 * (size_t)set->radius + 2) +
           subtree_places_memory(set->radius) + nodes * 12;
}

/* The view of the problem that the parameters of the chain belong to. */
static int init_parameters(joint_chain *c, const branch_posterior *p)
{
    const size_t n = (size_t)p->free.n_free;
    c->problem = p;
    c->parameter = mem_zeros(4 * n + n * n + 1, sizeof *c->parameter);
    if (!c->parameter)
        return ART_ERR_NOMEM;
    c->proposed = c->parameter + n;
    c->low = c->proposed + n;
    c->high = c->low + n;
    c->factor = c->high + n;
    if (!n)
        return ART_OK;
    c->problem = &c->view;
    block_parameters_bounds(c->low, c->high, &p->free);
    memcpy(c->factor, p->spread, n * n * sizeof *c->factor);
    const int status = branch_posterior_view(&c->view, p);
    return status || cholesky_factor(c->factor, (ptrdiff_t)n) ? status : ART_ERR_NUMERIC;
}

int joint_chain_create(joint_chain **out, const branch_posterior *p, const joint_settings *set)
{
    *out = NULL;
    if (p->n_taxa < 4 || set->block < 1 || set->radius < 1 || set->radius > SUBTREE_RADIUS ||
        !(set->walk > 0) || !(set->subtrees >= 0 && set->subtrees <= 1))
        return ART_ERR_USAGE;
    joint_chain *c = mem_zeros(1, sizeof *c);
    if (!c)
        return ART_ERR_NOMEM;
    const size_t nodes = (size_t)topology_nodes(p->n_taxa);
    int status;
    c->set = *set;
    if ((status = init_parameters(c, p)) ||
        (status = branch_solver_create(&c->solver, c->problem)) ||
        (status = local_fit_create(&c->fit, c->solver)) ||
        (status = partial_store_init(&c->store, p, 2 * (size_t)set->radius + 2)) ||
        (status = subtree_places_init(&c->places, set->radius)))
        goto out;
    for (int r = 0; r < RESOLUTIONS; r++)
        if ((status = branch_edge_init(&c->density[r].edge, c->problem)))
            goto out;
    status = ART_ERR_NOMEM;
    c->transition = mem_aligned(2 * p->total.transition, sizeof *c->transition);
    c->decision = mem_zeros((size_t)p->n_taxa - 3, sizeof *c->decision);
    c->length = mem_zeros(nodes, sizeof *c->length);
    if (!c->transition || !c->decision || !c->length)
        goto out;
    *out = c;
    return ART_OK;
out:
    joint_chain_free(c);
    return status;
}

void joint_chain_free(joint_chain *c)
{
    if (!c)
        return;
    local_fit_free(c->fit);
    branch_solver_free(c->solver);
    for (int r = 0; r < RESOLUTIONS; r++)
        branch_edge_free(&c->density[r].edge);
    partial_store_free(&c->store);
    free(c->transition);
    subtree_places_free(&c->places);
    free(c->decision);
    free(c->length);
    free(c->parameter);
    if (c->problem == &c->view)
        branch_posterior_view_free(&c->view);
    free(c);
}

static size_t n_free(const joint_chain *c)
{
    return (size_t)c->problem->free.n_free;
}

/* The parameters become z. */
static void set_parameters(joint_chain *c, const double *z)
{
    if (z != c->parameter)
        memcpy(c->parameter, z, n_free(c) * sizeof *z);
    if (n_free(c))
        branch_posterior_move(&c->view, c->parameter);
}

int joint_chain_start(joint_chain *c, const int32_t *decision, const double *length)
{
    memcpy(c->decision, decision, ((size_t)c->problem->n_taxa - 3) * sizeof *decision);
    c->counts = (joint_counts){0};
    set_parameters(c, c->problem->centre);
    branch_solver_set(c->solver, decision, length);
    local_fit_reset(c->fit);
    c->log_likelihood = branch_solver_value(c->solver);
    return isfinite(c->log_likelihood) ? ART_OK : ART_ERR_NUMERIC;
}

/* ---- branches ---- */

static double branch_x(const joint_chain *c, int32_t v)
{
    return c->solver->branch[v].cbrt_length;
}

static double branch_length(const joint_chain *c, int32_t v)
{
    return length_scale_length(branch_x(c, v));
}

static branch_place place_of(const joint_chain *c, int32_t v)
{
    return branch_place_of(topology_is_external(&c->solver->tree, v));
}

/* The length of all branches but the one above v, if the prior asks. */
static double rest_of(const joint_chain *c, int32_t v)
{
    return branch_prior_is_coupled(c->problem->prior)
               ? branch_solver_length(c->solver) - branch_length(c, v)
               : 0;
}

static bool is_length(double x)
{
    const double length = length_scale_length(x);
    return length >= BRANCH_SHORTEST && length <= BRANCH_LONGEST;
}

/* Whether both parts of a branch that is cut at a share are long enough. */
static bool is_cut(double length, double share)
{
    return is_length(length_scale_x(share * length)) &&
           is_length(length_scale_x((1 - share) * length));
}

/* ---- walks ---- */

/* The partial where two branches meet. */
static const partial *meet(joint_chain *c, int slot, const partial *x, const double *px,
                           const partial *y, const double *py)
{
    partial *out = &c->store.item[slot];
    partial_join(out, x, px, y, py, c->problem);
    return out;
}

/* The densities of the length of the branch above v after topology_nni(v, which). */
static void fit_interchange(joint_chain *c, int32_t v, int which, double rest)
{
    const branch_solver *s = c->solver;
    const topology *t = &s->tree;
    const int32_t a = topology_sibling(t, v), b = t->child[v][!which];
    const int32_t beside = t->child[v][which], above = t->parent[v];
    const partial *lower = meet(c, 0, &s->down[a], branch_transition_at(s, a), &s->down[b],
                                branch_transition_at(s, b));
    const partial *upper = meet(c, 1, &s->down[beside], branch_transition_at(s, beside),
                                branch_outside(s, above), branch_transition_at(s, above));
    length_density_fit(&c->density[1 + which], lower, upper, BRANCH_INTERNAL, rest);
}

/* A new length of the branch above v, and if it is an inner one a new resolution. */
static void visit(joint_chain *c, int32_t v, rng *r)
{
    branch_solver *s = c->solver;
    const int count = topology_has_nni(&s->tree, v) ? RESOLUTIONS : 1;
    const joint_kind kind = count > 1 ? JOINT_RESOLUTION : JOINT_LENGTH;
    const double rest = rest_of(c, v), old = branch_x(c, v);
    double log_weight[RESOLUTIONS];
    local_fit_need(c->fit, v, 0);
    local_fit_need(c->fit, v, 1);
    length_density_fit(&c->density[0], &s->down[v], branch_outside(s, v), place_of(c, v), rest);
    if (count > 1)
        local_fit_around(c->fit, v);
    for (int which = 0; which < count - 1; which++)
        fit_interchange(c, v, which, rest);
    for (int i = 0; i < count; i++)
        log_weight[i] = isfinite(c->density[i].log_weight) ? c->density[i].log_weight : -HUGE_VAL;
    const int choice = rng_choose(r, log_weight, count);
    length_density *from = &c->density[0], *to = &c->density[choice];
    const double x = to->mode + to->deviation * rng_normal(r), u = rng_uniform(r);
    c->counts.tried[kind]++;
    if (!is_length(x))
        return;
    const double value = branch_edge_log_likelihood(&to->edge, x);
    const double here = branch_edge_log_likelihood(&from->edge, old);
    const double there =
        value + length_density_prior(to, x) - log_weight[choice] - length_density_proposal(to, x);
    const double back =
        here + length_density_prior(from, old) - log_weight[0] - length_density_proposal(from, old);
    c->log_likelihood = here;
    if (!(log(u) < there - back))
        return;
    c->counts.accepted[kind]++;
    c->counts.moved += choice > 0;
    c->log_likelihood = value;
    if (choice)
        local_fit_interchange(c->fit, v, choice - 1);
    local_fit_set_length(c->fit, v, x);
}

static void walk(joint_chain *c, rng *r)
{
    const topology *t = &c->solver->tree;
    const uint32_t start = rng_below(r, 2 * (uint32_t)c->problem->n_edges);
    int32_t v = 1 + (int32_t)(start / 2);
    int up = start % 2;
    for (int i = 0; i < c->set.walk * c->problem->n_edges; i++, topology_tour_next(t, &v, &up))
        if (!up)
            visit(c, v, r);
}

/* ---- subtrees ---- */

static const partial *beyond(joint_chain *c, const subtree_place *p)
{
    local_fit_need(c->fit, p->node, p->up);
    return p->up ? branch_outside(c->solver, p->node) : &c->solver->down[p->node];
}

static const double *transition(joint_chain *c, int which, double length)
{
    double *out = c->transition + (size_t)which * c->problem->total.transition;
    branch_posterior_transitions(out, c->problem, length);
    return out;
}

typedef struct subtree_move {
    int32_t v, hinge, beside;
    double merged; /* length of place 0 */
    double rest;   /* of all lengths but that of the part's branch */
} subtree_move;

static double place_length(const joint_chain *c, const subtree_move *m, int i)
{
    return i ? branch_length(c, c->places.item[i].node) : m->merged;
}

/* What the prior makes of place i if it is cut into two, at a share of it from below, in the
 * measure of its length and of the share. */
static double cut_prior(const joint_chain *c, const subtree_move *m, int i, double share)
{
    const branch_prior prior = c->problem->prior;
    const topology *t = &c->solver->tree;
    const int32_t node = c->places.item[i].node;
    const branch_place lower = branch_place_of(node < t->n_taxa);
    const branch_place upper = branch_place_of(t->parent[i ? node : m->hinge] == 0);
    const branch_place whole = lower == BRANCH_EXTERNAL ? lower : upper;
    const double length = place_length(c, m, i);
    return log(length) + branch_prior_log_density(prior, share * length, lower) +
           branch_prior_log_density(prior, (1 - share) * length, upper) -
           branch_prior_log_density(prior, length, whole);
}

/* Scores place i and those that follow it, as far as they are wanted; near is the partial at its
 * near end, for place 0 that above it. */
static void score_places(joint_chain *c, const subtree_move *m, int i, const partial *near)
{
    branch_solver *s = c->solver;
    subtree_place *p = &c->places.item[i];
    const double length = place_length(c, m, i);
    const partial *far = beyond(c, p);
    if (p->is_near) {
        const double *half = transition(c, 0, length / 2);
        const partial *middle = meet(c, 0, near, half, far, half);
        length_density_fit(&c->density[0], &s->down[m->v], middle, place_of(c, m->v), m->rest);
        const double score = c->density[0].log_weight + cut_prior(c, m, i, 0.5);
        p->score = isfinite(score) ? score : -HUGE_VAL;
    }
    for (int k = i + 1; k < c->places.count; k++) {
        const subtree_place *next = &c->places.item[k];
        if (next->before != i || !next->is_needed)
            continue;
        /* those that follow at the same end are listed in pairs, from number 1 on */
        const subtree_place *other = &c->places.item[k % 2 ? k + 1 : k - 1];
        const bool is_above = i == 0 && next->side == 1;
        meet(c, next->depth, is_above ? far : near, transition(c, 1, length), beyond(c, other),
             branch_transition_at(s, other->node));
        score_places(c, m, k, &c->store.item[next->depth]);
    }
}

static void fit_part(joint_chain *c, const subtree_move *m)
{
    local_fit_need(c->fit, m->v, 0);
    local_fit_need(c->fit, m->v, 1);
    length_density_fit(&c->density[0], &c->solver->down[m->v], branch_outside(c->solver, m->v),
                       place_of(c, m->v), m->rest);
}

/* Puts the part into the place at a share of its length. */
static void put(joint_chain *c, const subtree_move *m, int to, double share)
{
    branch_solver *s = c->solver;
    const double length = place_length(c, m, to);
    const int32_t w = c->places.item[to].node;
    if (to) {
        for (int32_t u = 1; u < topology_nodes(c->problem->n_taxa); u++)
            c->length[u] = 0; /* only the tree is wanted of it */
        topology_spr(&s->tree, c->length, m->v, w);
        s->branch[m->beside].cbrt_length = length_scale_x(m->merged);
    }
    s->branch[w].cbrt_length = length_scale_x(share * length);
    s->branch[m->hinge].cbrt_length = length_scale_x((1 - share) * length);
}

/* Draws one of the places that were scored. */
static int draw_place(const joint_chain *c, rng *r)
{
    double score[SUBTREE_NEAR];
    int number[SUBTREE_NEAR], n = 0;
    for (int i = 0; i < c->places.count; i++)
        if (c->places.item[i].is_near) {
            score[n] = c->places.item[i].score;
            number[n++] = i;
        }
    return number[rng_choose(r, score, n)];
}

static void move_subtree(joint_chain *c, int32_t v, rng *r)
{
    branch_solver *s = c->solver;
    const topology *t = &s->tree;
    subtree_move m = {.v = v, .hinge = t->parent[v], .beside = topology_sibling(t, v)};
    const double old = branch_x(c, v), lower = branch_length(c, m.beside);
    m.merged = lower + branch_length(c, m.hinge);
    m.rest = rest_of(c, v);
    c->counts.tried[JOINT_SUBTREE]++;
    fit_part(c, &m);
    subtree_places_list(&c->places, t, v, 2 * c->set.radius);
    double back = length_density_ratio(&c->density[0], old) + cut_prior(c, &m, 0, lower / m.merged);
    const int count = subtree_places_within(&c->places, c->set.radius);
    subtree_places_mark(&c->places, (int)rng_below(r, (uint32_t)count), c->set.radius);
    local_fit_need(c->fit, m.hinge, 1);
    score_places(c, &m, 0, branch_outside(s, m.hinge));
    back -= c->places.item[0].score;
    const int to = draw_place(c, r);
    const double share = rng_uniform(r), step = rng_normal(r), u = rng_uniform(r);
    double there = cut_prior(c, &m, to, share) - c->places.item[to].score;
    if (!is_cut(place_length(c, &m, to), share))
        return;
    local_fit_mark(c->fit);
    put(c, &m, to, share);
    local_fit_compare(c->fit);
    fit_part(c, &m);
    subtree_places_list(&c->places, t, v, c->set.radius);
    const double x = c->density[0].mode + c->density[0].deviation * step;
    there += is_length(x) ? length_density_ratio(&c->density[0], x) : -HUGE_VAL;
    if (!(log(u) < there - back + log((double)count / c->places.count))) {
        local_fit_undo(c->fit);
        return;
    }
    c->counts.accepted[JOINT_SUBTREE]++;
    c->counts.moved += to > 0;
    c->log_likelihood = branch_edge_log_likelihood(&c->density[0].edge, x);
    local_fit_set_length(c->fit, v, x);
}

/* A node that is not at the top. */
static int32_t draw_part(const joint_chain *c, rng *r)
{
    const topology *t = &c->solver->tree;
    const int32_t v = 1 + (int32_t)rng_below(r, (uint32_t)c->problem->n_edges - 1);
    return v + (v >= t->child[0][0]);
}

/* ---- the chain ---- */

static void step(joint_chain *c, uint64_t seed, uint32_t chain)
{
    rng r = rng_at(seed, RNG_CHAIN, (uint32_t)c->counts.steps, chain);
    if (rng_uniform(&r) < c->set.subtrees)
        move_subtree(c, draw_part(c, &r), &r);
    else
        walk(c, &r);
    c->counts.steps++;
}

static void move_all(joint_chain *c, rng *r)
{
    const int n = (int)n_free(c);
    const double scale = STEP[rng_below(r, STEPS)] * BEST_STEP / sqrt((double)n);
    for (int j = 0; j < n; j++) {
        const double normal = rng_normal(r);
        for (int i = j; i < n; i++)
            c->proposed[i] += scale * c->factor[i * n + j] * normal;
    }
}

static void move_single(joint_chain *c, rng *r)
{
    const int n = (int)n_free(c), i = (int)rng_below(r, (uint32_t)n);
    double variance = 0;
    for (int j = 0; j <= i; j++)
        variance += c->factor[i * n + j] * c->factor[i * n + j];
    c->proposed[i] += SINGLE_STEP[rng_below(r, STEPS)] * BEST_STEP * sqrt(variance) * rng_normal(r);
}

/* z' and the factor of the lengths; the logarithm of the latter is returned, NaN if z' is out of
 * bounds. */
static double propose_parameters(joint_chain *c, rng *r)
{
    const int n = (int)n_free(c);
    memcpy(c->proposed, c->parameter, (size_t)n * sizeof *c->proposed);
    if (rng_below(r, 2))
        move_all(c, r);
    else
        move_single(c, r);
    const double grown = LENGTH_STEP / sqrt((double)c->problem->n_edges) * rng_normal(r);
    for (int i = 0; i < n; i++)
        if (!(c->proposed[i] >= c->low[i] && c->proposed[i] <= c->high[i]))
            return NAN;
    return grown;
}

/* The tree has its canonical numbering. */
static void step_parameters(joint_chain *c, rng *r)
{
    branch_solver *s = c->solver;
    const block_parameters *free = &c->problem->free;
    const size_t n = n_free(c);
    const int n_edges = c->problem->n_edges, n_taxa = c->problem->n_taxa;
    const double grown = propose_parameters(c, r), u = rng_uniform(r);
    const double before = branch_solver_density(s, c->log_likelihood) +
                          block_parameters_log_prior(free, c->parameter);
    c->counts.tried[JOINT_PARAMETERS]++;
    if (isnan(grown))
        return;
    double *x = c->length; /* [E], which is less than the nodes */
    for (int e = 0; e < n_edges; e++) {
        x[e] = length_scale_resize(branch_x(c, edge_node(e, n_taxa)), exp(grown));
        if (!is_length(x[e]))
            return;
    }
    local_fit_mark(c->fit);
    branch_posterior_move(&c->view, c->proposed);
    branch_solver_move(s, x);
    const double value = branch_solver_value(s);
    const double after =
        branch_solver_density(s, value) + block_parameters_log_prior(free, c->proposed);
    if (log(u) < after - before + n_edges * grown / 3) { /* db/dx goes with the cube root */
        c->counts.accepted[JOINT_PARAMETERS]++;
        c->log_likelihood = value;
        memcpy(c->parameter, c->proposed, n * sizeof *c->parameter);
    } else {
        branch_posterior_move(&c->view, c->parameter);
        for (int e = 0; e < n_edges; e++)
            x[e] = local_fit_marked(c->fit, edge_node(e, n_taxa));
        branch_solver_move(s, x);
    }
    local_fit_reset(c->fit);
}

int joint_chain_block(joint_chain *c, uint64_t seed, uint32_t chain, const interrupt *stop)
{
    rng r = rng_at(seed, RNG_CHAIN_BLOCK, (uint32_t)c->counts.blocks, chain);
    for (int i = 0; i < c->set.block && (i == 0 || !interrupt_is_due(stop)); i++)
        step(c, seed, chain);
    local_fit_keep(c->fit, c->decision);
    for (int i = 0; n_free(c) && i < c->set.parameters && !interrupt_is_due(stop); i++)
        step_parameters(c, &r);
    c->counts.blocks++;
    return isfinite(c->log_likelihood) ? ART_OK : ART_ERR_NUMERIC;
}

const int32_t *joint_chain_decision(const joint_chain *c)
{
    return c->decision;
}

void joint_chain_lengths(double *length, const joint_chain *c)
{
    branch_solver_lengths(length, c->solver);
}

double joint_chain_log_likelihood(const joint_chain *c)
{
    return c->log_likelihood;
}

double joint_chain_log_density(const joint_chain *c)
{
    return branch_solver_density(c->solver, c->log_likelihood);
}

const joint_counts *joint_chain_counts(const joint_chain *c)
{
    return &c->counts;
}

const double *joint_chain_parameters(const joint_chain *c)
{
    return c->parameter;
}

void joint_chain_save(joint_state *out, const joint_chain *c)
{
    const branch_posterior *p = c->problem;
    memcpy(out->decision, c->decision, ((size_t)p->n_taxa - 3) * sizeof *c->decision);
    memcpy(out->parameter, c->parameter, n_free(c) * sizeof *c->parameter);
    for (int e = 0; e < p->n_edges; e++)
        out->cbrt_length[e] = branch_x(c, edge_node(e, p->n_taxa));
    out->log_likelihood = c->log_likelihood;
    out->counts = c->counts;
}

static bool is_state(const joint_state *in, const joint_chain *c)
{
    const branch_posterior *p = c->problem;
    if (!decisions_are_trees(in->decision, 1, p->n_taxa) || !isfinite(in->log_likelihood) ||
        in->counts.steps < 0 || in->counts.blocks < 0)
        return false;
    for (size_t i = 0; i < n_free(c); i++)
        if (!(in->parameter[i] >= c->low[i] && in->parameter[i] <= c->high[i]))
            return false;
    for (int e = 0; e < p->n_edges; e++)
        if (!is_length(in->cbrt_length[e]))
            return false;
    return true;
}

int joint_chain_load(joint_chain *c, const joint_state *in)
{
    if (!is_state(in, c))
        return ART_ERR_USAGE;
    memcpy(c->decision, in->decision, ((size_t)c->problem->n_taxa - 3) * sizeof *c->decision);
    set_parameters(c, in->parameter);
    branch_solver_set(c->solver, in->decision, in->cbrt_length); /* lengths follow */
    branch_solver_move(c->solver, in->cbrt_length);
    local_fit_reset(c->fit);
    c->log_likelihood = in->log_likelihood;
    c->counts = in->counts;
    return ART_OK;
}
