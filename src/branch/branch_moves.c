#include "branch/branch_moves.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "tree/rearrange.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What fitting one branch leaves to be gained by the others, in nats. Around an interchange 9
 * was the most in 50,000 that mattered; a branch put into the middle of another can gain by
 * moving along it, the more the more sites change on it (docs/collapsed.md). */
#define NNI_SLACK      12.0
#define SPR_SLACK      10.0
#define SPR_PER_CHANGE 0.5

#define ENOUGH         1e-4 /* nats that are not worth another step on one branch */

/* The branches of a move, with their own lengths and transitions. */
typedef struct arm {
    const partial *end; /* what is behind the branch */
    branch_state state;
    double *transition;
} arm;

struct branch_moves {
    const branch_posterior *problem;
    const branch_solver *solver;
    int radius;
    branch_edge edge;
    partial_store store; /* [3 + radius] */
    double *transition;  /* [NNI_BRANCHES][edge_terms] */
    arm arm[NNI_BRANCHES];
    int32_t node[NNI_BRANCHES]; /* of the last interchange */
    branch_state moved;         /* the branch of a subtree move, before it is put anywhere */
    double base;                /* the score without the branches that change */
    double cutoff;              /* of the subtree moves that are being scored */
    double worth;               /* score of those that are visited */
    int nearest;                /* distance of those that are scored */
    int32_t from;               /* the branch that is being moved */
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
    m->radius = radius;
    int status;
    if ((status = branch_edge_init(&m->edge, p)) ||
        (status = partial_store_init(&m->store, p, (size_t)radius + 3)))
        goto out;
    m->transition = mem_aligned(NNI_BRANCHES * (size_t)p->edge_terms, sizeof *m->transition);
    status = m->transition ? ART_OK : ART_ERR_NOMEM;
    if (status)
        goto out;
    for (int i = 0; i < NNI_BRANCHES; i++)
        m->arm[i].transition = m->transition + (size_t)i * (size_t)p->edge_terms;
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
    return partial_store_memory(p, (size_t)radius + 3) +
           p->tiles * TILE * (size_t)(p->terms + 2) * sizeof(double);
}

void branch_moves_begin(branch_moves *m, const branch_solver *s)
{
    m->solver = s;
}

static double cube(double x)
{
    return x * x * x;
}

/* What a branch adds to the diagonal Laplace approximation besides the likelihood. */
static double own_part(const branch_moves *m, branch_state b)
{
    return branch_edge_prior(m->problem, b.cbrt_length) + 0.5 * log(2 * M_PI / b.curvature);
}

static void set_arm(branch_moves *m, arm *a, const partial *end, branch_state state)
{
    a->end = end;
    a->state = state;
    branch_transition(a->transition, m->problem, cube(state.cbrt_length));
}

/* The partial at the node where two arms meet. */
static const partial *join(branch_moves *m, int slot, const arm *a, const arm *b)
{
    partial *out = &m->store.item[slot];
    partial_join(out, a->end, a->transition, b->end, b->transition, m->problem);
    return out;
}

/* Fits the branch of a against what is at its other end. */
static void fit(branch_moves *m, arm *a, const partial *other)
{
    branch_edge_set(&m->edge, a->end, other);
    branch_edge_improve(&m->edge, &a->state, ENOUGH);
    branch_transition(a->transition, m->problem, cube(a->state.cbrt_length));
}

/* Around the middle branch, with a and b at one end of it and c and d at the other. The middle
 * arm's end is replaced by what is at either end as it goes. */
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
    double base = s->laplace - s->log_likelihood;
    for (int i = 0; i < NNI_BRANCHES; i++) {
        const branch_state state = s->branch[m->node[i]];
        base -= own_part(m, state);
        set_arm(m, &m->arm[i], i == D ? branch_outside(s, m->node[D]) : &s->down[m->node[i]],
                state);
    }
    arm *a = &m->arm[A], *b = &m->arm[B], *c = &m->arm[C], *d = &m->arm[D], *e = &m->arm[MIDDLE];
    const partial *below = join(m, 0, a, b), *above = join(m, 1, c, d);
    e->end = below;
    fit(m, e, above);
    double score = base + branch_edge_log_likelihood(&m->edge, e->state.cbrt_length);
    for (int i = 0; i < NNI_BRANCHES; i++)
        score += own_part(m, m->arm[i].state);
    if (score < cutoff - NNI_SLACK)
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
        score += own_part(m, m->arm[i].state);
    return score;
}

void branch_moves_fitted(int32_t node[NNI_BRANCHES], double length[NNI_BRANCHES],
                         const branch_moves *m)
{
    for (int i = 0; i < NNI_BRANCHES; i++) {
        node[i] = m->node[i];
        length[i] = cube(m->arm[i].state.cbrt_length);
    }
}

/* A branch with a direction: from its near end to its far end. */
typedef struct way {
    int32_t v; /* the branch above v .. */
    int up;    /* .. upwards */
} way;

/* What is behind the far end. */
static const partial *behind(const branch_solver *s, way w)
{
    return w.up ? branch_outside(s, w.v) : &s->down[w.v];
}

/* The two ways that go on from the far end; 0 if that is a leaf. */
static int go_on(const topology *t, way w, way next[2])
{
    const int32_t far = w.up ? t->parent[w.v] : w.v;
    if (far < t->n_taxa)
        return 0;
    if (w.up) {
        next[0] = (way){topology_sibling(t, w.v), 0};
        next[1] = (way){far, 1};
    } else {
        next[0] = (way){t->child[far][0], 0};
        next[1] = (way){t->child[far][1], 0};
    }
    return 1;
}

/* The arms of a subtree move: the moved branch, the two halves of the one it is put into, and
 * two for joins along the way. */
enum { MOVED, NEAR, FAR, ALONG, BESIDE };

/* The score of the moved branch in the middle of w, with `near` being what is before it. */
static double put(branch_moves *m, way w, const partial *near)
{
    const branch_state whole = m->solver->branch[w.v];
    const branch_state half = {.cbrt_length = whole.cbrt_length * cbrt(0.5),
                               .curvature = whole.curvature};
    arm *moved = &m->arm[MOVED], *a = &m->arm[NEAR], *b = &m->arm[FAR];
    const double base = m->base - own_part(m, whole);
    m->scored++;
    set_arm(m, a, near, half);
    set_arm(m, b, behind(m->solver, w), half);
    moved->state = m->moved;
    fit(m, moved, join(m, 0, a, b));
    double score = base + branch_edge_log_likelihood(&m->edge, moved->state.cbrt_length);
    score += own_part(m, moved->state) + 2 * own_part(m, half);
    if (score <
        m->cutoff - SPR_SLACK - SPR_PER_CHANGE * m->problem->n_sites * cube(whole.cbrt_length))
        return score;
    fit(m, a, join(m, 0, b, moved));
    fit(m, b, join(m, 0, a, moved));
    fit(m, moved, join(m, 0, a, b));
    score = base + branch_edge_log_likelihood(&m->edge, moved->state.cbrt_length);
    return score + own_part(m, moved->state) + own_part(m, a->state) + own_part(m, b->state);
}

/* Tries w, at a distance of `depth`, and what lies behind it; `near` is what is before it. */
static void explore(branch_moves *m, way w, const partial *near, int depth)
{
    const branch_solver *s = m->solver;
    way next[2];
    if (depth >= m->nearest) {
        const double score = put(m, w, near);
        if (score >= m->worth)
            m->visit(m->context, m->from, w.v, score);
    }
    if (depth == m->radius || !go_on(&s->tree, w, next))
        return;
    for (int i = 0; i < 2; i++) {
        set_arm(m, &m->arm[ALONG], near, s->branch[w.v]);
        set_arm(m, &m->arm[BESIDE], behind(s, next[!i]), s->branch[next[!i].v]);
        explore(m, next[i], join(m, depth + 1, &m->arm[ALONG], &m->arm[BESIDE]), depth + 1);
    }
}

/* All places for the part of the tree behind `cut`, whose near end is an inner node with the
 * two other ways `side`. The two become one branch, fitted without that part. */
static void move_from(branch_moves *m, way cut, const way side[2])
{
    const branch_solver *s = m->solver;
    const branch_state first = s->branch[side[0].v], second = s->branch[side[1].v];
    branch_state merged = {.cbrt_length = cbrt(cube(first.cbrt_length) + cube(second.cbrt_length))};
    m->from = cut.v;
    m->moved = s->branch[cut.v];
    m->arm[MOVED].end = behind(s, cut);
    branch_transition(m->arm[MOVED].transition, m->problem, cube(m->moved.cbrt_length));
    branch_edge_set(&m->edge, behind(s, side[0]), behind(s, side[1]));
    branch_edge_improve(&m->edge, &merged, ENOUGH);
    m->base = s->laplace - s->log_likelihood - own_part(m, m->moved) - own_part(m, first) -
              own_part(m, second) + own_part(m, merged);
    for (int k = 0; k < 2; k++) {
        way next[2];
        if (!go_on(&s->tree, side[k], next))
            continue;
        for (int i = 0; i < 2; i++) {
            set_arm(m, &m->arm[ALONG], behind(s, side[!k]), merged);
            set_arm(m, &m->arm[BESIDE], behind(s, next[!i]), s->branch[next[!i].v]);
            explore(m, next[i], join(m, 1, &m->arm[ALONG], &m->arm[BESIDE]), 1);
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
            way side[2], back = {v, !up}; /* what is beside the near end is beyond its reverse */
            if (go_on(t, back, side))
                move_from(m, (way){v, up}, side);
        }
    return m->scored;
}

int64_t branch_moves_places(branch_moves *m, int32_t v, int up, double cutoff,
                            branch_move_visit *visit, void *context)
{
    way side[2];
    m->cutoff = cutoff;
    m->worth = -HUGE_VAL;
    m->nearest = 1;
    m->scored = 0;
    m->visit = visit;
    m->context = context;
    if (go_on(&m->solver->tree, (way){v, !up}, side))
        move_from(m, (way){v, up}, side);
    return m->scored;
}
