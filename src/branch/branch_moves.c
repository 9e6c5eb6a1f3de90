#include "branch/branch_moves.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "branch/length_prior.h"
#include "branch/length_scale.h"
#include "tree/rearrange.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A branch of a move, with a length and transitions of its own. */
typedef struct move_branch {
    const partial *end; /* the partial at its far end */
    branch_state state;
    branch_place place;
    double *transition;
} move_branch;

struct branch_moves {
    const branch_posterior *problem;
    const branch_solver *solver;
    local_fit *fit; /* NULL, or what knows which partials are current */
    int radius, most_radius;
    double valley;
    branch_edge edge;
    partial_store store; /* [3 + radius] */
    double *transition;  /* [NNI_BRANCHES][transition], of all blocks */
    move_branch branch[NNI_BRANCHES];
    int32_t node[NNI_BRANCHES]; /* of the last interchange */
    branch_state moved;         /* the branch of a subtree move, before it is inserted anywhere */
    double base;                /* the score without the branches that change .. */
    length_total others;        /* .. and the length and spread of the others, if the prior asks */
    double cut_total;           /* the length of the tree before the moved branch is inserted .. */
    double total;               /* .. and of the tree that is being fitted, if the prior asks */
    double rough;               /* the score of the last move with one branch fitted */
    double cutoff;              /* of the subtree moves that are being scored */
    double worth;               /* the score from which on a subtree move is visited */
    int nearest;                /* the distance from which on insertions are scored */
    int32_t from;               /* the branch that is being moved, as the node below it */
    int64_t scored;
    branch_move_visit *visit;
    void *context;
};

int branch_moves_create(branch_moves **out, const branch_posterior *p, int radius)
{
    *out = NULL;
    branch_moves *m = mem_zeros(1, sizeof *m);
    if (!m)
        return ART_ERR_NOMEM;
    m->problem = p;
    m->radius = m->most_radius = radius;
    m->valley = HUGE_VAL;
    int status;
    if ((status = branch_edge_init(&m->edge, p)) ||
        (status = partial_store_init(&m->store, p, (size_t)radius + 3)))
        goto out;
    m->transition = mem_aligned(NNI_BRANCHES * p->total.transition, sizeof *m->transition);
    status = m->transition ? ART_OK : ART_ERR_NOMEM;
    if (status)
        goto out;
    for (int i = 0; i < NNI_BRANCHES; i++)
        m->branch[i].transition = m->transition + (size_t)i * p->total.transition;
    *out = m;
    return ART_OK;
out:
    branch_moves_free(m);
    return status;
}

void branch_moves_free(branch_moves *m)
{
    if (!m)
        return;
    branch_edge_free(&m->edge);
    partial_store_free(&m->store);
    free(m->transition);
    free(m);
}

size_t branch_moves_memory(const branch_posterior *p, int radius)
{
    return partial_store_memory(p, (size_t)radius + 3) + branch_edge_memory(p);
}

void branch_moves_begin(branch_moves *m, const branch_solver *s)
{
    m->solver = s;
    m->fit = NULL;
}

void branch_moves_follow(branch_moves *m, local_fit *l, const branch_solver *s)
{
    m->solver = s;
    m->fit = l;
}

void branch_moves_reach(branch_moves *m, int radius, double valley)
{
    m->radius = radius < m->most_radius ? radius : m->most_radius;
    m->valley = valley;
}

/* The contribution of a branch to the diagonal Laplace approximation, apart from the likelihood. */
static double own_part(const branch_moves *m, branch_state b, branch_place place)
{
    return length_prior_log_density(m->problem->prior, b.cbrt_length, place) +
           0.5 * log(2 * M_PI / b.curvature);
}

static branch_place place_of(const branch_moves *m, int32_t v)
{
    return branch_place_of(topology_is_external(&m->solver->tree, v));
}

/* The contribution of all branches together: of t and the first `count` of m->branch; 0 if they are
 * independent. */
static double shared_part(const branch_moves *m, length_total t, int count)
{
    const branch_posterior *p = m->problem;
    if (!branch_prior_is_coupled(p->prior))
        return 0;
    for (int i = 0; i < count; i++)
        length_total_add(&t, m->branch[i].state.cbrt_length, m->branch[i].state.curvature, 1);
    return branch_prior_total_log_density(p->prior, t.length, p->n_edges) -
           0.5 * length_total_determinant(p->prior, t, p->n_edges);
}

static void add(const branch_moves *m, length_total *t, branch_state b, double sign)
{
    if (branch_prior_is_coupled(m->problem->prior))
        length_total_add(t, b.cbrt_length, b.curvature, sign);
}

/* Begins with all branches of the solver's tree; returns their shared part. */
static double take_all(branch_moves *m)
{
    if (!branch_prior_is_coupled(m->problem->prior))
        return 0;
    m->others = branch_solver_total(m->solver);
    m->total = m->others.length;
    return shared_part(m, m->others, 0);
}

static void set_transition(branch_moves *m, move_branch *b)
{
    branch_posterior_transitions(b->transition, m->problem,
                                 length_scale_length(b->state.cbrt_length));
}

static void set_branch(branch_moves *m, move_branch *b, const partial *end, branch_state state)
{
    b->end = end;
    b->state = state;
    set_transition(m, b);
}

/* branch_edge_improve of m->edge, which is one of the branches that m->total is the length of. */
static void improve(branch_moves *m, branch_state *b, branch_place place)
{
    const bool is_coupled = branch_prior_is_coupled(m->problem->prior);
    if (is_coupled)
        branch_edge_place(&m->edge, place, m->total - length_scale_length(b->cbrt_length));
    branch_edge_improve(&m->edge, b, m->problem->set.enough);
    if (is_coupled)
        m->total = m->edge.rest + length_scale_length(b->cbrt_length);
}

/* The partial at the node where two branches meet. */
static const partial *join(branch_moves *m, int slot, const move_branch *a, const move_branch *b)
{
    partial *out = &m->store.item[slot];
    partial_join(out, a->end, a->transition, b->end, b->transition, m->problem);
    return out;
}

/* Fits the length of b, given the partial at its near end. */
static void fit(branch_moves *m, move_branch *b, const partial *near)
{
    branch_edge_set(&m->edge, b->end, near);
    improve(m, &b->state, b->place);
    set_transition(m, b);
}

/* a and b are at one end of the middle branch e, c and d at the other. e->end is the partial at
 * one end or the other, whichever the next join or fit needs. */
double branch_moves_nni(branch_moves *m, int32_t v, int which, double cutoff)
{
    const branch_solver *s = m->solver;
    const topology *t = &s->tree;
    enum { A, B, C, D, MIDDLE };
    m->node[A] = topology_sibling(t, v); /* comes below v, beside b */
    m->node[B] = t->child[v][!which];
    m->node[C] = t->child[v][which]; /* comes beside v */
    m->node[D] = t->parent[v];
    m->node[MIDDLE] = v;
    if (m->fit)
        local_fit_around(m->fit, v);
    double base = s->laplace - s->log_likelihood - take_all(m);
    for (int i = 0; i < NNI_BRANCHES; i++) {
        const branch_state state = s->branch[m->node[i]];
        m->branch[i].place = place_of(m, m->node[i]); /* the interchange does not change it */
        base -= own_part(m, state, m->branch[i].place);
        add(m, &m->others, state, -1);
        set_branch(m, &m->branch[i], i == D ? branch_outside(s, m->node[D]) : &s->down[m->node[i]],
                   state);
    }
    move_branch *a = &m->branch[A], *b = &m->branch[B], *c = &m->branch[C], *d = &m->branch[D];
    move_branch *e = &m->branch[MIDDLE];
    const partial *below = join(m, 0, a, b), *above = join(m, 1, c, d);
    e->end = below;
    fit(m, e, above);
    double score = base + branch_edge_log_likelihood(&m->edge, e->state.cbrt_length);
    for (int i = 0; i < NNI_BRANCHES; i++)
        score += own_part(m, m->branch[i].state, m->branch[i].place);
    score += shared_part(m, m->others, NNI_BRANCHES);
    m->rough = score;
    if (score < cutoff - m->problem->set.nni_slack)
        return score;
    fit(m, c, join(m, 2, e, d));
    fit(m, d, join(m, 2, e, c));
    above = join(m, 1, c, d);
    e->end = above;
    fit(m, a, join(m, 2, e, b));
    fit(m, b, join(m, 2, e, a));
    e->end = join(m, 0, a, b);
    fit(m, e, above);
    score = base + branch_edge_log_likelihood(&m->edge, e->state.cbrt_length);
    for (int i = 0; i < NNI_BRANCHES; i++)
        score += own_part(m, m->branch[i].state, m->branch[i].place);
    score += shared_part(m, m->others, NNI_BRANCHES);
    return score;
}

void branch_moves_fitted(int32_t node[NNI_BRANCHES], double length[NNI_BRANCHES],
                         const branch_moves *m)
{
    for (int i = 0; i < NNI_BRANCHES; i++) {
        node[i] = m->node[i];
        length[i] = length_scale_length(m->branch[i].state.cbrt_length);
    }
}

double branch_moves_rough(const branch_moves *m)
{
    return m->rough;
}

/* A branch with a direction: from its near end to its far end. */
typedef struct directed_branch {
    int32_t v; /* the branch above v .. */
    int up;    /* .. from its lower end to its upper end, if not 0; else downwards */
} directed_branch;

/* The partial at the far end. */
static const partial *partial_beyond(const branch_moves *m, directed_branch w)
{
    const branch_solver *s = m->solver;
    if (m->fit)
        local_fit_need(m->fit, w.v, w.up);
    return w.up ? branch_outside(s, w.v) : &s->down[w.v];
}

/* The two other branches at the far end, leading away from it; returns 0 if that is a leaf. */
static int next_branches(const topology *t, directed_branch w, directed_branch next[2])
{
    const int32_t far = w.up ? t->parent[w.v] : w.v;
    if (far < t->n_taxa)
        return 0;
    if (w.up) {
        next[0] = (directed_branch){topology_sibling(t, w.v), 0};
        next[1] = (directed_branch){far, 1};
    } else {
        next[0] = (directed_branch){t->child[far][0], 0};
        next[1] = (directed_branch){t->child[far][1], 0};
    }
    return 1;
}

/* The branches of a subtree move: the moved one, the two halves of the branch into which it is
 * inserted, and two whose partials are joined to take the next step through the tree. */
enum { MOVED, NEAR, FAR, INSERTED, ALONG = INSERTED, BESIDE };

/* The score of the insertion of the moved branch into the middle of w, with the partial `near` at
 * the near end of w. */
static double try_insertion(branch_moves *m, directed_branch w, const partial *near)
{
    const branch_settings *set = &m->problem->set;
    const branch_state whole = m->solver->branch[w.v];
    const branch_state half = {.cbrt_length = length_scale_resize(whole.cbrt_length, 0.5),
                               .curvature = whole.curvature};
    move_branch *moved = &m->branch[MOVED], *a = &m->branch[NEAR], *b = &m->branch[FAR];
    const branch_place place = place_of(m, w.v);
    const double base = m->base - own_part(m, whole, place);
    length_total others = m->others;
    m->scored++;
    m->total = m->cut_total;
    add(m, &others, whole, -1);
    a->place = BRANCH_INTERNAL; /* if w leads to a taxon, then its far half does */
    b->place = place;
    set_branch(m, a, near, half);
    set_branch(m, b, partial_beyond(m, w), half);
    moved->state = m->moved;
    fit(m, moved, join(m, 0, a, b));
    double score = base + branch_edge_log_likelihood(&m->edge, moved->state.cbrt_length);
    score += own_part(m, moved->state, moved->place) +
             (own_part(m, half, a->place) + own_part(m, half, b->place)) +
             shared_part(m, others, INSERTED);
    m->rough = score;
    const double changes = set->spr_per_change * m->problem->n_sites;
    if (score < m->cutoff - set->spr_slack - changes * length_scale_length(whole.cbrt_length))
        return score;
    fit(m, a, join(m, 0, b, moved));
    fit(m, b, join(m, 0, a, moved));
    fit(m, moved, join(m, 0, a, b));
    score = base + branch_edge_log_likelihood(&m->edge, moved->state.cbrt_length);
    return score + own_part(m, moved->state, moved->place) + own_part(m, a->state, a->place) +
           own_part(m, b->state, b->place) + shared_part(m, others, INSERTED);
}

/* Scores the insertion into w, at a distance of `depth`, and into all branches beyond it within
 * the radius; `near` is the partial at the near end of w. */
static void try_insertions_from(branch_moves *m, directed_branch w, const partial *near, int depth)
{
    const branch_solver *s = m->solver;
    directed_branch next[2];
    if (interrupt_is_due(s->stop))
        return;
    if (depth >= m->nearest) {
        const double score = try_insertion(m, w, near);
        if (score >= m->worth)
            m->visit(m->context, m->from, w.v, score);
        if (score < s->laplace - m->valley)
            return;
    }
    if (depth == m->radius || !next_branches(&s->tree, w, next))
        return;
    for (int i = 0; i < 2; i++) {
        set_branch(m, &m->branch[ALONG], near, s->branch[w.v]);
        set_branch(m, &m->branch[BESIDE], partial_beyond(m, next[!i]), s->branch[next[!i].v]);
        try_insertions_from(m, next[i], join(m, depth + 1, &m->branch[ALONG], &m->branch[BESIDE]),
                            depth + 1);
    }
}

/* Scores all places for the part of the tree beyond `cut`, whose near end is an inner node with
 * the two other branches `side`. Without that part the two become one branch, which is fitted. */
static void try_moves_of(branch_moves *m, directed_branch cut, const directed_branch side[2])
{
    const branch_solver *s = m->solver;
    const branch_state first = s->branch[side[0].v], second = s->branch[side[1].v];
    const branch_place places[] = {place_of(m, side[0].v), place_of(m, side[1].v)};
    /* If one leads to a taxon, so does the merged one. */
    const branch_place place = places[0] == BRANCH_EXTERNAL ? places[0] : places[1];
    branch_state merged = {.cbrt_length = length_scale_x(length_scale_length(first.cbrt_length) +
                                                         length_scale_length(second.cbrt_length))};
    m->from = cut.v;
    m->moved = s->branch[cut.v];
    m->branch[MOVED].place = place_of(m, cut.v);
    set_branch(m, &m->branch[MOVED], partial_beyond(m, cut), m->moved);
    branch_edge_set(&m->edge, partial_beyond(m, side[0]), partial_beyond(m, side[1]));
    const double shared = take_all(m);
    improve(m, &merged, place);
    m->cut_total = m->total;
    m->base = s->laplace - s->log_likelihood - own_part(m, m->moved, m->branch[MOVED].place) -
              own_part(m, first, places[0]) - own_part(m, second, places[1]) +
              own_part(m, merged, place) - shared;
    add(m, &m->others, m->moved, -1);
    add(m, &m->others, first, -1);
    add(m, &m->others, second, -1);
    add(m, &m->others, merged, 1);
    for (int k = 0; k < 2; k++) {
        directed_branch next[2];
        if (!next_branches(&s->tree, side[k], next))
            continue;
        for (int i = 0; i < 2; i++) {
            set_branch(m, &m->branch[ALONG], partial_beyond(m, side[!k]), merged);
            set_branch(m, &m->branch[BESIDE], partial_beyond(m, next[!i]), s->branch[next[!i].v]);
            try_insertions_from(m, next[i], join(m, 1, &m->branch[ALONG], &m->branch[BESIDE]), 1);
        }
    }
}

int64_t branch_moves_spr(branch_moves *m, double cutoff, branch_move_visit *visit, void *context)
{
    const topology *t = &m->solver->tree;
    m->cutoff = m->worth = cutoff;
    m->nearest = 2;
    m->scored = 0;
    m->visit = visit;
    m->context = context;
    for (int32_t v = 1; v < topology_nodes(t->n_taxa); v++)
        for (int up = 0; up < 2; up++) {
            /* The branches at the near end are those that follow the opposite direction. */
            const directed_branch opposite = {v, !up};
            directed_branch side[2];
            if (next_branches(t, opposite, side))
                try_moves_of(m, (directed_branch){v, up}, side);
        }
    return m->scored;
}

int64_t branch_moves_places(branch_moves *m, int32_t v, int up, double cutoff,
                            branch_move_visit *visit, void *context)
{
    const directed_branch opposite = {v, !up};
    directed_branch side[2];
    m->cutoff = cutoff;
    m->worth = -HUGE_VAL;
    m->nearest = 1;
    m->scored = 0;
    m->visit = visit;
    m->context = context;
    if (next_branches(&m->solver->tree, opposite, side))
        try_moves_of(m, (directed_branch){v, up}, side);
    return m->scored;
}
