#include "chain/tree_chain.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "branch/branch_moves.h"
#include "branch/length_guess.h"
#include "branch/length_scale.h"
#include "tree/rearrange.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RESOLUTIONS = 3 };

/* A branch: the probabilities of its three resolutions, the present one first, and the lengths that
 * the other two begin with. */
typedef struct resolved_branch {
    double probability[RESOLUTIONS];
    int32_t node[RESOLUTIONS - 1][NNI_BRANCHES];
    double length[RESOLUTIONS - 1][NNI_BRANCHES];
} resolved_branch;

struct tree_chain {
    const branch_posterior *problem;
    chain_settings set;
    branch_solver *solver;
    local_fit *fit;
    branch_moves *moves;
    length_guess *guess; /* for jumps */
    double beta;
    chain_counts counts;
    int32_t *decision;   /* [N-3] of the state */
    int32_t *proposed;   /* [N-3] */
    bool is_renumbered;  /* the tree has been rearranged since its numbering was canonical */
    int32_t *place;      /* [nodes] where a subtree may be put; 0 is where it is */
    double *probability; /* [nodes] */
    int n_places;
    double *length;    /* [nodes] */
    chain_state begin; /* of the block */
};

int chain_state_init(chain_state *s, const branch_posterior *p)
{
    memset(s, 0, sizeof *s);
    s->decision = mem_zeros((size_t)p->n_taxa - 3, sizeof *s->decision);
    s->cbrt_length = mem_zeros((size_t)p->n_edges, sizeof *s->cbrt_length);
    s->curvature = mem_zeros((size_t)p->n_edges, sizeof *s->curvature);
    if (s->decision && s->cbrt_length && s->curvature)
        return ART_OK;
    chain_state_free(s);
    return ART_ERR_NOMEM;
}

void chain_state_free(chain_state *s)
{
    free(s->decision);
    free(s->cbrt_length);
    free(s->curvature);
    memset(s, 0, sizeof *s);
}

chain_settings chain_defaults(void)
{
    return (chain_settings){
        .walk = 0.2,
        .subtrees = 0.2,
        .radius = 5,
        .far = 0.1,
        .far_radius = 15,
        .tolerance = 1e-4,
        .block = 50,
        .local = 1,
        .near = 0.01,
        .rings = 1,
    };
}

size_t tree_chain_memory(const branch_posterior *p, const chain_settings *set)
{
    const size_t nodes = (size_t)topology_nodes(p->n_taxa);
    return branch_solver_memory(p) + local_fit_memory(p) + branch_moves_memory(p, set->far_radius) +
           length_guess_memory(p->n_taxa) + nodes * (4 * sizeof(double) + 4 * sizeof(int32_t));
}

int tree_chain_create(tree_chain **out, const branch_posterior *p, const chain_settings *set)
{
    *out = NULL;
    if (p->n_taxa < 4 || set->block < 1 || set->radius < 1 || set->far_radius < set->radius ||
        !(set->tolerance > 0) || !(set->near > 0) || (set->jump > 0 && !set->jumps.propose) ||
        (set->redraw > 0 && !set->jumps.redraw))
        return ART_ERR_USAGE;
    tree_chain *c = mem_zeros(1, sizeof *c);
    if (!c)
        return ART_ERR_NOMEM;
    const size_t nodes = (size_t)topology_nodes(p->n_taxa), decisions = (size_t)p->n_taxa - 3;
    int status;
    c->problem = p;
    c->set = *set;
    c->beta = 1;
    if ((status = branch_solver_create(&c->solver, p)) ||
        (status = local_fit_create(&c->fit, c->solver)) ||
        (status = branch_moves_create(&c->moves, p, set->far_radius)) ||
        (status = length_guess_create(&c->guess, p->n_taxa)) ||
        (status = chain_state_init(&c->begin, p)))
        goto out;
    branch_moves_begin(c->moves, c->solver);
    status = ART_ERR_NOMEM;
    c->decision = mem_zeros(decisions, sizeof *c->decision);
    c->proposed = mem_zeros(decisions, sizeof *c->proposed);
    c->place = mem_zeros(nodes, sizeof *c->place);
    c->probability = mem_zeros(nodes, sizeof *c->probability);
    c->length = mem_zeros(nodes, sizeof *c->length);
    if (!c->decision || !c->proposed || !c->place || !c->probability || !c->length)
        goto out;
    *out = c;
    return ART_OK;
out:
    tree_chain_free(c);
    return status;
}

void tree_chain_free(tree_chain *c)
{
    if (!c)
        return;
    branch_moves_free(c->moves);
    length_guess_free(c->guess);
    local_fit_free(c->fit);
    branch_solver_free(c->solver);
    free(c->decision);
    free(c->proposed);
    free(c->place);
    free(c->probability);
    free(c->length);
    chain_state_free(&c->begin);
    free(c);
}

static int32_t n_nodes(const tree_chain *c)
{
    return topology_nodes(c->problem->n_taxa);
}

int tree_chain_start(tree_chain *c, const int32_t *decision, const double *length)
{
    memcpy(c->decision, decision, ((size_t)c->problem->n_taxa - 3) * sizeof *decision);
    c->counts = (chain_counts){0};
    c->beta = 1;
    c->is_renumbered = false;
    branch_solver_set(c->solver, decision, length);
    return local_fit_whole(c->fit, c->set.tolerance);
}

/* The fit of a tree that is a change of the state. */
static int refit(tree_chain *c)
{
    const int status = c->set.local ? local_fit_near(c->fit, c->set.near, c->set.rings)
                                    : local_fit_whole(c->fit, c->set.tolerance);
    c->counts.failed += status != ART_OK;
    return status;
}

/* Probabilities proportional to exp(beta score), in place. */
static void normalise(double *score, int count, double beta)
{
    double top = -HUGE_VAL, sum = 0;
    for (int i = 0; i < count; i++)
        top = fmax(top, score[i]);
    for (int i = 0; i < count; i++)
        sum += score[i] = exp(beta * (score[i] - top)); /* a score that is none counts 0 .. */
    for (int i = 0; i < count; i++)
        score[i] /= sum;
}

/* .. like one of -inf. */
static double as_score(double score)
{
    return isfinite(score) ? score : -HUGE_VAL;
}

/* Scores the resolutions of the branch above v. */
static void score_branch(tree_chain *c, resolved_branch *b, int32_t v)
{
    local_fit_around(c->fit, v);
    b->probability[0] = c->solver->laplace;
    for (int which = 0; which < 2; which++) {
        b->probability[1 + which] =
            as_score(branch_moves_nni(c->moves, v, which, c->solver->laplace));
        branch_moves_fitted(b->node[which], b->length[which], c->moves);
    }
    normalise(b->probability, RESOLUTIONS, c->beta);
}

void tree_chain_interchange(tree_chain *c, chain_proposal *out, int32_t v, chain_choose *choose,
                            void *context)
{
    branch_solver *s = c->solver;
    resolved_branch there, back;
    *out = (chain_proposal){0};
    score_branch(c, &there, v);
    const int choice = choose(context, there.probability, RESOLUTIONS), which = choice - 1;
    out->log_forward = log(there.probability[choice]);
    out->moved = choice != 0;
    if (!out->moved)
        return;
    const double g = s->laplace;
    local_fit_mark(c->fit);
    topology_nni(&s->tree, v, which);
    for (int k = 0; k < NNI_BRANCHES; k++)
        s->branch[there.node[which][k]].cbrt_length = length_scale_x(there.length[which][k]);
    out->log_ratio = -HUGE_VAL;
    if (refit(c) != ART_OK)
        return;
    score_branch(c, &back, v);
    out->log_ratio = c->beta * (s->laplace - g) + log(back.probability[choice]) - out->log_forward;
}

static void visit_place(void *context, int32_t v, int32_t w, double score)
{
    tree_chain *c = context;
    (void)v;
    c->place[c->n_places] = w;
    c->probability[c->n_places++] = as_score(score);
}

static void score_places(tree_chain *c, int32_t v, int up, int radius)
{
    c->place[0] = 0;
    c->probability[0] = c->solver->laplace;
    c->n_places = 1;
    local_fit_reach(c->fit, v, up, radius);
    branch_moves_reach(c->moves, radius, HUGE_VAL);
    branch_moves_places(c->moves, v, up, c->solver->laplace, visit_place, c);
    normalise(c->probability, c->n_places, c->beta);
}

/* The branch of the tree after topology_spr(v, w) into which the part is put to take it back: the
 * one that the cut makes of two. It is known by the node below it. */
static int32_t place_back(const topology *t, int32_t v, int32_t w, int up)
{
    if (!up)
        return topology_sibling(t, v);
    int32_t below = w;
    while (t->parent[below] != v)
        below = t->parent[below];
    return topology_sibling(t, below);
}

/* Parts: below every node but the top, and above every inner node. */
static void part_of(int32_t *v, int *up, const topology *t, int32_t part)
{
    const int32_t below = topology_nodes(t->n_taxa) - 2; /* taxon 0 and the top are not below */
    *up = part >= below;
    if (*up) {
        *v = t->n_taxa + part - below;
    } else {
        *v = 1 + part;
        if (*v >= t->child[0][0])
            ++*v;
    }
}

void tree_chain_subtree(tree_chain *c, chain_proposal *out, int32_t part, int radius,
                        chain_choose *choose, void *context)
{
    branch_solver *s = c->solver;
    topology *t = &s->tree;
    int32_t v;
    int up;
    *out = (chain_proposal){0};
    part_of(&v, &up, t, part);
    score_places(c, v, up, radius);
    const int choice = choose(context, c->probability, c->n_places);
    out->log_forward = log(c->probability[choice]);
    if (choice == 0)
        return;
    const double g = s->laplace;
    const int32_t w = c->place[choice], back = place_back(t, v, w, up);
    out->moved = 1;
    local_fit_mark(c->fit);
    for (int32_t u = 1; u < n_nodes(c); u++)
        c->length[u] = length_scale_length(s->branch[u].cbrt_length);
    topology_spr(t, c->length, v, w);
    for (int32_t u = 1; u < n_nodes(c); u++)
        if (c->length[u] != length_scale_length(s->branch[u].cbrt_length))
            s->branch[u].cbrt_length = length_scale_x(c->length[u]);
    out->log_ratio = -HUGE_VAL;
    if (refit(c) != ART_OK)
        return;
    score_places(c, v, up, radius);
    for (int i = 1; i < c->n_places; i++)
        if (c->place[i] == back)
            out->log_ratio = c->beta * (s->laplace - g) + log(c->probability[i]) - out->log_forward;
}

void tree_chain_jump(tree_chain *c, chain_proposal *out, const int32_t *decision, double log_q)
{
    branch_solver *s = c->solver;
    const size_t bytes = ((size_t)c->problem->n_taxa - 3) * sizeof *decision;
    *out =
        (chain_proposal){.log_forward = log_q, .moved = memcmp(decision, c->decision, bytes) != 0};
    if (!out->moved)
        return;
    const double g = s->laplace;
    local_fit_mark(c->fit);
    branch_solver_lengths(c->length, s);
    length_guess_set(c->guess, c->decision, c->length);
    length_guess_fill(c->length, c->guess, decision);
    branch_solver_set(s, decision, c->length);
    const int status = local_fit_whole(c->fit, c->set.tolerance);
    c->counts.failed += status != ART_OK;
    if (status != ART_OK)
        out->log_ratio = -HUGE_VAL;
    else
        out->log_ratio = c->beta * (s->laplace - g) +
                         c->set.jumps.log_q(c->set.jumps.context, c->decision) - log_q;
}

void tree_chain_redraw(tree_chain *c, chain_proposal *out, int32_t v, rng *r)
{
    branch_solver *s = c->solver;
    const double g = s->laplace;
    double log_ratio;
    *out = (chain_proposal){0};
    local_fit_mark(c->fit);
    out->moved = c->set.jumps.redraw(c->set.jumps.context, &s->tree, v, &log_ratio, r);
    if (!out->moved)
        return;
    out->log_ratio = refit(c) == ART_OK ? c->beta * (s->laplace - g) + log_ratio : -HUGE_VAL;
}

void tree_chain_settle(tree_chain *c, const chain_proposal *proposal, int accept)
{
    if (!proposal->moved)
        return;
    if (accept)
        c->is_renumbered = true;
    else
        local_fit_undo(c->fit);
}

void tree_chain_number(tree_chain *c)
{
    if (c->is_renumbered)
        local_fit_keep(c->fit, c->decision);
    c->is_renumbered = false;
}

/* An outcome by one random number. */
static int choose_at_random(void *context, const double *probability, int count)
{
    double u = rng_uniform(context);
    int last = 0;
    for (int i = 0; i < count; i++) {
        if (probability[i] > 0)
            last = i;
        u -= probability[i];
        if (u < 0)
            return i;
    }
    return last; /* roundings of the sum */
}

/* Accepts or rejects a proposal; returns which. */
static int decide(tree_chain *c, const chain_proposal *p, chain_kind kind, rng *r)
{
    const int accept = p->moved && log(rng_uniform(r)) < p->log_ratio;
    c->counts.tried[kind]++;
    c->counts.moved[kind] += p->moved;
    c->counts.accepted[kind] += accept;
    tree_chain_settle(c, p, accept);
    return accept;
}

/* Walks along the tour from a random directed branch and interchanges at the inner branches on the
 * way. Returns how many interchanges were made. */
static int walk(tree_chain *c, rng *r, const interrupt *stop)
{
    const topology *t = &c->solver->tree;
    const uint32_t start = rng_below(r, 2 * (uint32_t)c->problem->n_edges);
    int32_t v = 1 + (int32_t)(start / 2);
    int up = start % 2, changes = 0;
    for (int i = 0; i < c->set.walk * c->problem->n_edges; i++, topology_tour_next(t, &v, &up)) {
        if (up || !topology_has_nni(t, v))
            continue;
        if (interrupt_is_due(stop))
            break;
        chain_proposal p;
        tree_chain_interchange(c, &p, v, choose_at_random, r);
        changes += decide(c, &p, CHAIN_INTERCHANGE, r);
    }
    return changes;
}

/* Returns whether the tree has changed. */
static int step(tree_chain *c, uint64_t seed, uint32_t chain, const interrupt *stop)
{
    rng r = rng_at(seed, RNG_CHAIN, (uint32_t)c->counts.steps, chain);
    const double kind = rng_uniform(&r);
    chain_proposal p = {0};
    int changes = 0;
    if (kind < c->set.jump) {
        double log_q;
        tree_chain_number(c);
        if (c->set.jumps.propose(c->set.jumps.context, c->proposed, &log_q, &r) == ART_OK)
            tree_chain_jump(c, &p, c->proposed, log_q);
        changes = decide(c, &p, CHAIN_JUMP, &r);
    } else if (kind < c->set.jump + c->set.subtrees) {
        const uint32_t parts = 3 * (uint32_t)c->problem->n_taxa - 6;
        const int radius = rng_uniform(&r) < c->set.far ? c->set.far_radius : c->set.radius;
        tree_chain_subtree(c, &p, (int32_t)rng_below(&r, parts), radius, choose_at_random, &r);
        changes = decide(c, &p, CHAIN_SUBTREE, &r);
    } else if (kind < c->set.jump + c->set.subtrees + c->set.redraw) {
        const int32_t n_taxa = c->problem->n_taxa;
        tree_chain_redraw(c, &p, n_taxa + (int32_t)rng_below(&r, (uint32_t)n_taxa - 2), &r);
        changes = decide(c, &p, CHAIN_REDRAW, &r);
    } else {
        changes = walk(c, &r, stop);
    }
    c->counts.steps++;
    return changes;
}

/* The fit of all branches at the end of a block in which the tree changed, and whether the block
 * stands. */
static int conclude_block(tree_chain *c, rng *r)
{
    const double g = c->solver->laplace;
    const int status = local_fit_whole(c->fit, c->set.tolerance);
    const double change = c->solver->laplace - g;
    if (status)
        return status;
    c->counts.drift = fmax(c->counts.drift, fabs(change));
    c->counts.drift_squares += change * change;
    if (log(rng_uniform(r)) < c->beta * change)
        return ART_OK;
    const chain_counts counts = c->counts;
    const int loaded = tree_chain_load(c, &c->begin);
    c->counts = counts;
    c->counts.returned++;
    return loaded;
}

int tree_chain_block(tree_chain *c, uint64_t seed, uint32_t chain, const interrupt *stop)
{
    rng r = rng_at(seed, RNG_CHAIN_BLOCK, (uint32_t)c->counts.blocks, chain);
    if (c->set.local)
        tree_chain_save(&c->begin, c);
    int changes = 0;
    for (int i = 0; i < c->set.block && !interrupt_is_due(stop); i++)
        changes += step(c, seed, chain, stop);
    tree_chain_number(c);
    const int status = c->set.local && changes ? conclude_block(c, &r) : ART_OK;
    c->counts.blocks++;
    return status;
}

double tree_chain_laplace(const tree_chain *c)
{
    return c->solver->laplace;
}

const int32_t *tree_chain_decision(const tree_chain *c)
{
    return c->decision;
}

void tree_chain_lengths(double *length, const tree_chain *c)
{
    branch_solver_lengths(length, c->solver);
}

const chain_counts *tree_chain_counts(const tree_chain *c)
{
    return &c->counts;
}

const local_fit_work *tree_chain_work(const tree_chain *c)
{
    return local_fit_counts(c->fit);
}

double tree_chain_beta(const tree_chain *c)
{
    return c->beta;
}

void tree_chain_set_beta(tree_chain *c, double beta)
{
    c->beta = beta;
}

void tree_chain_save(chain_state *out, const tree_chain *c)
{
    const branch_posterior *p = c->problem;
    memcpy(out->decision, c->decision, ((size_t)p->n_taxa - 3) * sizeof *c->decision);
    for (int e = 0; e < p->n_edges; e++) {
        const branch_state *b = &c->solver->branch[edge_node(e, p->n_taxa)];
        out->cbrt_length[e] = b->cbrt_length;
        out->curvature[e] = b->curvature;
    }
    out->log_likelihood = c->solver->log_likelihood;
    out->log_density = c->solver->log_density;
    out->laplace = c->solver->laplace;
    out->beta = c->beta;
    out->counts = c->counts;
}

static int is_state(const chain_state *in, const branch_posterior *p)
{
    if (!decisions_are_trees(in->decision, 1, p->n_taxa) || !(in->beta > 0) ||
        !isfinite(in->laplace) || in->counts.steps < 0)
        return 0;
    for (int e = 0; e < p->n_edges; e++)
        if (!(in->cbrt_length[e] > 0 && isfinite(in->cbrt_length[e]) && in->curvature[e] > 0))
            return 0;
    return 1;
}

int tree_chain_load(tree_chain *c, const chain_state *in)
{
    const branch_posterior *p = c->problem;
    branch_solver *s = c->solver;
    if (!is_state(in, p))
        return ART_ERR_USAGE;
    memcpy(c->decision, in->decision, ((size_t)p->n_taxa - 3) * sizeof *c->decision);
    branch_solver_set(s, in->decision, in->cbrt_length); /* lengths follow */
    branch_solver_move(s, in->cbrt_length);
    for (int e = 0; e < p->n_edges; e++)
        s->branch[edge_node(e, p->n_taxa)].curvature = in->curvature[e];
    s->log_likelihood = in->log_likelihood;
    s->log_density = in->log_density;
    s->laplace = in->laplace;
    c->beta = in->beta;
    c->counts = in->counts;
    c->is_renumbered = false;
    local_fit_reset(c->fit);
    return ART_OK;
}
