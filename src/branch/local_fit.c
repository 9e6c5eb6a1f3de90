#include "branch/local_fit.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "tree/rearrange.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { UP = 1, MOST_NEIGHBOURS = 4 };

/* A partial with its direction is known as 2 v + UP or 2 v. If it is current, so are the two
 * that it is made of. */
struct local_fit {
    branch_solver *solver;
    uint8_t *stale;   /* [2 nodes] */
    uint8_t *touched; /* [2 nodes] changed since the mark */
    uint8_t *active;  /* [nodes] branches that are being fitted .. */
    uint8_t *next;    /* [nodes] .. and those that will be in the next sweep */
    int32_t *stack;   /* [2 nodes + 2] */
    topology tree;    /* of the mark .. */
    branch_state *branch;
    double log_likelihood, log_density, laplace;
    int32_t *edge_of; /* for the new numbering */
    int32_t *scratch; /* [6N] */
    partial *moved;   /* [2 nodes] */
    double *transition;
    local_fit_work work;
};

static int32_t n_nodes(const local_fit *l)
{
    return topology_nodes(l->solver->problem->n_taxa);
}

size_t local_fit_memory(const branch_posterior *p)
{
    const size_t per_node = 6 + 12 * sizeof(int32_t) + sizeof(branch_state) + 2 * sizeof(partial) +
                            p->total.transition * sizeof(double);
    return (size_t)topology_nodes(p->n_taxa) * per_node;
}

int local_fit_create(local_fit **out, branch_solver *s)
{
    *out = NULL;
    local_fit *l = mem_zeros(1, sizeof *l);
    if (!l)
        return ART_ERR_NOMEM;
    l->solver = s;
    const size_t nodes = (size_t)n_nodes(l);
    int status = topology_init(&l->tree, s->problem->n_taxa);
    if (status)
        goto out;
    status = ART_ERR_NOMEM;
    l->stale = mem_zeros(2 * nodes, 1);
    l->touched = mem_zeros(2 * nodes, 1);
    l->active = mem_zeros(nodes, 1);
    l->next = mem_zeros(nodes, 1);
    l->stack = mem_zeros(2 * nodes + 2, sizeof *l->stack);
    l->branch = mem_zeros(nodes, sizeof *l->branch);
    l->edge_of = mem_zeros(nodes, sizeof *l->edge_of);
    l->scratch = mem_zeros(3 * nodes + 6, sizeof *l->scratch);
    l->moved = mem_zeros(2 * nodes, sizeof *l->moved);
    l->transition = mem_aligned(nodes * s->problem->total.transition, sizeof *l->transition);
    if (!l->stale || !l->touched || !l->active || !l->next || !l->stack || !l->branch ||
        !l->edge_of || !l->scratch || !l->moved || !l->transition)
        goto out;
    *out = l;
    return ART_OK;
out:
    local_fit_free(l);
    return status;
}

void local_fit_free(local_fit *l)
{
    if (!l)
        return;
    topology_free(&l->tree);
    free(l->stale);
    free(l->touched);
    free(l->active);
    free(l->next);
    free(l->stack);
    free(l->branch);
    free(l->edge_of);
    free(l->scratch);
    free(l->moved);
    free(l->transition);
    free(l);
}

/* Lower partials of leaves are data: always current. */
static void set_stale(local_fit *l, int down, int up)
{
    for (int32_t v = 0; v < n_nodes(l); v++) {
        l->stale[2 * v] = (uint8_t)(down && v >= l->tree.n_taxa);
        l->stale[2 * v + UP] = (uint8_t)up;
    }
    memset(l->touched, 1, 2 * (size_t)n_nodes(l));
}

void local_fit_reset(local_fit *l)
{
    set_stale(l, 1, 1);
}

/* The two partials of which one is made; -1 stands for taxon 0, which is data. */
static void parts_of(int32_t part[2], const topology *t, int32_t id)
{
    const int32_t v = id / 2;
    if (id % 2 == UP) {
        const int32_t above = t->parent[v];
        part[0] = 2 * topology_sibling(t, v);
        part[1] = t->parent[above] == 0 ? -1 : 2 * above + UP;
    } else {
        part[0] = 2 * t->child[v][0];
        part[1] = 2 * t->child[v][1];
    }
}

static void make_current(local_fit *l, int32_t wanted)
{
    int32_t depth = 1;
    l->stack[0] = wanted;
    while (depth) {
        const int32_t id = l->stack[depth - 1];
        int32_t part[2], missing = 0;
        if (l->stale[id]) {
            parts_of(part, &l->solver->tree, id);
            for (int i = 0; i < 2; i++)
                if (part[i] >= 0 && l->stale[part[i]]) {
                    l->stack[depth++] = part[i];
                    missing = 1;
                }
            if (missing)
                continue;
            branch_solver_join(l->solver, id / 2, id % 2);
            l->work.joins++;
            l->stale[id] = 0;
            l->touched[id] = 1;
        }
        depth--;
    }
}

static void need_down(local_fit *l, int32_t v)
{
    make_current(l, 2 * v);
}

/* branch_outside(v) */
static void need_outside(local_fit *l, int32_t v)
{
    if (l->solver->tree.parent[v] != 0)
        make_current(l, 2 * v + UP);
}

void local_fit_need(local_fit *l, int32_t v, int up)
{
    if (up)
        need_outside(l, v);
    else
        need_down(l, v);
}

void local_fit_around(local_fit *l, int32_t v)
{
    const topology *t = &l->solver->tree;
    need_down(l, topology_sibling(t, v));
    need_down(l, t->child[v][0]);
    need_down(l, t->child[v][1]);
    need_outside(l, t->parent[v]);
}

/* What is behind the branch above v, seen from above (up is 0) or from below, and so on from
 * its far end. */
static void reach(local_fit *l, int32_t v, int up, int depth)
{
    const topology *t = &l->solver->tree;
    local_fit_need(l, v, up);
    const int32_t far = up ? t->parent[v] : v;
    if (depth == 0 || far < t->n_taxa)
        return;
    reach(l, up ? topology_sibling(t, v) : t->child[far][0], 0, depth - 1);
    if (up)
        reach(l, far, 1, depth - 1);
    else
        reach(l, t->child[far][1], 0, depth - 1);
}

void local_fit_reach(local_fit *l, int32_t v, int up, int radius)
{
    local_fit_need(l, v, up);
    reach(l, v, !up, radius + 1); /* its own far end, and from there on */
}

void local_fit_mark(local_fit *l)
{
    const branch_solver *s = l->solver;
    const size_t nodes = (size_t)n_nodes(l);
    topology_copy(&l->tree, &s->tree);
    memcpy(l->branch, s->branch, nodes * sizeof *l->branch);
    l->log_likelihood = s->log_likelihood;
    l->log_density = s->log_density;
    l->laplace = s->laplace;
    memset(l->touched, 0, 2 * nodes);
}

double local_fit_marked(const local_fit *l, int32_t v)
{
    return l->branch[v].cbrt_length;
}

int local_fit_has_changed(const local_fit *l, int32_t v)
{
    return l->solver->branch[v].cbrt_length != l->branch[v].cbrt_length;
}

int local_fit_is_felt(const local_fit *l, int32_t v, double share)
{
    const double old = l->branch[v].cbrt_length;
    return l->solver->tree.parent[v] != l->tree.parent[v] ||
           fabs(l->solver->branch[v].cbrt_length - old) > share * old;
}

void local_fit_undo(local_fit *l)
{
    branch_solver *s = l->solver;
    const size_t nodes = (size_t)n_nodes(l);
    topology_copy(&s->tree, &l->tree);
    branch_solver_rearranged(s);
    for (int32_t v = 1; v < n_nodes(l); v++)
        if (local_fit_has_changed(l, v))
            branch_solver_set_branch(s, v, l->branch[v].cbrt_length);
    memcpy(s->branch, l->branch, nodes * sizeof *l->branch);
    s->log_likelihood = l->log_likelihood;
    s->log_density = l->log_density;
    s->laplace = l->laplace;
    for (int32_t id = 0; id < 2 * n_nodes(l); id++)
        l->stale[id] |= l->touched[id] && (id % 2 == UP || id / 2 >= s->tree.n_taxa);
}

int local_fit_whole(local_fit *l, double tolerance)
{
    branch_solver *s = l->solver;
    branch_solver_rearranged(s);
    for (int32_t v = 1; v < n_nodes(l); v++)
        branch_solver_set_branch(s, v, s->branch[v].cbrt_length);
    const int status = branch_solver_mode(s, tolerance);
    set_stale(l, status != ART_OK, 1);
    l->work.sweeps += s->sweeps;
    l->work.fits += (int64_t)s->sweeps * s->problem->n_edges;
    l->work.joins += 2 * (int64_t)s->sweeps * s->problem->n_edges;
    return status;
}

static int same_children(const int32_t a[2], const int32_t b[2])
{
    return (a[0] == b[0] && a[1] == b[1]) || (a[0] == b[1] && a[1] == b[0]);
}

/* Whether a partial of the rearranged tree is made of the same as at the mark. */
static int is_same(const local_fit *l, int32_t id)
{
    const topology *t = &l->solver->tree, *old = &l->tree;
    const int32_t v = id / 2;
    int32_t part[2];
    parts_of(part, t, id);
    for (int i = 0; i < 2; i++)
        if (part[i] >= 0 && l->stale[part[i]])
            return 0;
    if (id % 2 != UP)
        return same_children(t->child[v], old->child[v]) &&
               !local_fit_has_changed(l, t->child[v][0]) &&
               !local_fit_has_changed(l, t->child[v][1]);
    const int32_t above = t->parent[v], beside = topology_sibling(t, v);
    return above == old->parent[v] && beside == topology_sibling(old, v) &&
           (t->parent[above] == 0) == (old->parent[above] == 0) &&
           !local_fit_has_changed(l, above) && !local_fit_has_changed(l, beside);
}

/* Finds the partials that are no longer what they were, and the branches to look at first. */
void local_fit_compare(local_fit *l)
{
    branch_solver *s = l->solver;
    const topology *t = &s->tree;
    const int32_t n_taxa = t->n_taxa, last = s->problem->n_edges - 1;
    branch_solver_rearranged(s);
    for (int32_t i = 0; i <= last; i++) {
        const int32_t v = s->order[i];
        int differs = t->parent[v] != l->tree.parent[v] || local_fit_has_changed(l, v);
        if (local_fit_has_changed(l, v))
            branch_solver_set_branch(s, v, s->branch[v].cbrt_length);
        if (v >= n_taxa) {
            differs |= !same_children(t->child[v], l->tree.child[v]);
            if (!l->stale[2 * v] && !is_same(l, 2 * v))
                l->stale[2 * v] = l->touched[2 * v] = 1;
        }
        l->active[v] = (uint8_t)differs;
    }
    for (int32_t i = last - 1; i >= 0; i--) {
        const int32_t id = 2 * s->order[i] + UP;
        if (!l->stale[id] && !is_same(l, id))
            l->stale[id] = l->touched[id] = 1;
    }
}

/* The branches that share an end with the one above v. */
static int neighbours_of(int32_t out[MOST_NEIGHBOURS], const topology *t, int32_t v)
{
    int count = 0;
    if (v >= t->n_taxa) {
        out[count++] = t->child[v][0];
        out[count++] = t->child[v][1];
    }
    if (t->parent[v] != 0) {
        out[count++] = topology_sibling(t, v);
        out[count++] = t->parent[v];
    }
    return count;
}

static void set_neighbours(uint8_t *flag, const topology *t, int32_t v)
{
    int32_t neighbour[MOST_NEIGHBOURS];
    const int count = neighbours_of(neighbour, t, v);
    for (int i = 0; i < count; i++)
        flag[neighbour[i]] = 1;
}

static void push_stale(local_fit *l, int32_t *depth, int32_t id)
{
    if (l->stale[id])
        return;
    l->stale[id] = l->touched[id] = 1;
    l->stack[(*depth)++] = id;
}

/* The branch above v has another length: all partials that see it are no longer current. */
static void length_changed(local_fit *l, int32_t v)
{
    const topology *t = &l->solver->tree;
    int32_t depth = 0;
    if (v >= t->n_taxa)
        for (int i = 0; i < 2; i++)
            push_stale(l, &depth, 2 * t->child[v][i] + UP);
    if (t->parent[v] != 0) {
        push_stale(l, &depth, 2 * topology_sibling(t, v) + UP);
        push_stale(l, &depth, 2 * t->parent[v]);
    }
    while (depth) {
        const int32_t id = l->stack[--depth], u = id / 2;
        if (id % 2 == UP) {
            for (int i = 0; u >= t->n_taxa && i < 2; i++)
                push_stale(l, &depth, 2 * t->child[u][i] + UP);
        } else if (t->parent[u] != 0) {
            push_stale(l, &depth, 2 * topology_sibling(t, u) + UP);
            push_stale(l, &depth, 2 * t->parent[u]);
        }
    }
}

void local_fit_set_length(local_fit *l, int32_t v, double cbrt_length)
{
    l->solver->branch[v].cbrt_length = cbrt_length;
    branch_solver_set_branch(l->solver, v, cbrt_length);
    length_changed(l, v);
}

/* Of the partials that do not see the branch itself, only its own two are made of other parts. */
void local_fit_interchange(local_fit *l, int32_t v, int which)
{
    length_changed(l, v);
    topology_nni(&l->solver->tree, v, which);
    for (int up = 0; up < 2; up++)
        l->stale[2 * v + up] = l->touched[2 * v + up] = 1;
}

/* Fits the active branches once, from the top of the tree downwards, so that the partials of the
 * next one cost a join or two. Returns the promised gain; *last is the last branch. */
static double sweep_near(local_fit *l, double tolerance, int32_t *last)
{
    branch_solver *s = l->solver;
    const double enough = tolerance / s->problem->n_edges / 10;
    double total = 0;
    branch_solver_measure(s);
    for (int32_t i = s->problem->n_edges - 1; i >= 0; i--) {
        const int32_t v = s->order[i];
        if (!l->active[v])
            continue;
        if (interrupt_is_due(s->stop))
            break;
        need_down(l, v);
        need_outside(l, v);
        const double gain = branch_solver_improve(s, v, enough);
        l->work.fits++;
        total += gain;
        *last = v;
        length_changed(l, v);
        if (gain >= LOCAL_SHARE * tolerance)
            set_neighbours(l->next, &s->tree, v);
    }
    l->work.sweeps++;
    return total;
}

int local_fit_near(local_fit *l, double tolerance, int rings)
{
    branch_solver *s = l->solver;
    const size_t nodes = (size_t)n_nodes(l);
    local_fit_compare(l);
    memcpy(l->next, l->active, nodes);
    for (int ring = 0; ring < rings; ring++) {
        for (int32_t v = 1; v < n_nodes(l); v++)
            if (l->active[v])
                set_neighbours(l->next, &s->tree, v);
        memcpy(l->active, l->next, nodes);
    }
    int32_t at = s->tree.child[0][0];
    double gain = HUGE_VAL; /* a sweep at least */
    for (int sweeps = 0; sweeps < s->problem->set.sweeps &&
                         (gain >= tolerance || memcmp(l->active, l->next, nodes) != 0);
         sweeps++) {
        memcpy(l->active, l->next, nodes);
        gain = sweep_near(l, tolerance, &at);
        if (interrupt_is_due(s->stop))
            return ART_ERR_STOPPED;
    }
    need_down(l, at);
    need_outside(l, at);
    return branch_solver_conclude(s, at);
}

/* to[new number] = from[v] of items of `size` bytes. */
static void renumber(const local_fit *l, void *to, const void *from, size_t size)
{
    const int32_t n_taxa = l->tree.n_taxa;
    memcpy(to, from, size);
    for (int32_t v = 1; v < n_nodes(l); v++)
        memcpy((char *)to + (size_t)edge_node(l->edge_of[v], n_taxa) * size,
               (const char *)from + (size_t)v * size, size);
}

void local_fit_keep(local_fit *l, int32_t *decision)
{
    branch_solver *s = l->solver;
    const size_t nodes = (size_t)n_nodes(l), terms = s->problem->total.transition;
    topology_decisions(decision, l->edge_of, &s->tree, l->scratch);
    renumber(l, l->branch, s->branch, sizeof *s->branch);
    memcpy(s->branch, l->branch, nodes * sizeof *s->branch);
    renumber(l, l->touched, l->stale, 2);
    memcpy(l->stale, l->touched, 2 * nodes);
    renumber(l, l->moved, s->down, sizeof *s->down);
    memcpy(s->down, l->moved, nodes * sizeof *s->down);
    renumber(l, l->moved, s->up, sizeof *s->up);
    memcpy(s->up, l->moved, nodes * sizeof *s->up);
    renumber(l, l->transition, s->transition, terms * sizeof(double));
    double *spare = s->transition;
    s->transition = l->transition;
    l->transition = spare;
    topology_build(&s->tree, decision);
    branch_solver_rearranged(s);
}

const local_fit_work *local_fit_counts(const local_fit *l)
{
    return &l->work;
}
